"""Atomic writes of files and folders, safe opening of files, and errors that name the file."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import math
import os
import shutil
import stat
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np

from labeltrees import _core
from labeltrees.errors import FileFormatError, InputError, Phrase

PathLike = str | os.PathLike[str]
_SECONDS_TO_LOCK = 2.0  # between making a temporary file or folder and locking it


@contextmanager
def replacing_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file to write to; it replaces `path` in one step at the end of the `with` block.

    After a crash or an error the old file is unchanged.
    """
    check_path(path)
    remove_leftovers(path)
    temporary = _temporary_sibling(path)
    try:
        with open(temporary, "xb") as file:
            _mark_in_use(file.fileno())
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_atomically(path: PathLike, chunks: Iterable[bytes]) -> None:
    """Write `chunks` as the file `path`. A crash leaves the old file or the new one."""
    with replacing_file(Path(path)) as file:
        file.writelines(chunks)


@contextmanager
def replacing_folder(target: Path) -> Iterator[Path]:
    """Yield a new folder to write files to; it replaces `target` in one step at the end of the `with` block.

    After a crash or an error the old folder is unchanged. The caller must flush the files to disk. Processes that have
    files of the old folder open can still read them. If `target` is a symbolic link, the folder it points to is
    replaced.
    """
    check_path(target)
    target = Path(os.path.realpath(target)) if target.is_symlink() else target
    target.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(target)
    new = _temporary_sibling(target)
    new.mkdir()
    descriptor = os.open(new, os.O_RDONLY)
    try:
        _mark_in_use(descriptor)
        yield new
        _flush_folder(new)
        _put_in_place(new, target)
    finally:
        _remove_folder(new)  # the new folder after a failure, else the old one
        os.close(descriptor)
    _flush_folder(target.parent)


def remove_leftovers(target: Path) -> None:
    """Delete temporary files and folders of `target` that killed processes have left.

    Only names made by `_temporary_sibling` are deleted, never a user's file with a similar name.
    """
    prefix = _temporary_prefix(target)
    try:
        names = [name for name in os.listdir(target.absolute().parent) if name.startswith(prefix)]
    except (OSError, ValueError):  # ValueError: NUL in the path
        return
    names = [name for name in names if name == prefix + _signed(target, name[len(prefix) :][:12])]
    for name in names:
        path = target.absolute().parent / name
        if not _is_in_use(path):
            _remove(path)


def _temporary_sibling(target: Path) -> Path:
    return target.parent / f"{_temporary_prefix(target)}{_signed(target, uuid.uuid4().hex[:12])}"


def _signed(target: Path, token: str) -> str:
    """Return a random token with a checksum, which identifies temporary names made by this library."""
    return token + hashlib.sha256(f"labeltrees {target.name} {token}".encode(errors="surrogateescape")).hexdigest()[:12]


def _temporary_prefix(target: Path) -> str:
    return f".{target.name}.new-"


def _mark_in_use(descriptor: int) -> None:
    """Lock a temporary file or folder. The system releases the lock when this process ends, however it ends."""
    with suppress(OSError):  # without file locks, _is_in_use is always True, and leftovers are not deleted
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)


def _is_in_use(path: Path) -> bool:
    """Whether a process may still be writing to a temporary file or folder."""
    try:
        if time.time() - os.lstat(path).st_ctime < _SECONDS_TO_LOCK:
            return True  # perhaps not locked yet
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def is_being_replaced(target: Path) -> bool:
    """Whether another process may be putting a new folder in place of `target`, which does not exist right now.

    This happens only on file systems that cannot exchange two paths in one step.
    """
    try:
        return any(name.startswith(_aside_prefix(target)) for name in os.listdir(target.absolute().parent))
    except OSError:
        return False


def _aside_prefix(target: Path) -> str:
    return f".{target.name}.old-"


def _remove_folder(folder: Path) -> None:
    """Delete a folder; try again if that fails, for example because there was no memory to list it."""
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        shutil.rmtree(folder, ignore_errors=True)


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _put_in_place(new: Path, target: Path) -> None:
    if not os.path.lexists(target):
        os.rename(new, target)
        return
    code = _core.exchange_paths(os.fspath(new), os.fspath(target))
    if code == 0:
        return
    if code not in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        raise OSError(code, os.strerror(code), os.fspath(target))
    # This file system cannot exchange two paths: `target` does not exist between the two renames. After a crash
    # there, the old folder still exists under the name `aside`.
    aside = target.parent / f"{_aside_prefix(target)}{uuid.uuid4().hex[:12]}"
    os.rename(target, aside)
    os.rename(new, target)
    _remove_folder(aside)


def check_path(path: PathLike) -> None:
    """Refuse a path with a NUL character, which no file system allows."""
    text = os.fspath(path)
    if ("\0" if isinstance(text, str) else b"\0") in text:
        message = f"a path cannot contain a NUL character, got {text!r}"
        raise InputError(message)


def open_regular(path: Path, folder: int | None = None) -> IO[bytes]:
    """Open a file to read its bytes; refuse anything but a regular file.

    Parameters
    ----------
    path : Path
    folder : int, optional
        Descriptor of the file's folder. The file is opened there, even if another folder has taken its path.
    """
    # Without O_NONBLOCK, opening a pipe would wait forever for a writer.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    check_path(path)
    descriptor = os.open(path, flags) if folder is None else os.open(path.name, flags, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        refuse_file(path, "not a regular file")
    return open(descriptor, "rb")


def refuse_file(path: PathLike, fault: str, next_step: Phrase | None = None) -> NoReturn:
    """Raise the error for a file with a fault."""
    message = f"{os.fspath(path)}: {fault}"
    raise FileFormatError(message, next_step=next_step)


@contextmanager
def naming_file(path: PathLike) -> Iterator[None]:
    """Turn an `InputError` about a file's content into a `FileFormatError` that names the file."""
    try:
        yield
    except InputError as error:
        message = f"{os.fspath(path)}: {error}"
        raise FileFormatError(message) from error


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    """Write a value as a JSON file atomically; NaN and infinity become null."""
    write_atomically(path, [to_json(value).encode(), b"\n"])


def to_json(value: Any) -> str:
    """Return a value as JSON text; NaN and infinity become null.

    Examples
    --------
    >>> to_json({"a": float("nan")})
    '{"a": null}'
    """
    return json.dumps(_plain(value), ensure_ascii=False, allow_nan=False)


def read_json(path: str | os.PathLike[str]) -> Any:
    """Read a JSON file."""
    try:
        return json.loads(Path(path).read_bytes())
    except (ValueError, RecursionError) as error:
        refuse_file(path, f"not JSON ({error})")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
