"""Chunks: the classifiers of each node stored together, so that a search touches as little memory as possible."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labeltrees import _core
from labeltrees._validation import check_choice, check_integer, check_n_jobs, refuse
from labeltrees.errors import FileFormatError, InputError

if TYPE_CHECKING:
    from labeltrees._core import Float32s, Float64s, Int32s, Int64s, Progress, UInt8s


LINE = 64
TAIL = 64


class TreeLike(Protocol):
    """The attributes of a `LabelTree` that packing needs."""

    child_ptr: Int64s
    children: Int32s
    n_labels: int


@dataclass(frozen=True)
class LinearWeights:
    """The trained classifiers of a tree, one sparse row for every entry of the tree's `children`.

    Parameters
    ----------
    indptr : int64 (n_edges + 1,)
    features : int32 (indptr[-1],), ascending within a row
    values : float32 (indptr[-1],)
    bias : float32 (n_edges,)
    """

    indptr: Int64s
    features: Int32s
    values: Float32s
    bias: Float32s


@dataclass(frozen=True, eq=False)
class ChunkStore:
    """A tree and its classifiers, ready to be searched or saved. Made by `pack_chunks` or from a file.

    Parameters
    ----------
    chunks : uint8 (n_bytes,)
        All chunks, most visited first, each a multiple of 64 bytes long, followed by 64 zero bytes. See
        docs/format.md.
    offsets : int64 (n_nodes,)
        Where each node's chunk starts.
    feature_rank : int32 (n_features,)
        The number of each feature inside the chunks: features with more weights come first. Empty for matrices.
    child_ptr, children : the tree's arrays
    n_labels, n_features : int
    matrices : bool
        Whether all chunks are full matrices, for data without zeros.
    checked : bool
        Whether the chunks are known to be valid. Chunks from a file are checked when a search first visits them.
    source : str
        Where the chunks came from, for messages.
    ceilings : float32 (n_nodes,), optional
        For each node the log of the highest score that a label below it can have relative to the node.
    """

    chunks: UInt8s
    offsets: Int64s
    feature_rank: Int32s
    child_ptr: Int64s
    children: Int32s
    n_labels: int
    n_features: int
    matrices: bool = False
    checked: bool = False
    source: str = "chunks"
    ceilings: Float32s | None = None

    ARRAY_NAMES = ("chunks", "offsets", "feature_rank", "child_ptr", "children")

    def __post_init__(self) -> None:
        for name, dtype in zip(self.ARRAY_NAMES, (np.uint8, np.int64, np.int32, np.int64, np.int32), strict=True):
            self._check_array(name, dtype)
        if self.chunks.ctypes.data % 16 != 0:
            object.__setattr__(self, "chunks", _core.copy_to_huge_pages(self.chunks))
        if not 0 < self.n_features < 2**31 or not 0 < self.n_labels < 2**31:
            self._fail(f"n_features {self.n_features} or n_labels {self.n_labels} is out of range")
        if not 0 < len(self.offsets) < 2**31 or len(self.child_ptr) != len(self.offsets) + 1:
            self._fail("offsets and child_ptr do not agree on the number of nodes")
        if self.child_ptr[0] != 0 or self.child_ptr[-1] != len(self.children):
            self._fail("child_ptr does not span the children")
        if len(self.feature_rank) != (0 if self.matrices else self.n_features):
            self._fail("feature_rank does not fit the number of features")
        if not self.checked and not self.matrices and not _in_range(self.feature_rank, self.n_features):
            self._fail("feature_rank names a feature that is not there")
        if self.ceilings is not None:
            self._check_array("ceilings", np.float32)
            if len(self.ceilings) != len(self.offsets) or not np.all(self.ceilings <= 0):
                self._fail("ceilings must be a number of at most 0 for each node")
        if len(self.chunks) < LINE + TAIL or len(self.chunks) % LINE != 0:
            self._fail(f"{len(self.chunks)} bytes cannot be chunks")

    def _check_array(self, name: str, dtype: type) -> None:
        array = getattr(self, name)
        if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1 or not array.flags.c_contiguous:
            self._fail(f"{name} must be a contiguous one-dimensional {np.dtype(dtype).name} array")

    def _fail(self, fault: str) -> None:
        message = f"{self.source}: {fault}"
        raise FileFormatError(message)

    @property
    def n_nodes(self) -> int:
        """Number of nodes, which is also the number of chunks."""
        return len(self.offsets)

    @property
    def nbytes(self) -> int:
        """Size of all arrays in bytes, in memory and, apart from small headers, on disk."""
        return sum(array.nbytes for array in self.arrays().values())

    def arrays(self, prefix: str = "") -> dict[str, NDArray[Any]]:
        """Return the arrays to save, by name."""
        names = self.ARRAY_NAMES if self.ceilings is None else (*self.ARRAY_NAMES, "ceilings")
        return {prefix + name: getattr(self, name) for name in names}

    @classmethod
    def from_arrays(
        cls,
        arrays: dict[str, NDArray[Any]],
        *,
        n_labels: int,
        n_features: int,
        matrices: bool = False,
        prefix: str = "",
        source: str = "chunks",
    ) -> ChunkStore:
        """Make a store from arrays as `arrays` returns them; raise `FileFormatError` for a missing array."""
        for name in cls.ARRAY_NAMES:
            if prefix + name not in arrays:
                message = f"{source}: the array {prefix + name} is missing"
                raise FileFormatError(message)
        chunks, offsets, rank, child_ptr, children = (arrays[prefix + name] for name in cls.ARRAY_NAMES)
        ceilings = arrays.get(prefix + "ceilings")
        return cls(
            chunks, offsets, rank, child_ptr, children, n_labels, n_features, matrices, source=source, ceilings=ceilings
        )

    def in_memory(self) -> ChunkStore:
        """Return a copy with its chunks in memory, in huge pages if the system has them."""
        return replace(self, chunks=_core.copy_to_huge_pages(self.chunks))

    def __getstate__(self) -> dict[str, Any]:
        # The arrays of a store in huge pages or in a mapped file are pickled by value.
        return {**self.__dict__, "checked": False}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if not isinstance(self.chunks, np.memmap):  # keep arrays that joblib mapped (mmap_mode)
            object.__setattr__(self, "chunks", _core.copy_to_huge_pages(self.chunks))


def pack_chunks(
    tree: TreeLike,
    weights: LinearWeights,
    n_features: int,
    node_mass: ArrayLike,
    *,
    n_jobs: int | None = None,
    progress: Progress = None,
) -> ChunkStore:
    """Pack sparse classifiers into chunks, with weights in half precision.

    Parameters
    ----------
    tree : LabelTree
    weights : LinearWeights
        One row for every entry of ``tree.children``.
    n_features : int
    node_mass : array (n_nodes,)
        Expected visits of each node, in any unit, such as `LabelTree.mass`. The most visited nodes are stored first.
    n_jobs : int, optional
    progress : callable, optional
        Called with the number of nodes done.

    Returns
    -------
    ChunkStore
        The bytes do not depend on `n_jobs`.

    Examples
    --------
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> tree = SimpleNamespace(child_ptr=np.array([0, 2]), children=np.array([~0, ~1], np.int32), n_labels=2)
    >>> weights = LinearWeights(np.array([0, 1, 2]), np.array([0, 1], np.int32), np.ones(2, np.float32),
    ...                         np.zeros(2, np.float32))
    >>> pack_chunks(tree, weights, n_features=2, node_mass=[1.0]).n_nodes
    1
    """
    child_ptr, children, mass = _check_tree(tree, node_mass)
    n_features = check_integer("n_features", n_features, 1, 2**31 - 1)
    indptr = np.ascontiguousarray(weights.indptr, np.int64)
    features = np.ascontiguousarray(weights.features, np.int32)
    values = np.ascontiguousarray(weights.values, np.float32)
    bias = _check_bias(weights.bias, len(children))
    if len(indptr) != len(children) + 1 or indptr[0] != 0 or np.any(np.diff(indptr) < 0):
        refuse("weights.indptr", f"rising from 0, of {len(children) + 1} entries", indptr)
    if not indptr[-1] == len(features) == len(values):
        refuse("weights", f"{indptr[-1]} features and values", (len(features), len(values)))
    if len(features) and not _in_range(features, n_features):
        refuse("weights.features", f"in [0, {n_features})", (features.min(), features.max()))
    rank = rank_of_counts(np.bincount(features, minlength=n_features))
    checked = LinearWeights(indptr, features, values, bias)
    chunks, offsets = pack_ranked(
        child_ptr, children, checked, n_features, rank, mass, n_jobs=n_jobs, progress=progress
    )
    return ChunkStore(chunks, offsets, rank, child_ptr, children, tree.n_labels, n_features, checked=True)


def pack_ranked(
    child_ptr: Int64s,
    children: Int32s,
    weights: LinearWeights,
    n_features: int,
    rank: Int32s,
    node_mass: Float64s | None = None,
    *,
    n_jobs: int | None = None,
    progress: Progress = None,
) -> tuple[UInt8s, Int64s]:
    """Return the chunks of checked classifiers, and where each node's chunk starts, for given ranks of the features.

    A node's chunk depends only on its own classifiers and the ranks, so nodes can be packed separately.
    """
    mass = np.zeros(len(child_ptr) - 1) if node_mass is None else node_mass
    arrays = (weights.indptr, weights.features, weights.values, weights.bias)
    try:
        return _core.pack_chunks(child_ptr, children, *arrays, n_features, rank, mass, check_n_jobs(n_jobs), progress)
    except ValueError as error:
        message = f"weights: {error}"
        raise InputError(message) from None


def pack_dense_chunks(
    tree: TreeLike,
    matrix: ArrayLike,
    bias: ArrayLike,
    node_mass: ArrayLike,
    *,
    precision: str = "half",
    n_jobs: int | None = None,
    progress: Progress = None,
) -> ChunkStore:
    """Pack dense classifiers into chunks, for data without zeros such as sentence embeddings.

    Parameters
    ----------
    tree : LabelTree
    matrix : array (n_edges, n_features)
        One row for every entry of ``tree.children``.
    bias : array (n_edges,)
    node_mass : array (n_nodes,)
        As in `pack_chunks`.
    precision : {"half", "single"}
        Of the stored weights.
    n_jobs : int, optional
    progress : callable, optional

    Returns
    -------
    ChunkStore
    """
    child_ptr, children, mass = _check_tree(tree, node_mass)
    weights = np.ascontiguousarray(matrix, np.float32)
    if weights.ndim != 2 or len(weights) != len(children) or not 0 < weights.shape[1] < 2**31:
        refuse("matrix", f"of shape ({len(children)}, n_features)", weights.shape)
    half = check_choice("precision", precision, ("half", "single")) == "half"
    checked, n_features, n_threads = _check_bias(bias, len(children)), weights.shape[1], check_n_jobs(n_jobs)
    try:
        chunks, offsets = _core.pack_matrix_chunks(
            child_ptr, children, weights.ravel(), checked, n_features, mass, half, n_threads, progress
        )
    except ValueError as error:
        message = f"matrix: {error}"
        raise InputError(message) from None
    rank = np.zeros(0, np.int32)
    return ChunkStore(
        chunks, offsets, rank, child_ptr, children, tree.n_labels, n_features, matrices=True, checked=True
    )


def _in_range(ids: Int32s, n: int) -> bool:
    return len(ids) == 0 or bool(ids.min() >= 0 and ids.max() < n)


def rank_of_counts(counts: Int64s) -> Int32s:
    """Return the rank of each feature by its number of weights, most weights first; ties by ascending feature.

    Features with many weights occur in many queries. Ranking them first keeps their index entries close together.
    """
    rank = np.empty(len(counts), np.int32)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts), dtype=np.int32)
    return rank


def _check_tree(tree: TreeLike, node_mass: ArrayLike) -> tuple[Int64s, Int32s, Float64s]:
    child_ptr = np.ascontiguousarray(tree.child_ptr, np.int64)
    children = np.ascontiguousarray(tree.children, np.int32)
    if len(child_ptr) < 2 or child_ptr[0] != 0 or child_ptr[-1] != len(children) or np.any(np.diff(child_ptr) < 1):
        refuse("tree.child_ptr", "rising from 0 to the number of children, with a child for every node", child_ptr)
    mass = np.ascontiguousarray(node_mass, np.float64)
    if mass.shape != (len(child_ptr) - 1,) or not np.all(np.isfinite(mass)):
        refuse("node_mass", f"{len(child_ptr) - 1} finite numbers", node_mass)
    return child_ptr, children, mass


def _check_bias(bias: ArrayLike, n_edges: int) -> Float32s:
    checked = np.ascontiguousarray(bias, np.float32)
    if checked.shape != (n_edges,) or not np.all(np.isfinite(checked)):
        refuse("bias", f"{n_edges} finite numbers", bias)
    return checked


def logistic_ceilings(tree: TreeLike, weights: LinearWeights) -> Float32s:
    """Return for each node the log of the highest score that a label below it can have relative to the node.

    This is for the logistic loss. For a query of unit norm without negative values, a margin is at most the bias plus
    the norm of the positive weights; the score of a label is the product of the sigmoids along its path.

    Parameters
    ----------
    tree : LabelTree
    weights : LinearWeights
        One row for every entry of ``tree.children``.

    Returns
    -------
    float32 (n_nodes,), at most 0

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> tree = SimpleNamespace(child_ptr=np.array([0, 2]), children=np.array([~0, ~1], np.int32), n_labels=2)
    >>> weights = LinearWeights(np.array([0, 2, 3]), np.array([0, 1, 1], np.int32), np.array([3, 4, -9], np.float32),
    ...                         np.array([-5, -2], np.float32))
    >>> np.exp(logistic_ceilings(tree, weights)).round(2)  # the sigmoid of 5 - 5
    array([0.5], dtype=float32)
    """
    return ceilings_of_norms(tree, weights.bias, positive_norms(weights))


def ceilings_of_norms(tree: TreeLike, bias: Float32s, norms: Float64s) -> Float32s:
    """Return `logistic_ceilings`, computed from the biases (n_edges,) and the `positive_norms` (n_edges,)."""
    child_ptr, children = np.asarray(tree.child_ptr, np.int64), np.asarray(tree.children, np.int64)
    # Rounded up a little, because searches compute margins and scores in single precision.
    margins = np.asarray(bias, np.float64) + 1.0001 * norms + 1e-5
    scores = -np.logaddexp(0.0, -margins)
    ceilings = np.zeros(len(child_ptr) - 1)
    for nodes in reversed(tree_levels(child_ptr, children)):
        edges, starts = edges_of(child_ptr, nodes)
        below = np.where(children[edges] >= 0, ceilings[np.maximum(children[edges], 0)], 0.0)
        ceilings[nodes] = np.maximum.reduceat(scores[edges] + below, starts)
    rounded = ceilings.astype(np.float32)
    return np.minimum(np.nextafter(rounded, np.float32(np.inf)), np.float32(0.0))


def positive_norms(weights: LinearWeights) -> Float64s:
    """Return the norm of each row's positive weights, after rounding to half precision as they are stored."""
    stored = np.clip(np.asarray(weights.values), 0.0, 65504.0).astype(np.float16)
    starts, ends = np.asarray(weights.indptr[:-1], np.int64), np.asarray(weights.indptr[1:], np.int64)
    squares = np.zeros(len(starts))
    filled = np.flatnonzero(ends > starts)
    if len(filled):
        squares[filled] = np.add.reduceat(stored.astype(np.float64) ** 2, starts[filled])
    return np.asarray(np.sqrt(squares))


def tree_levels(child_ptr: Int64s, children: Int64s) -> list[Int64s]:
    """Return the nodes of each depth, from the root."""
    levels = [np.zeros(1, np.int64)]
    while len(levels[-1]):
        below = children[edges_of(child_ptr, levels[-1])[0]]
        levels.append(below[below >= 0])
    return levels[:-1]


def edges_of(child_ptr: Int64s, nodes: Int64s) -> tuple[Int64s, NDArray[np.int64]]:
    """Return the edges from some nodes to their children, and the position of each node's first edge."""
    counts = child_ptr[nodes + 1] - child_ptr[nodes]
    ends = np.cumsum(counts)
    return np.repeat(child_ptr[nodes] - ends + counts, counts) + np.arange(counts.sum()), ends - counts
