"""Limits for reading data files: line length, decompressed size, decompression ratio, and decompression memory."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import IO, Any, NoReturn

from labeltrees._files import PathLike, refuse_file
from labeltrees._settings import check_settings, integer, setting
from labeltrees._validation import refuse

FREE_BYTES = 64 << 20  # up to this size, a file may decompress at any ratio
_VARIABLES = {
    "line_bytes": "LABELTREES_MAX_LINE_BYTES",
    "decompressed_bytes": "LABELTREES_MAX_DECOMPRESSED_BYTES",
    "ratio": "LABELTREES_MAX_DECOMPRESSION_RATIO",
    "dictionary_bytes": "LABELTREES_MAX_DICTIONARY_BYTES",
}


@dataclass(frozen=True)
class ReadLimits:
    """Limits for reading a data file.

    Parameters
    ----------
    line_bytes : int
        Length of a line, of a row of a CSV file, or of a text in a Parquet file. By default 128 MiB.
    decompressed_bytes : int
        Size of a file after decompression. By default 256 GiB.
    ratio : int
        Maximum ratio of the size after decompression to the file size; checked above 64 MiB. By default 250.
    dictionary_bytes : int
        Memory for decompression, mostly for the dictionary that a .xz or .zst file declares. By default 128 MiB;
        ``xz -9`` needs 65 MiB.
    """

    line_bytes: int = setting(128 << 20, integer(1, 2**62), "Maximum bytes of a line.")
    decompressed_bytes: int = setting(256 << 30, integer(1, 2**62), "Maximum bytes of a file after decompression.")
    ratio: int = setting(250, integer(1, 2**62), "Maximum bytes after decompression per byte of the file.")

    dictionary_bytes: int = setting(128 << 20, integer(1, 2**62), "Maximum bytes of memory for decompression.")

    def __post_init__(self) -> None:
        check_settings(self)

    def refuse_dictionary(self, path: PathLike) -> NoReturn:
        """Raise the error for a file that needs too much memory for decompression."""
        _refuse(path, None, f"decompressing it takes more than {self.dictionary_bytes:,} bytes", "dictionary_bytes")

    def refuse_line(self, path: PathLike, line: int) -> NoReturn:
        """Raise the error for a line that is too long."""
        _refuse(path, line, f"longer than {self.line_bytes:,} bytes", "line_bytes")

    def check_size(self, path: PathLike, n_bytes: int, n_compressed: int, line: int | None = None) -> None:
        """Refuse a file if `n_compressed` of its bytes decompress to `n_bytes` and that exceeds a limit."""
        if n_bytes > self.decompressed_bytes:
            _refuse(path, line, f"decompresses to more than {self.decompressed_bytes:,} bytes", "decompressed_bytes")
        if n_bytes > max(FREE_BYTES, self.ratio * n_compressed):
            _refuse(path, line, f"decompresses to more than {self.ratio:,} times its size", "ratio")


def _refuse(path: PathLike, line: int | None, fault: str, limit: str) -> NoReturn:
    where = f"{os.fspath(path)}" if line is None else f"{os.fspath(path)}, line {line}"
    advice = f"if the file is trusted, raise the limit with read_limits({limit}=...) or {_VARIABLES[limit]}"
    refuse_file(where, f"{fault}; {advice}")


_current: ContextVar[ReadLimits | None] = ContextVar("read_limits", default=None)


def current_limits() -> ReadLimits:
    """Return the limits in force: those of the innermost `read_limits`, or those of the environment."""
    return _current.get() or _environment_limits()


@contextmanager
def read_limits(
    *,
    line_bytes: int | None = None,
    decompressed_bytes: int | None = None,
    ratio: int | None = None,
    dictionary_bytes: int | None = None,
) -> Iterator[ReadLimits]:
    r"""Change the limits for reading data files inside a `with` block.

    The defaults are generous: a data file that exceeds them is most likely damaged, or made to exhaust memory. The
    command line takes them from the environment variables LABELTREES_MAX_LINE_BYTES, LABELTREES_MAX_DECOMPRESSED_BYTES,
    LABELTREES_MAX_DECOMPRESSION_RATIO and LABELTREES_MAX_DICTIONARY_BYTES.

    Parameters
    ----------
    line_bytes : int, optional
        Length of a line, of a row of a CSV file, or of a text in a Parquet file. By default 128 MiB.
    decompressed_bytes : int, optional
        Size of a file after decompression. By default 256 GiB.
    ratio : int, optional
        Maximum ratio of the size after decompression to the file size; checked above 64 MiB. By default 250.
    dictionary_bytes : int, optional
        Memory for decompression, mostly for the dictionary that a .xz or .zst file declares. By default 128 MiB;
        ``xz -9`` needs 65 MiB.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import labeltrees as lt
    >>> path = pathlib.Path(tempfile.mkdtemp(), "two.txt")
    >>> size = path.write_text("2 2 1\n0 0:1\n0 0:1 1:0.5\n")
    >>> with read_limits(line_bytes=10):
    ...     try:
    ...         lt.read_xmc(path)
    ...     except lt.errors.FileFormatError as error:
    ...         print(str(error).removeprefix(str(path.parent)).lstrip("/")[:41])
    two.txt, line 3: longer than 10 bytes; if
    """
    given = {
        "line_bytes": line_bytes,
        "decompressed_bytes": decompressed_bytes,
        "ratio": ratio,
        "dictionary_bytes": dictionary_bytes,
    }
    limits = replace(current_limits(), **{name: value for name, value in given.items() if value is not None})
    token = _current.set(limits)
    try:
        yield limits
    finally:
        _current.reset(token)


def _environment_limits() -> ReadLimits:
    values = {}
    for name, variable in _VARIABLES.items():
        text = os.environ.get(variable, "")
        if text:
            if not (text.isascii() and text.isdigit()) or len(text) > 18 or int(text) < 1:
                refuse(variable, "a positive integer", text)
            values[name] = int(text)
    return ReadLimits(**values)


class BoundedReader(io.RawIOBase):
    """Reads a file, plain or decompressed, up to the limits in force when it was opened.

    Parameters
    ----------
    path : path
        For messages.
    stream : file
        The stream to read.
    raw : file or None
        The file that `stream` decompresses; None if it is plain.
    advance : callable, optional
        Called after every block, to show progress.
    """

    def __init__(
        self, path: PathLike, stream: Any, raw: IO[bytes] | None, advance: Callable[[], object] | None = None
    ) -> None:
        super().__init__()
        self._path, self._stream, self._raw, self._advance = path, stream, raw, advance
        self._limits = current_limits()
        self._n_bytes = 0
        self._line, self._line_bytes = 1, 0  # the unfinished line, and how much of it has been read

    def readable(self) -> bool:
        """Return True."""
        return True

    def fileno(self) -> int:
        """Return the descriptor of the file, to map it if it is not compressed."""
        descriptor: int = self._stream.fileno()
        return descriptor

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes into `buffer` and return how many."""
        block: bytes = self._stream.read1(len(buffer))  # does not wait for a slow pipe to fill the buffer
        self._count_lines(block)
        if self._raw is not None:
            self._n_bytes += len(block)
            if self._n_bytes > min(FREE_BYTES, self._limits.decompressed_bytes):
                self._limits.check_size(self._path, self._n_bytes, self._consumed(), self._line)
        buffer[: len(block)] = block
        if self._advance is not None:
            self._advance()
        return len(block)

    def _count_lines(self, block: bytes) -> None:
        limit = self._limits.line_bytes
        first, last = block.find(b"\n"), block.rfind(b"\n")
        if first < 0:
            self._line_bytes += len(block)
        else:
            if self._line_bytes + first + 1 > limit:
                self._limits.refuse_line(self._path, self._line)
            if last - first > limit:  # only if the limit is below the size of a block
                self._check_inner_lines(block[first + 1 : last])
            self._line += block.count(b"\n")
            self._line_bytes = len(block) - last - 1
        if self._line_bytes > limit:
            self._limits.refuse_line(self._path, self._line)

    def _check_inner_lines(self, block: bytes) -> None:
        for place, line in enumerate(block.split(b"\n"), 1):
            if len(line) >= self._limits.line_bytes:
                self._limits.refuse_line(self._path, self._line + place)

    def _consumed(self) -> int:
        assert self._raw is not None
        try:
            return self._raw.tell()
        except OSError:  # a pipe: the ratio is not known
            return self._n_bytes
