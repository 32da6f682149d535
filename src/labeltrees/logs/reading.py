"""Running polars in blocks of rows, with its errors turned into ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from labeltrees.errors import FileFormatError

_BLOCK = 1 << 20


def collect(frame: pl.LazyFrame) -> pl.DataFrame:
    """Compute `frame` in blocks of rows and return the result."""
    return frame.collect(engine="streaming")


@contextmanager
def naming_events(files: Sequence[Path], read_files: Sequence[Path] = ()) -> Iterator[None]:
    """Turn errors of polars into one error that names the file, as far as it is known.

    Parameters
    ----------
    files : paths
    read_files : paths
        The decompressed files that polars reads, in the same order.
    """
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        fault = next(iter(str(error).splitlines()), type(error).__name__)
        if "utf-8" in str(error).lower():
            for path, read in zip(files, read_files, strict=False):
                if (place := invalid_utf8(read)) is not None:
                    message = f"{path}: not UTF-8 text (byte {place}); give its encoding, such as latin-1"
                    raise FileFormatError(message) from None
        where = ", ".join(str(path) for path in files[:3]) + (" ..." if len(files) > 3 else "")
        message = f"{where or 'events'}: cannot be read: {fault}"
        raise FileFormatError(message) from None


def invalid_utf8(path: Path) -> int | None:
    """Return the position of the first byte that is not UTF-8, or None."""
    start, left_over = 0, b""
    with open(path, "rb") as stream:
        while True:
            block = stream.read(_BLOCK)
            text = left_over + block
            try:
                text.decode("utf-8")
                left_over = b""
            except UnicodeDecodeError as error:
                # The end of the block may cut a character, which has at most 4 bytes.
                if not block or len(text) - error.start > 3:
                    return start + error.start
                left_over = text[error.start :]
            start += len(text) - len(left_over)
            if not block:
                return None
