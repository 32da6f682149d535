"""Reading XMC files in blocks of points, so that a file of any size takes little memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Literal

from labeltrees import _core
from labeltrees._validation import refuse
from labeltrees.data.dataset import Dataset
from labeltrees.data.files import FilePath, open_any
from labeltrees.data.xmc import naming_faults, parsed_points, warn_one_based
from labeltrees.errors import InputError

BLOCK_BYTES = 4 << 20  # of text: some thousand points, enough work for all threads
MAX_HEADER_BYTES = 1001  # including its line end; the parser refuses a longer header
IndexBase = Literal["auto", 0, 1]


class XmcBlocks:
    """An open XMC file: the counts in its header, and its points as one Dataset per block.

    Made by `open_xmc_blocks`.
    """

    def __init__(self, path: FilePath, stream: IO[bytes], index_base: int, block_bytes: int) -> None:
        self._path, self._stream, self._block_bytes = path, stream, block_bytes
        self._parser = _core.XmcParser(index_base)
        self._feed(MAX_HEADER_BYTES)

    @property
    def n_points(self) -> int:
        """Number of points of the whole file."""
        return self._parser.n_points

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self._parser.n_features

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return self._parser.n_labels

    def __iter__(self) -> Iterator[Dataset]:
        more = True
        while more:
            if self._parser.n_in_hand > 0:
                yield parsed_points(self._parser)
            more = self._feed(self._block_bytes)
        if self._parser.n_in_hand > 0:
            yield parsed_points(self._parser)

    def _feed(self, n_bytes: int) -> bool:
        """Read the next bytes; return whether there were any."""
        block = self._stream.read(n_bytes)
        with naming_faults(self._path):
            if block:
                self._parser.feed(block)
            else:
                self._parser.finish()
        return bool(block)


@contextmanager
def open_xmc_blocks(
    path: FilePath, index_base: IndexBase = "auto", block_bytes: int = BLOCK_BYTES
) -> Iterator[XmcBlocks]:
    r"""Open a file in the XMC repository's format to read it in blocks of points.

    Parameters
    ----------
    path : path
        As for `read_xmc`.
    index_base : "auto", 0 or 1
        As for `read_xmc`. For "auto" the file is read twice.
    block_bytes : int
        Number of bytes of text per block.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "three.txt")
    >>> size = path.write_text("3 4 2\n0,1 0:0.5 3:2\n 1:1\n1 2:0.25\n")
    >>> with open_xmc_blocks(path) as blocks:
    ...     print(blocks.n_points, [block.n_features for block in blocks])
    3 [4]
    """
    if isinstance(index_base, bool) or index_base not in ("auto", 0, 1):
        refuse("index_base", "'auto', 0 or 1", index_base)
    base = find_index_base(path, block_bytes) if index_base == "auto" else int(index_base)
    with open_any(path) as stream:
        yield XmcBlocks(path, stream, base, block_bytes)


def find_index_base(path: FilePath, block_bytes: int = BLOCK_BYTES) -> int:
    """Read a file once and return the first id, 0 or 1, as `read_xmc` finds it."""
    if Path(path).exists() and not Path(path).is_file() and not Path(path).is_dir():
        message = f"{path}: cannot be read twice, so index_base must be 0 or 1"
        raise InputError(message)
    parser = _core.XmcParser(-1)
    with open_any(path) as stream, naming_faults(path):
        while block := stream.read(block_bytes):
            parser.feed(block)
            parser.take_block()
        parser.finish()
    if parser.one_based:
        warn_one_based(path, parser.top_line)
    return int(parser.one_based)
