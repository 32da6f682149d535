"""Profiling of searches: time of single calls, opened nodes, and counts of operations."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from labeltrees._matrices import Float64s, Int64s, is_sparse
from labeltrees._validation import check_integer, check_seed, refuse
from labeltrees.search.queries import query_rows
from labeltrees.search.request import SearchRequest
from labeltrees.tree.label_tree import LabelTree

if TYPE_CHECKING:
    from labeltrees._core import Int32s

MAX_POINTS = 1000  # searched by default
_ROUNDS = 3
Clock = Callable[[], int]  # nanoseconds, as `time.perf_counter_ns`


# Times of single calls.


def single_call_microseconds(
    predictor: Callable[..., Any],
    X: Any,
    *,
    max_points: int = 2000,
    random_state: int = 0,
    clock: Clock = time.perf_counter_ns,
) -> Float64s:
    """Return the time of one predictor call, in microseconds, for each point of a random sample.

    Each point is predicted twice and only the second call is timed, which excludes the time to read a mapped model.

    Parameters
    ----------
    predictor : Predictor
        Called with the feature ids and values of one point, with its dense row, or with its text.
    X : csr matrix or dense array (n, d), or array of texts (n,)
    max_points : int
        Maximum number of points to time.
    random_state : int
    clock : function
        Returns the time in nanoseconds.

    Returns
    -------
    array of float64 (min(n, max_points),)

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> times = single_call_microseconds(lambda features, values: features.sum(), sp.csr_array(np.eye(3)))
    >>> times.shape, bool((times > 0).all())
    ((3,), True)
    """
    max_points = check_integer("max_points", max_points, 1)
    rng = np.random.default_rng(check_seed(random_state))
    rows = rng.permutation(X.shape[0])[:max_points]
    queries = _queries(X[rows])
    for query in queries:
        predictor(*query)
    return _time_calls(predictor, queries, clock)


def _time_calls(predictor: Callable[..., Any], queries: Sequence[tuple[Any, ...]], clock: Clock) -> Float64s:
    times = np.empty(len(queries))
    for place, query in enumerate(queries):
        started = clock()
        predictor(*query)
        times[place] = clock() - started
    return times / 1000


def _queries(X: Any) -> list[tuple[Any, ...]]:
    """Return each point as the arguments of a predictor."""
    if is_sparse(X):
        return [(X.indices[start:end], X.data[start:end]) for start, end in pairwise(X.indptr.tolist())]
    return [(row,) for row in X]


# Counts.


@dataclass(frozen=True)
class OpenedNodes:
    """The nodes that searches opened, in search order.

    Parameters
    ----------
    ends : int64 (n + 1,)
        Query i opened the nodes from ``ends[i]`` up to ``ends[i + 1]``.
    nodes : int32
    depths : int32
        The depths of the nodes; the root has depth 0.
    scores : float64
        The scores of the nodes, in [0, 1]: products along their paths.
    trees : int32
        The tree that each node belongs to.
    on_path : bool
        Whether the node was opened to score a label that another tree found.
    """

    ends: Int64s
    nodes: Int32s
    depths: Int32s
    scores: Float64s
    trees: Int32s
    on_path: NDArray[np.bool_]

    @property
    def queries(self) -> Int64s:
        """The query of each visit."""
        return np.repeat(np.arange(len(self.ends) - 1), np.diff(self.ends))


Counts = dict[str, Int64s]  # of each operation, per query


def count_linear(searcher: Any, queries: Any, request: SearchRequest) -> tuple[Counts, OpenedNodes]:
    """Return the operations of a `Searcher`, from a slower search that counts them.

    `nonzeros` of the query; `visits`, nodes opened; `lookups` of a feature in one level of a chunk's index; `hits`,
    features that have a row there; `weights` added one by one, and `vectors` of 16 weights added together; `children`
    scored; `heap_steps`, nodes and labels that enter or leave a heap; and, in an ensemble, `path_visits`, nodes opened
    in one tree to score labels found in another.
    """
    rows = query_rows(queries, searcher.n_features)
    native = searcher._native(replace(request, evidence=False), rows.n)
    flat, ends, nodes, depths, scores, trees, on_path = searcher._engine.count(rows, native)
    visits = OpenedNodes(ends, nodes, depths, np.exp(scores.astype(np.float64)), trees, on_path.view(bool))
    # In the order of src/core/search/counts.hpp.
    names = "nonzeros visits lookups hits weights vectors children heap_steps path_visits".split()
    return _columns(names, flat), visits


def count_text(searcher: Any, queries: Any, request: SearchRequest) -> tuple[Counts, OpenedNodes]:
    """Return the operations of a `TextSearcher`, from a slower search that counts them.

    `bytes` of the text; `features`, its words and n-grams, each looked up; `rows`, features that have a vector;
    `visits`, nodes evaluated; and `heap_steps`, nodes that enter or leave the open nodes and labels found.
    """
    texts = queries.items
    flat, ends, nodes, depths, scores = searcher._engine.count(texts, searcher._native(request, len(texts)))
    none = np.zeros(len(nodes), np.int32)
    # In the order of src/core/text/hsoftmax_search.hpp.
    return _columns("bytes features rows visits heap_steps".split(), flat), OpenedNodes(
        ends, nodes, depths, scores, none, none.astype(bool)
    )


def _columns(names: Sequence[str], flat: Int64s) -> Counts:
    columns = flat.reshape(-1, len(names))
    return {name: columns[:, place].copy() for place, name in enumerate(names)}


# By the KIND of a model: the function that counts its operations, and whether searches skip nodes with a single child
# without counting them. A new family of models needs an entry here.
_FAMILIES = {"LabelTreeClassifier": (count_linear, False), "TextLabelTreeClassifier": (count_text, True)}


# Counts and times together.


@dataclass(frozen=True, repr=False)
class SearchWork:
    """Counts and times of the searches of some points.

    Parameters
    ----------
    rows : int64 (n,)
        The points of X that were searched.
    k : int
    search : dict
        Search options: mode and beam, or the requested agreement.
    labels : int64 (n, k)
        The returned label ids, padded with -1.
    counts : dict of int64 (n,)
        How often each search ran each operation.
    visits : OpenedNodes
    needed : int64 (n,)
        The number of nodes that no search for these labels can avoid: the ancestors of the returned labels.
    is_needed : bool (number of visits,)
        Which of the opened nodes are such ancestors.
    microseconds : float64 (n,)
        Time of a single call: the shortest of 3.
    """

    rows: Int64s
    k: int
    search: dict[str, Any]
    labels: Int64s
    counts: Counts
    visits: OpenedNodes
    needed: Int64s
    is_needed: NDArray[np.bool_]
    microseconds: Float64s

    @property
    def n_queries(self) -> int:
        """The number of points that were searched."""
        return len(self.rows)

    def record(self, place: int) -> dict[str, Any]:
        """Return counts and time of one query; `place` is in [0, n_queries)."""
        place = check_integer("place", place, 0, self.n_queries - 1)
        columns = {"query": self.rows, "nodes": self.counts["visits"], **self._reported(), "needed": self.needed}
        record = {name: column[place].item() for name, column in columns.items()}
        return {**record, "microseconds": round(float(self.microseconds[place]), 3)}

    def visits_of(self, place: int) -> list[dict[str, Any]]:
        """Return the nodes that one query opened, in order; `place` is in [0, n_queries)."""
        place = check_integer("place", place, 0, self.n_queries - 1)
        visits = self.visits
        own = slice(visits.ends[place], visits.ends[place + 1])
        columns: dict[str, Any] = {
            "tree": visits.trees[own],
            "node": visits.nodes[own],
            "depth": visits.depths[own],
            "score": visits.scores[own],
            "needed": self.is_needed[own],
            "on_path": visits.on_path[own],
        }
        rows = zip(*(column.tolist() for column in columns.values()), strict=True)
        return [dict(zip(columns, row, strict=True)) for row in rows]

    def by_depth(self) -> list[dict[str, float]]:
        """Return for each depth the mean number of nodes opened per query, and of those that any search must open."""
        depths = self.visits.depths
        opened = np.bincount(depths) / self.n_queries
        needed = np.bincount(depths[self.is_needed], minlength=len(opened)) / self.n_queries
        return [
            {"depth": depth, "nodes": float(own), "needed": float(part)}
            for depth, (own, part) in enumerate(zip(opened, needed, strict=True))
        ]

    def summary(self) -> dict[str, Any]:
        """Return means and percentiles over the queries, ready for JSON."""
        opened = self.counts["visits"]
        return {
            "n_queries": self.n_queries,
            "k": self.k,
            **self.search,
            "counts": {name: float(own.mean()) for name, own in self._reported().items()},
            "features": _spread(self.counts["features" if "features" in self.counts else "nonzeros"]),
            "nodes": _spread(opened),
            "needed": _spread(self.needed),
            "needed_share": float(self.is_needed.sum() / max(opened.sum(), 1)),
            "by_depth": self.by_depth(),
            "microseconds": _spread(self.microseconds),
        }

    def _reported(self) -> Counts:
        return {name: own for name, own in self.counts.items() if name != "visits"}  # reported as nodes


def measure_work(model: Any, points: Any, request: SearchRequest, rows: Int64s) -> SearchWork:
    """Search some points and return the counts and times.

    Parameters
    ----------
    model : fitted LabelTreeClassifier or TextLabelTreeClassifier
    points : points as ``model.check_queries`` returns them
    request : SearchRequest
        As ``model.complete_request`` returns it.
    rows : int64 (n,)
        The points to search.
    """
    count, skips_single_children = _FAMILIES.get(getattr(model, "KIND", ""), (None, False))
    if count is None:
        refuse("model", "a fitted " + " or ".join(_FAMILIES), model)
    searcher = model.searcher_
    k, queries = min(request.k, searcher.n_labels), points[rows]
    whole = replace(request, k=request.n_found(searcher.n_labels), n_searched=None)
    counts, visits = count(searcher, queries, whole)
    labels = searcher.topk(queries, whole, n_jobs=1).labels[:, :k]
    needed, is_needed = mark_needed(model.trees_, labels, visits, skip_single_children=skips_single_children)
    needed[np.diff(visits.ends) == 0] = 0  # a query without features is not searched
    calls = [(text,) for text in queries.items] if hasattr(queries, "items") else _queries(queries)
    predictor = searcher.predictor(request)
    times = [_time_calls(predictor, calls, time.perf_counter_ns) for _ in range(_ROUNDS)]
    return SearchWork(
        rows, k, _reported_options(request), labels, counts, visits, needed, is_needed, np.min(times, axis=0)
    )


def ancestors_of(tree: LabelTree, labels: Any) -> Int64s:
    """Return the ancestors of each query's labels as ``query * n_nodes + node``, ascending and distinct.

    Parameters
    ----------
    tree : LabelTree
    labels : array of int (n, k)
        Padded with -1. Labels that are not in the tree have no ancestors.

    Examples
    --------
    >>> tree = LabelTree([0, 2, 4], [~0, 1, ~1, ~2], n_labels=3)
    >>> ancestors_of(tree, np.array([[0, -1], [0, 2]])).tolist()
    [0, 2, 3]
    """
    labels = np.asarray(labels, np.int64)
    query = np.repeat(np.arange(len(labels)), labels.shape[1])
    node = np.where(labels >= 0, tree.label_parent[labels], -1).reshape(-1).astype(np.int64)
    found = [np.zeros(0, np.int64)]
    while True:
        query, node = query[node >= 0], node[node >= 0]
        if len(node) == 0:
            return np.unique(np.concatenate(found))
        found.append(np.unique(query * tree.n_nodes + node))
        query, node = np.divmod(found[-1], tree.n_nodes)
        node = tree.parent[node].astype(np.int64)


def mark_needed(
    trees: Sequence[LabelTree], labels: Any, visits: OpenedNodes, *, skip_single_children: bool = False
) -> tuple[Int64s, NDArray[np.bool_]]:
    """Return how many nodes (n,) every search for these labels opens, and which visits are to such nodes.

    `skip_single_children` leaves out nodes with a single child, which a search passes without evaluating a classifier.
    """
    number = np.zeros(len(labels), np.int64)
    marked = np.zeros(len(visits.nodes), bool)
    for place, tree in enumerate(trees):
        keys = ancestors_of(tree, labels)
        if skip_single_children:
            keys = keys[np.diff(tree.child_ptr)[keys % tree.n_nodes] > 1]
        number += np.bincount(keys // tree.n_nodes, minlength=len(labels))
        own = visits.trees == place
        marked[own] = np.isin(visits.queries[own] * tree.n_nodes + visits.nodes[own], keys)
    return number, marked


def _reported_options(request: SearchRequest) -> dict[str, Any]:
    if request.agreement is not None:
        return {"agreement": request.agreement}
    return {} if request.search is None else {"mode": request.search, "beam": request.beam}


def _spread(values: Any) -> dict[str, float]:
    return {
        "mean": float(values.mean()),
        "p50": float(np.percentile(values, 50)),
        "p99": float(np.percentile(values, 99)),
    }
