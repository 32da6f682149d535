"""Building a tree at any tradeoff between similarity and frequency."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from labeltrees import _core
from labeltrees._matrices import Float64s, Int32s, Int64s
from labeltrees._progress import watch
from labeltrees._validation import Fanout, check_fanout, check_integer, check_n_jobs, check_seed
from labeltrees.labels.embedding import pifa
from labeltrees.labels.frequency import cover_frequencies as cover_of
from labeltrees.labels.frequency import label_frequencies
from labeltrees.labels.weights import label_weights
from labeltrees.tree.arrays import TreeArrays, check_weights
from labeltrees.tree.contract import check_cost, contract
from labeltrees.tree.embedding_rows import EmbeddingRows, embedding_rows, own_rows
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.objective import coefficients
from labeltrees.tree.search_cost import SearchCost

ProgressArgument = bool | Callable[[int, int], object] | None


def build_tree(
    X: Any,
    Y: Any,
    *,
    tradeoff: float = 1.0,
    fanout: Fanout = 16,
    leaf_size: int = 1,
    smoothing: float = 0.1,
    cover: str = "marginal",
    cover_softness: float = 0.0,
    path: str = "weighted",
    sample_weight: Any = None,
    embeddings: Any = None,
    search_cost: SearchCost | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: ProgressArgument = None,
) -> LabelTree:
    """Build a label tree from points and their labels.

    Parameters
    ----------
    X : sparse or dense matrix (N, d)
        The points; only used for the labels' embeddings (PIFA) where `embeddings` is not given.
    Y : sparse or dense matrix (N, L)
        The labels of the points.
    tradeoff : float in [0, 2]
        0: balanced, similar labels together. 1: the same, each label counted by its frequency. 2: frequency only
        (Fano).
    fanout : int or "auto"
        The most children contraction gives a node; 2 keeps the binary tree. "auto" gives every node the number that
        makes searches cheapest (`contract`).
    leaf_size : int
        A set of at most this many labels is not split further.
    smoothing : float
        Added to every label's frequency (over all labels together), against labels that are rarer here than later.
    cover : {"marginal", "greedy"}
    cover_softness : float in [0, 1]
        How cover frequencies are counted (`cover_frequencies`). They matter only where tradeoff > 1, or on the direct
        path.
    path : {"weighted", "direct"}
        From similarity to frequency through weighted similarity (tradeoff 1), or straight.
    sample_weight : array (N,), optional
        Weights of the points.
    embeddings : sparse or dense matrix (L, d), optional
        Instead of PIFA; rows are scaled to unit length.
    search_cost : SearchCost, optional
        What "auto" makes cheapest, where the default does not fit the machine or the data.
    random_state : int
    n_jobs : int, optional
        Threads, as in scikit-learn. The tree does not depend on it.
    progress : bool or callable(done, total), optional
        True shows a bar.

    Returns
    -------
    LabelTree
        Labels without a point are unplaced. `label_weights` holds the f(tradeoff) it was built with.

    Examples
    --------
    >>> import numpy as np, labeltrees as lt
    >>> Y = np.array([[1, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [1, 0, 0, 1]])
    >>> X = np.random.default_rng(0).random((5, 3))
    >>> lt.build_tree(X, Y, tradeoff=0, fanout=2).label_depth
    array([2, 2, 2, 2], dtype=int32)
    >>> lt.build_tree(X, Y, tradeoff=2, fanout=2).label_depth
    array([1, 2, 3, 3], dtype=int32)
    """
    frequencies = label_frequencies(Y, sample_weight)
    cover_frequencies = cover_of(Y, sample_weight, method=cover, softness=cover_softness)
    own = embeddings is None
    return _build(
        own_rows(pifa(X, Y, n_jobs=n_jobs)) if own else embedding_rows(embeddings).unit(),
        frequencies,
        cover_frequencies,
        tradeoff=tradeoff,
        fanout=fanout,
        leaf_size=leaf_size,
        smoothing=smoothing,
        path=path,
        search_cost=search_cost,
        spend=own,
        random_state=random_state,
        n_jobs=n_jobs,
        progress=progress,
    )


def build_tree_from(
    embeddings: Any,
    frequencies: Any,
    cover_frequencies: Any = None,
    *,
    tradeoff: float = 1.0,
    fanout: Fanout = 16,
    leaf_size: int = 1,
    smoothing: float = 0.1,
    path: str = "weighted",
    search_cost: SearchCost | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: ProgressArgument = None,
) -> LabelTree:
    """Build a label tree from what is known of the labels; `build_tree` explains the other parameters.

    Parameters
    ----------
    embeddings : sparse or dense matrix (L, d)
        Rows are scaled to unit length.
    frequencies : array (L,)
        A label of frequency 0 is left unplaced.
    cover_frequencies : array (L,), optional
        By default `frequencies`.

    Returns
    -------
    LabelTree

    Examples
    --------
    >>> import numpy as np, labeltrees as lt
    >>> tree = lt.build_tree_from(np.eye(6), [0.5, 0.1, 0.1, 0.1, 0.1, 0.1], tradeoff=1, fanout=2)
    >>> int(tree.label_depth[0])
    1
    """
    return _build(
        embedding_rows(embeddings).unit(),
        frequencies,
        cover_frequencies,
        tradeoff=tradeoff,
        fanout=fanout,
        leaf_size=leaf_size,
        smoothing=smoothing,
        path=path,
        search_cost=search_cost,
        random_state=random_state,
        n_jobs=n_jobs,
        progress=progress,
    )


def _build(
    rows: EmbeddingRows,
    frequencies: Any,
    cover_frequencies: Any,
    *,
    tradeoff: float,
    fanout: Fanout,
    leaf_size: int,
    smoothing: float,
    path: str,
    search_cost: SearchCost | None,
    spend: bool = False,
    random_state: int,
    n_jobs: int | None,
    progress: ProgressArgument,
) -> LabelTree:
    """Build from rows of unit length; with `spend` their memory is used up on the way."""
    fanout = check_fanout("fanout", fanout)
    cost = check_cost("search_cost", search_cost, fanout)
    objective = coefficients(tradeoff, path)
    checked = check_weights("frequencies", frequencies, rows.n_labels)
    cover = checked if cover_frequencies is None else cover_frequencies
    weights = label_weights(checked, cover, tradeoff, smoothing=smoothing, path=path)
    labels = np.flatnonzero(checked > 0).astype(np.int32)
    child_ptr, children = build_binary(
        rows,
        labels,
        weights[labels],
        objective=objective,
        leaf_size=leaf_size,
        spend=spend,
        random_state=random_state,
        n_jobs=n_jobs,
        progress=progress,
    )
    binary = LabelTree._adopt(TreeArrays(child_ptr, children, rows.n_labels, label_weights=weights))
    return binary.renumbered() if fanout == 2 else contract(binary, fanout, leaf_size=leaf_size, cost=cost)


def build_binary(
    rows: EmbeddingRows,
    labels: Int32s,
    weights: Float64s,
    *,
    objective: tuple[float, float] = (2.0, 0.0),
    leaf_size: int = 1,
    spend: bool = False,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: ProgressArgument = None,
) -> tuple[Int64s, Int32s]:
    """Return child_ptr and children of the binary tree over `labels` (n,), rising, with `weights` (n,).

    Parameters
    ----------
    objective : (float, float)
        What similarity and frequency count for (`coefficients`); by default similarity alone.
    spend : bool
        Whether the memory of `rows` may be written over. Saves a copy of them: a tenth of the peak on EURLex-4K.
    """
    leaf_size = check_integer("leaf_size", leaf_size, 1)
    seed = check_seed(random_state)
    n_threads = check_n_jobs(n_jobs)
    with watch("Building the tree", _core.PROGRESS_UNITS, progress) as advance:
        return _core.build_binary_tree(labels, weights, *rows, *objective, leaf_size, seed, n_threads, spend, advance)
