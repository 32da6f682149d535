"""Opening files, plain or compressed, for reading; writing them whole or not at all."""

from __future__ import annotations

import gzip
import lzma
import os
import secrets
import sys
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import IO, cast

from labeltrees._validation import refuse
from labeltrees.errors import FileFormatError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

FilePath = str | os.PathLike[str]


class MissingFileError(FileFormatError, FileNotFoundError):
    """A file that should be read does not exist."""


@contextmanager
def open_any(path: FilePath) -> Iterator[IO[bytes]]:
    """Open a file to read its bytes, decompressed if its name ends with .gz, .xz or .zst.

    Damage found while reading inside the `with` block is raised as a FileFormatError that names the file.
    """
    _check_path(path)
    try:
        with open(path, "rb", buffering=1 << 16) as raw, _decompressed(raw, path) as stream:
            yield stream
    except FileNotFoundError as error:
        if error.filename != os.fspath(path):
            raise
        message = f"{path}: no such file"
        raise MissingFileError(message) from None
    except IsADirectoryError:
        message = f"{path}: a folder, not a file"
        raise FileFormatError(message) from None
    except EOFError:
        message = f"{path}: the compressed file ends too soon"
        raise FileFormatError(message) from None
    except (gzip.BadGzipFile, zlib.error, lzma.LZMAError, zstd.ZstdError) as error:
        message = f"{path}: the compressed file is damaged ({error})"
        raise FileFormatError(message) from None


@contextmanager
def write_any(path: FilePath) -> Iterator[IO[bytes]]:
    """Open a file to write its bytes, compressed if its name ends with .gz, .xz or .zst.

    The bytes go to a temporary sibling that takes the file's place when the `with` block ends well; if it ends with an
    error, what was there before stays.
    """
    _check_path(path)
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        refuse("path", "a file", os.fspath(path))
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as raw:
            with _compressed(raw, target) as stream:
                yield stream
            raw.flush()
            os.fsync(raw.fileno())
        os.replace(temporary, target)
    except FileNotFoundError as error:
        if error.filename != os.fspath(temporary):
            raise
        message = f"{path}: no such folder"
        raise MissingFileError(message) from None
    finally:
        temporary.unlink(missing_ok=True)


def check_readable(path: FilePath) -> str:
    """Return the path of a plain file that native code will read, refusing what is none or compressed."""
    _check_path(path)
    with open_any(path):
        pass
    if Path(path).suffix.lower() in (".gz", ".xz", ".zst"):
        message = f"{path}: compressed; it is read several times over, so it must be plain"
        raise FileFormatError(message)
    return os.fspath(path)


def _check_path(path: object) -> None:
    if not isinstance(path, str | os.PathLike):  # open() would take a number for a file descriptor
        refuse("path", "a path", path)


def _decompressed(raw: IO[bytes], path: FilePath) -> IO[bytes]:
    match Path(path).suffix.lower():
        case ".gz":
            return cast(IO[bytes], gzip.GzipFile(fileobj=raw, mode="rb"))
        case ".xz":
            return cast(IO[bytes], lzma.LZMAFile(raw, "rb"))
        case ".zst":
            return cast(IO[bytes], zstd.ZstdFile(raw, "rb"))
        case _:
            return raw


def _compressed(raw: IO[bytes], path: FilePath) -> AbstractContextManager[IO[bytes]]:
    match Path(path).suffix.lower():
        case ".gz":  # no name and no time inside, so that the same data gives the same bytes
            return cast(IO[bytes], gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0))
        case ".xz":
            return cast(IO[bytes], lzma.LZMAFile(raw, "wb"))
        case ".zst":
            return cast(IO[bytes], zstd.ZstdFile(raw, "wb"))
        case _:
            return nullcontext(raw)  # stays open, as under the compressed ones, so that it can still be synced
