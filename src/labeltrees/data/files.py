"""Reading and writing files that may be compressed (.gz, .xz, .zst)."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any, cast

from labeltrees._files import check_path, replacing_file
from labeltrees._progress import BYTES, watch_part
from labeltrees._validation import refuse
from labeltrees.data.limits import BoundedReader, current_limits
from labeltrees.errors import FileFormatError, InputError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

FilePath = str | os.PathLike[str]
COMPRESSED = (".gz", ".xz", ".zst")
_BLOCK = 1 << 16
_BYTES_OF_LARGE_FILE = 1 << 20  # smaller files are read too fast for a progress bar


class MissingFileError(FileFormatError, FileNotFoundError):
    """A file to read does not exist."""


class MissingDataError(InputError, FileNotFoundError):
    """DATA is neither a file nor a folder."""


@contextmanager
def open_any(path: FilePath) -> Iterator[IO[bytes]]:
    """Open a file to read its bytes, decompressed if its name ends with .gz, .xz or .zst.

    A file that turns out to be damaged or to exceed `read_limits` while it is read inside the `with` block raises a
    FileFormatError that names the file.
    """
    _check_path(path)
    try:
        with open(path, "rb", buffering=_BLOCK) as raw, _decompressed(raw, path) as stream:
            with _watching(raw, path) as advance:
                bounded = BoundedReader(path, stream, None if stream is raw else raw, advance)
                with io.BufferedReader(bounded, _BLOCK) as buffered:
                    yield buffered
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
        if "Memory usage limit" in str(error) or "too much memory" in str(error):  # messages of xz and zstd
            current_limits().refuse_dictionary(path)
        message = f"{path}: the compressed file is damaged ({error})"
        raise FileFormatError(message) from None


def read_lines(path: FilePath) -> list[str]:
    """Return the lines of a text file, plain or compressed."""
    with open_any(path) as stream:
        try:
            text = stream.read().decode("utf-8")
        except UnicodeDecodeError as error:
            message = f"{path}: not UTF-8 text (byte {error.start})"
            raise FileFormatError(message) from None
    # Not splitlines(), which also splits at characters that may occur in a name.
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")] if text else []


@contextmanager
def write_any(path: FilePath) -> Iterator[IO[bytes]]:
    """Open a file to write its bytes, compressed if its name ends with .gz, .xz or .zst.

    The file is replaced in one step when the `with` block ends; after an error, the old file stays.
    """
    _check_path(path)
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        refuse("path", "a file", os.fspath(path))
    if not target.parent.is_dir():
        message = f"{path}: no such folder"
        raise MissingFileError(message)
    with replacing_file(target) as raw, _compressed(raw, target) as stream:
        yield stream


def check_readable(path: FilePath) -> str:
    """Return the path of a file that native code can read; reject missing or compressed files."""
    with open_any(path):
        pass
    if Path(path).suffix.lower() in COMPRESSED:
        message = f"{path}: compressed; decompress it first, because training reads the file several times"
        raise FileFormatError(message)
    return os.fspath(path)


@contextmanager
def _watching(raw: IO[bytes], path: FilePath) -> Iterator[Callable[[], object] | None]:
    """Show how much of a large file has been read, if progress is shown."""
    status = os.fstat(raw.fileno())
    if not stat.S_ISREG(status.st_mode) or status.st_size < _BYTES_OF_LARGE_FILE:
        yield None
        return
    with watch_part(f"Reading {Path(path).name}", status.st_size, BYTES) as advance:
        yield None if advance is None else lambda: advance(raw.tell())


def _check_path(path: object) -> None:
    if not isinstance(path, str | os.PathLike):  # open() would take a number for a file descriptor
        refuse("path", "a path", path)
    check_path(path)


def _decompressed(raw: IO[bytes], path: FilePath) -> IO[bytes]:
    match Path(path).suffix.lower():
        case ".gz":
            return cast(IO[bytes], gzip.GzipFile(fileobj=raw, mode="rb"))
        case ".xz":
            return cast(IO[bytes], io.BufferedReader(_XzReader(raw, current_limits().dictionary_bytes), _BLOCK))
        case ".zst":
            most = min(max(current_limits().dictionary_bytes.bit_length() - 1, 10), 27)
            return cast(IO[bytes], zstd.ZstdFile(raw, "rb", options={zstd.DecompressionParameter.window_log_max: most}))
        case _:
            return raw


class _XzReader(io.RawIOBase):
    """Decompresses concatenated .xz or .lzma streams within a memory limit, which LZMAFile does not have."""

    def __init__(self, raw: IO[bytes], most_bytes: int) -> None:
        super().__init__()
        self._raw, self._most_bytes = raw, most_bytes
        self._decoder: lzma.LZMADecompressor | None = self._next_decoder()

    def _next_decoder(self) -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(memlimit=self._most_bytes)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = b""
        while not data and self._decoder is not None:
            given = b""
            if self._decoder.eof:
                given = self._decoder.unused_data.lstrip(b"\0") or self._raw.read(_BLOCK).lstrip(b"\0")
                if not given:  # the end, perhaps after padding
                    self._decoder = None
                    break
                self._decoder = self._next_decoder()
            elif self._decoder.needs_input:
                given = self._raw.read(_BLOCK)
                if not given:
                    message = "Compressed file ended before the end-of-stream marker was reached"
                    raise EOFError(message)
            data = self._decoder.decompress(given, max_length=len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _compressed(raw: IO[bytes], path: FilePath) -> AbstractContextManager[IO[bytes]]:
    match Path(path).suffix.lower():
        case ".gz":  # no name and no time inside, so that the same data gives the same bytes
            return cast(IO[bytes], gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0))
        case ".xz":
            return cast(IO[bytes], lzma.LZMAFile(raw, "wb"))
        case ".zst":
            return cast(IO[bytes], zstd.ZstdFile(raw, "wb"))
        case _:
            return nullcontext(raw)  # `replacing_file` flushes and closes it
