"""Building a tree at any tradeoff between similarity and frequency."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from labeltrees import _core
from labeltrees._matrices import Float64s, Int32s, Int64s, check_Y
from labeltrees._progress import watch
from labeltrees._settings import check_settings, settings_from
from labeltrees._validation import Fanout, check_n_jobs, check_seed
from labeltrees.labels.embedding import pifa
from labeltrees.labels.frequency import cover_frequencies, label_frequencies
from labeltrees.tree.arrays import TreeArrays, check_weights
from labeltrees.tree.contract import SearchCost, check_cost, contract
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.settings import TOLERANCE, TreeSettings
from labeltrees.tree.splits import EmbeddingRows, SplitRules, SplitSettings, embedding_rows, own_rows, split_rules

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
    weights_of: str = "root",
    tolerance: float = TOLERANCE,
    sample_weight: Any = None,
    embeddings: Any = None,
    search_cost: SearchCost | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: ProgressArgument = None,
) -> LabelTree:
    """Build a label tree from points and their labels.

    Four parameters matter most. `tradeoff` moves between similar labels together (0 to 1), which is most accurate, and
    frequent labels near the root (2), which is fastest. `fanout` is the width of the tree: wider nodes are more
    accurate and slower. `leaf_size` stops splitting small sets: larger leaves build faster. `embeddings` replaces the
    default label embeddings, for example by those of a language model.

    Parameters
    ----------
    X : sparse or dense matrix (N, d)
        **The data.** The points; used only for the labels' embeddings (PIFA), if `embeddings` is not given.
    Y : sparse or dense matrix (N, L)
        The labels of the points.
    sample_weight : array (N,), optional
        Weights of the points.
    embeddings : sparse or dense matrix (L, d), optional
        Used instead of PIFA; rows are scaled to unit length.
    tradeoff : float in [0, 2], default 1
        **The splits.** 0: balanced, similar labels together. 1: the same, each label weighted by its frequency. 2:
        frequency only (Fano).
    fanout : int or "auto", default 16
        Maximum number of children per node; 2 keeps the binary tree. "auto" chooses the width of each node to
        minimise the search cost (`contract`).
    leaf_size : int, default 1
        A set of at most this many labels is not split further.
    smoothing : float, default 0.1
        Added to the label frequencies, spread evenly over all labels: some labels will occur more often later than
        they do in Y.
    cover : {"marginal", "greedy"}, default "marginal"
        How cover frequencies are counted (`cover_frequencies`). They matter only if tradeoff > 1, or for
        ``path="direct"``.
    cover_softness : float in [0, 1], default 0
        Share of a point's weight that its other labels get, too; 1 gives plain frequencies.
    path : {"weighted", "direct"}, default "weighted"
        From similarity to frequency through weighted similarity (tradeoff 1), or directly.
    weights_of : {"root", "node"}, default "root"
        Compute the label weights f(tradeoff), with their smoothing, once for the whole tree, or in each node from the
        frequencies of its own labels.
    tolerance : float, default 1e-4
        A split ends when its objective rises by less than this, relatively.
    search_cost : SearchCost, optional
        The cost that ``fanout="auto"`` minimises, if the default does not fit the machine or the data.
    random_state : int, default 0
        **Running.** The seed.
    n_jobs : int, optional
        Number of threads, as in scikit-learn. The tree does not depend on it.
    progress : bool or callable(done, total), optional
        True shows a progress bar.

    Returns
    -------
    LabelTree
        Labels without points are not placed. `label_weights` has the weights f(tradeoff) that the tree was built with.

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
    settings = settings_from(TreeSettings, locals())
    check_settings(settings)
    return grow_tree(
        X,
        Y,
        settings,
        sample_weight=sample_weight,
        embeddings=embeddings,
        search_cost=search_cost,
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
    weights_of: str = "root",
    tolerance: float = TOLERANCE,
    search_cost: SearchCost | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: ProgressArgument = None,
) -> LabelTree:
    """Build a label tree from embeddings and frequencies; `build_tree` explains the other parameters.

    Parameters
    ----------
    embeddings : sparse or dense matrix (L, d)
        Rows are scaled to unit length.
    frequencies : array (L,)
        A label of frequency 0 is not placed.
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
    settings = settings_from(TreeSettings, locals())
    check_settings(settings)
    return grow_tree_from(
        embedding_rows(embeddings).unit(),
        frequencies,
        cover_frequencies,
        settings,
        search_cost=search_cost,
        random_state=random_state,
        n_jobs=n_jobs,
        progress=progress,
    )


def grow_tree(
    X: Any,
    Y: Any,
    settings: TreeSettings,
    *,
    sample_weight: Any = None,
    embeddings: Any = None,
    search_cost: SearchCost | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: ProgressArgument = None,
) -> LabelTree:
    """Build a tree as `build_tree` does, with checked settings."""
    Y = check_Y(Y)
    rows = own_rows(pifa(X, Y, n_jobs=n_jobs)) if embeddings is None else embedding_rows(embeddings).unit()
    return grow_tree_from(
        rows,
        label_frequencies(Y, sample_weight),
        cover_frequencies(Y, sample_weight, settings.cover, settings.cover_softness),
        settings,
        search_cost=search_cost,
        overwrite_rows=embeddings is None,
        random_state=random_state,
        n_jobs=n_jobs,
        progress=progress,
    )


def grow_tree_from(
    rows: EmbeddingRows,
    frequencies: Any,
    covers: Any,
    settings: TreeSettings,
    *,
    search_cost: SearchCost | None = None,
    overwrite_rows: bool = False,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: ProgressArgument = None,
) -> LabelTree:
    """Build a tree as `build_tree_from` does, from rows of unit length and checked settings."""
    cost = check_cost("search_cost", search_cost, settings.fanout)
    rules = split_rules(check_weights("frequencies", frequencies, rows.n_labels), covers, settings)
    child_ptr, children = build_binary(
        rows,
        rules.labels,
        rules.root_weights,
        rules.settings,
        overwrite_rows=overwrite_rows,
        random_state=random_state,
        n_jobs=n_jobs,
        progress=progress,
    )
    return widen(TreeArrays(child_ptr, children, rows.n_labels, label_weights=rules.weights), settings, cost)


def widen(binary: TreeArrays, settings: TreeSettings, cost: SearchCost | None = None) -> LabelTree:
    """Widen a binary tree to the fanout of the settings, with nodes numbered as in `LabelTree.renumbered`."""
    tree = LabelTree._adopt(binary)
    if settings.fanout == 2:
        return tree.renumbered()
    return contract(tree, settings.fanout, leaf_size=settings.leaf_size, cost=cost)


def build_binary(
    rows: EmbeddingRows,
    labels: Int32s,
    weights: Float64s,
    settings: SplitSettings,
    *,
    overwrite_rows: bool = False,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: ProgressArgument = None,
) -> tuple[Int64s, Int32s]:
    """Return child_ptr and children of the binary tree over `labels` (n,), ascending, with `weights` (n,).

    Parameters
    ----------
    settings : SplitSettings
    overwrite_rows : bool
        Whether the memory of `rows` may be overwritten. This saves a copy: a tenth of the peak memory on EURLex-4K.
    """
    seed = check_seed(random_state)
    n_threads = check_n_jobs(n_jobs)
    with watch("Building the tree", _core.PROGRESS_UNITS, progress) as advance:
        return _core.build_binary_tree(
            labels, weights, *rows, settings, seed, n_threads, False, overwrite_rows, advance
        )


Binary = tuple[Int64s, Int32s]  # child_ptr and children, nodes in depth-first order


class LabelSet(NamedTuple):
    """The labels of a node, ascending, and the seed for the tree of this node."""

    labels: Int32s
    seed: int
    is_root: bool = False


def split_set(labels: LabelSet, rows: EmbeddingRows, rules: SplitRules, n_threads: int) -> tuple[LabelSet, LabelSet]:
    """Split a set, whose label i has row i of `rows`, into two sides; the rows may be overwritten."""
    weights, settings = _weights_of(labels, rules)
    is_plus, plus_seed, minus_seed = _core.split_set(
        _numbers(labels), weights, *rows, settings, labels.seed, n_threads, not labels.is_root
    )
    plus = is_plus.astype(bool)
    return LabelSet(labels.labels[plus], plus_seed), LabelSet(labels.labels[~plus], minus_seed)


def build_set(labels: LabelSet, rows: EmbeddingRows, rules: SplitRules, n_threads: int) -> Binary:
    """Return the tree of a set, whose label i has row i of `rows`; the rows may be overwritten."""
    weights, settings = _weights_of(labels, rules)
    child_ptr, children = _core.build_binary_tree(
        _numbers(labels), weights, *rows, settings, labels.seed, n_threads, not labels.is_root, True, None
    )
    is_label = children < 0
    children[is_label] = ~labels.labels[~children[is_label]]
    return child_ptr, children


def leaf_of(labels: Int32s) -> Binary:
    """Return the tree of a set that is not split."""
    return np.array([0, len(labels)], np.int64), ~labels


def join(plus: Binary, minus: Binary) -> Binary:
    """Return a tree whose root has these two trees as children; a tree with one label becomes that label.

    Examples
    --------
    >>> child_ptr, children = join(leaf_of(np.array([4], np.int32)), leaf_of(np.array([1, 3], np.int32)))
    >>> child_ptr.tolist(), children.tolist()  # label 4 is a child of the root, labels 1 and 3 are below node 1
    ([0, 2, 4], [-5, 1, -2, -4])
    """
    below: list[Binary] = []
    references, n_nodes = [], 1
    for child_ptr, children in (plus, minus):
        if len(children) == 1:
            references.append(int(children[0]))
            continue
        references.append(n_nodes)
        below.append((child_ptr, np.where(children >= 0, children + n_nodes, children).astype(np.int32)))
        n_nodes += len(child_ptr) - 1
    widths = [np.array([2])] + [np.diff(child_ptr) for child_ptr, _ in below]
    return (
        np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate(widths))]),
        np.concatenate([np.array(references, np.int32)] + [children for _, children in below]),
    )


def _numbers(labels: LabelSet) -> Int32s:
    return np.arange(len(labels.labels), dtype=np.int32)


def _weights_of(labels: LabelSet, rules: SplitRules) -> tuple[Float64s, SplitSettings]:
    """Return the weights of a set's labels, and the settings for the set and the nodes below."""
    weights = rules.root_weights if labels.is_root else rules.weights[labels.labels]
    given = rules.settings.node_weights
    if given is None:
        return weights, rules.settings
    given = given._replace(frequencies=given.frequencies[labels.labels], covers=given.covers[labels.labels])
    return weights, rules.settings._replace(node_weights=given)
