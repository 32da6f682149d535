"""Writing files whole or not at all, and naming the file in what is wrong with it."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from labeltrees import _core
from labeltrees.errors import FileFormatError, InputError

PathLike = str | os.PathLike[str]


def write_atomically(path: PathLike, chunks: Iterable[bytes]) -> None:
    """Write `chunks` to a temporary sibling and rename it, so that a crash leaves the old file or the new one."""
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            for chunk in chunks:
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def replacing_folder(target: Path) -> Iterator[Path]:
    """Give a new folder to write files to, and put it in the place of `target`, old or not there, in one step.

    A crash leaves the old folder or the new one, never a half; so does an error raised inside. Files are to be flushed
    to disk by whoever writes them. Processes that have files of the old folder open keep them.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    new = target.parent / f".{target.name}.new-{uuid.uuid4().hex[:12]}"
    new.mkdir()
    try:
        yield new
        _flush_folder(new)
        _put_in_place(new, target)
    finally:
        shutil.rmtree(new, ignore_errors=True)  # what a failure left, or the folder that was replaced
    _flush_folder(target.parent)


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
    # Where two paths cannot be swapped there is a moment between two renames; a crash in it leaves the old one aside.
    aside = target.parent / f".{target.name}.old-{uuid.uuid4().hex[:12]}"
    os.rename(target, aside)
    os.rename(new, target)
    shutil.rmtree(aside, ignore_errors=True)


def refuse_file(path: PathLike, fault: str) -> NoReturn:
    """Raise the error for a file with a fault."""
    message = f"{os.fspath(path)}: {fault}"
    raise FileFormatError(message)


@contextmanager
def naming_file(path: PathLike) -> Iterator[None]:
    """Turn what is refused of a file's content into an error that names the file."""
    try:
        yield
    except InputError as error:
        message = f"{os.fspath(path)}: {error}"
        raise FileFormatError(message) from error
