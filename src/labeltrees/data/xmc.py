"""The text format of the Extreme Classification Repository: whole files, blocks of points, and files of weights."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labeltrees import _core
from labeltrees._files import naming_file, refuse_file
from labeltrees._matrices import check_sample_weight
from labeltrees._validation import refuse
from labeltrees.data.dataset import Dataset
from labeltrees.data.files import COMPRESSED, FilePath, open_any, write_any
from labeltrees.errors import FileFormatError, InputError, Parameter, Phrase

_BLOCK_BYTES = 1 << 20
_BLOCK_ENTRIES = 1 << 18

_logger = logging.getLogger("labeltrees")
BLOCK_BYTES = 4 << 20  # of text: a few thousand points, enough work for all threads
MAX_HEADER_BYTES = 1001  # including its line end; the parser refuses a longer header
IndexBase = Literal["auto", 0, 1]
_ENDING = ".weights.txt"


def read_xmc(
    path: FilePath,
    index_base: Literal["auto", 0, 1] = "auto",
    *,
    weights: FilePath | None = "auto",
    parts: FilePath | None = None,
    points_per_part: int | None = None,
) -> Dataset:
    r"""Read a file in the XMC repository's format.

    The first line is ``N D L``: the number of points, features and labels. Then each point has a line
    ``l1,l2 f:v f:v ...`` with its labels and its features' values; either part may be empty. A label that
    occurs twice in a line counts once; a feature that occurs twice is an error.

    Parameters
    ----------
    path : path
        Decompressed while reading if its name ends with .gz, .xz or .zst.
    index_base : "auto", 0 or 1
        The first feature and label id in the file. "auto" is 1 if some feature id equals D or some label id equals L,
        else 0; if it is 1, the logger "labeltrees" gets a warning. In the Dataset, ids start at 0.
    weights : "auto", path or None
        The file with the weight of point i in line i. "auto": for train.txt, the file train.weights.txt in the same
        folder, if it exists; commands do the same. None: no weights.
    parts : path, optional
        Write a dataset in parts to this folder and open it; for large files, because it needs memory for one part only.
    points_per_part : int, optional
        By default 250,000.

    Returns
    -------
    Dataset
        A PartsDataset if `parts` is given.

    Raises
    ------
    FileFormatError
        The message names the file, the line and the fault.

    Examples
    --------
    >>> import pathlib, tempfile, labeltrees as lt
    >>> path = pathlib.Path(tempfile.mkdtemp(), "three.txt")
    >>> size = path.write_text("3 4 2\n0,1 0:0.5 3:2\n 1:1\n1 2:0.25\n")
    >>> dataset = lt.read_xmc(path)
    >>> dataset
    Dataset(3 points, 4 features, 2 labels; a point has 1.33 features and 1 labels)
    >>> dataset.Y.toarray()
    array([[1., 1.],
           [0., 0.],
           [0., 1.]], dtype=float32)
    """
    if isinstance(index_base, bool) or index_base not in ("auto", 0, 1):
        refuse("index_base", "'auto', 0 or 1", index_base)
    if parts is not None:
        from labeltrees.data.parts.convert import xmc_in_parts  # it imports this module

        return xmc_in_parts(path, parts, index_base, weights, points_per_part)
    parser = _core.XmcParser(-1 if index_base == "auto" else int(index_base))
    with open_any(path) as stream, naming_faults(path):
        while block := stream.read(_BLOCK_BYTES):
            parser.feed(block)
        parser.finish()
    if index_base == "auto" and parser.one_based:
        warn_one_based(path, parser.top_line)
    return _with_weights(parsed_points(parser), path, weights)


def _with_weights(dataset: Dataset, path: FilePath, weights: FilePath | None) -> Dataset:
    file = weights_beside(Path(path)) if weights == "auto" else weights
    if file is None:
        return dataset
    return Dataset._from_checked(dataset.X, dataset.Y, sample_weight=read_weights(file, dataset.n_points))


@contextmanager
def naming_faults(path: FilePath) -> Iterator[None]:
    """Turn errors of the parser into errors that name the file."""
    try:
        yield
    except FileFormatError:  # of the file, not of the parser
        raise
    except ValueError as fault:
        separator = "," if str(fault).startswith("line ") else ":"
        message = f"{path}{separator} {fault}"
        in_header = str(fault).startswith("line 1:")  # the file may have texts instead
        raise FileFormatError(message, next_step=Phrase.GIVE_FORMAT if in_header else None) from None


def warn_one_based(path: FilePath, line: int) -> None:
    """Log that ids are taken to start at 1, and the line that shows it."""
    reason = "line %d has an id equal to the header's D or L"
    _logger.warning(f"%s: ids are taken to start at 1, because {reason}", path, line)


def parsed_points(parser: _core.XmcParser) -> Dataset:
    """Take the points that the parser has finished, and return them as a Dataset."""
    n_points = parser.n_in_hand
    values, features, feature_ptr, labels, label_ptr = parser.take_block()
    X = _csr(values, features, feature_ptr, (n_points, parser.n_features))
    Y = _csr(np.ones(len(labels), dtype=np.float32), labels, label_ptr, (n_points, parser.n_labels))
    return Dataset._from_checked(X, Y)  # the parser has checked every line


def write_xmc(dataset: Dataset, path: FilePath) -> None:
    """Write a Dataset in the XMC repository's format, with ids from 0.

    Values are written as the shortest text that reads back as the same float32. If writing fails, an old
    file stays unchanged. The format has no names, weights, texts and encoders, so they are left out. Relevance values
    other than 1 are refused.

    Parameters
    ----------
    dataset : Dataset
    path : path
        Compressed if its name ends with .gz, .xz or .zst.

    Examples
    --------
    >>> import pathlib, tempfile, labeltrees as lt
    >>> path = pathlib.Path(tempfile.mkdtemp(), "two.txt")
    >>> lt.write_xmc(lt.Dataset([[0.5, 0.0], [0.0, 2.0]], [[1, 1], [0, 1]]), path)
    >>> print(path.read_text(), end="")
    2 2 2
    0,1 0:0.5
    1 1:2
    """
    if not isinstance(dataset, Dataset):
        refuse("dataset", "a Dataset", dataset)
    X, Y = dataset.X, dataset.Y
    if not (Y.data == 1).all():
        entry = int(np.argmax(Y.data != 1))
        row = int(np.searchsorted(Y.indptr, entry, side="right")) - 1
        message = (
            f"Y has the relevance {Y.data[entry]:g} at row {row}, column {Y.indices[entry]}, "
            "but the XMC format can only say that a point has a label; pass Dataset(X, Y != 0)"
        )
        raise InputError(message)
    feature_ptr, label_ptr = X.indptr.astype(np.int64), Y.indptr.astype(np.int64)
    features, labels = X.indices.astype(np.int32, copy=False), Y.indices.astype(np.int32, copy=False)
    # Blocks of whole points with about the same number of entries, so that memory does not grow with the file.
    entries = feature_ptr + label_ptr + np.arange(len(feature_ptr))
    cuts = np.searchsorted(entries, np.arange(0, entries[-1], _BLOCK_ENTRIES))
    bounds = [*np.unique(cuts).tolist(), dataset.n_points]
    with write_any(path) as stream:
        stream.write(f"{dataset.n_points} {dataset.n_features} {dataset.n_labels}\n".encode())
        for first, last in itertools.pairwise(bounds):
            stream.write(_core.write_xmc_lines(first, last, feature_ptr, features, X.data, label_ptr, labels))


def _csr(values: Any, indices: Any, indptr: Any, shape: tuple[int, int]) -> sparse.csr_array[np.float32]:
    if indptr[-1] <= np.iinfo(np.int32).max:  # else SciPy would widen the indices to match
        indptr = indptr.astype(np.int32)
    return sparse.csr_array((values, indices, indptr), shape=shape)


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
    """Read a file once and return its index base, 0 or 1, as `read_xmc` chooses it for "auto"."""
    if Path(path).exists() and not Path(path).is_file() and not Path(path).is_dir():
        message = "{}: cannot be read twice, so {} must be 0 or 1"
        raise InputError(message, path, Parameter("index_base"))
    parser = _core.XmcParser(-1)
    with open_any(path) as stream, naming_faults(path):
        while block := stream.read(block_bytes):
            parser.feed(block)
            parser.take_block()
        parser.finish()
    if parser.one_based:
        warn_one_based(path, parser.top_line)
    return int(parser.one_based)


def is_weights_file(path: Path) -> bool:
    """Whether a file holds weights, by its name."""
    return _plain_name(path).endswith(_ENDING)


def weights_beside(points: Path) -> Path | None:
    """Return the file with the weights of a file of points, None if there is no such file."""
    name = _plain_name(points)
    if not name.endswith(".txt"):
        return None
    base = points.with_name(name.removesuffix(".txt") + _ENDING)
    return next((path for ending in ("", *COMPRESSED) if (path := Path(f"{base}{ending}")).is_file()), None)


def read_weights(path: FilePath, n_points: int) -> NDArray[np.float64]:
    """Return the weights in a file, one per line, plain or compressed."""
    with open_any(path) as stream:
        lines = stream.read().split()
    if len(lines) != n_points:
        refuse_file(path, f"{len(lines)} weights for {n_points} points; it must have one line per point")
    try:
        weights = np.array(lines, dtype=np.bytes_).astype(np.float64) if lines else np.zeros(0)
    except ValueError as error:
        refuse_file(path, f"not a number ({error}); each line must be a finite number of at least 0")
    with naming_file(path):
        checked = check_sample_weight(weights, n_points, "weights")
    assert checked is not None
    return checked


def _plain_name(path: Path) -> str:
    return path.stem if path.suffix in COMPRESSED else path.name
