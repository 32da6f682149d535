"""Baselines for points whose features are items: EASE, and each point's own most frequent items."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from labeltrees._holding_out import draw_held_out
from labeltrees._matrices import Float32s, Float64s, Int64s
from labeltrees._memory import free_bytes
from labeltrees._validation import check_integer, check_number
from labeltrees.baselines.baseline import Baseline, BaselinePoints, top_entries, training_points
from labeltrees.errors import InputError, Parameter
from labeltrees.labels.items import item_gram, item_weights

_logger = logging.getLogger("labeltrees")
MAX_ITEMS = 20_000  # default of `ease`: some minutes on one core, and 8 GB
MAX_COMPARED = 4096  # in a table of baselines: seconds, and 340 MB
_BYTES_PER_PAIR = 8 + 8 + 4  # of items: the Gram matrix and its copy in LAPACK, and the weights
_RIDGES = (10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)
_DEFAULT_RIDGE = 100.0  # if there are too few points to learn it
# For learning the ridge: the number of items, the share and the limits of held-out points, and the length of lists.
_LEARNING_ITEMS, _HELD_OUT, _MAX_HELD_OUT, _MIN_HELD_OUT, _LENGTH = 2000, 0.1, 5000, 50, 5
_MAX_SCORES = 8_000_000  # per block of queries, which limits memory


class Baskets(NamedTuple):
    """Points as baskets: `items` (N, m) has a 1 for each item of a point, with the most frequent items first.

    `features` and `labels` are the columns of the items in X and Y, -1 for none.
    """

    items: Any
    weights: Float64s
    features: Int64s
    labels: Int64s


def make_baskets(points: BaselinePoints, max_items: int) -> Baskets:
    """Return the features and labels of each point as one basket, with the `max_items` most frequent items."""
    (n_points, n_features), n_labels, items = points.X.shape, points.Y.shape[1], _need_items(points, "ease")
    only_labels = np.setdiff1d(np.arange(n_labels), items)
    label_of = np.concatenate([items, only_labels])
    feature_of = np.concatenate([np.arange(n_features), np.full(len(only_labels), -1)])
    column = np.zeros(n_labels, np.int64)
    column[label_of[label_of >= 0]] = np.flatnonzero(label_of >= 0)
    X, Y = points.X.tocoo(), points.Y.tocoo()
    entries: Any = (np.ones(X.nnz + Y.nnz), (np.append(X.row, Y.row), np.append(X.col, column[Y.col])))
    whole = sparse.csr_array(entries, shape=(n_points, len(label_of)))
    whole.sum_duplicates()
    whole.data[:] = 1
    order = np.argsort(-(whole.T @ points.weights), kind="stable")[:max_items]
    return Baskets(whole[:, order].tocsr(), points.weights, feature_of[order], label_of[order])


class Ease(Baseline):
    """Scores an item by a linear model of the other items in the basket (Steck, WWW 2019).

    The weights W minimise the squared error of B - B W plus ``ridge_`` times the squares of W, where B are the baskets
    and the diagonal of W is 0. With P the inverse of B'B + ridge I, this is W_ij = -P_ij / P_jj.

    Attributes
    ----------
    weights_ : array of float32, a row and a column for each of `n_items_` items
    ridge_ : float
    n_items_ : int
        The number of items used, the most frequent ones.
    nbytes_ : int
        The memory that learning needed for matrices of items by items, in bytes.
    """

    name = "EASE"

    def __init__(self, points: BaselinePoints, ridge: float | None, max_items: int) -> None:
        super().__init__(points)
        items = _need_items(points, "ease")
        n_all = points.X.shape[1] + len(np.setdiff1d(np.arange(points.Y.shape[1]), items))
        self.n_items_ = min(max_items, n_all)
        self.nbytes_ = self.n_items_**2 * _BYTES_PER_PAIR
        _check_memory(self.n_items_, self.nbytes_, n_all)
        self.note = f"learned from {self.n_items_:,} items, with {self.nbytes_ / 2**20:,.0f} MiB"
        if self.n_items_ < n_all:
            self.note = f"only the {self.n_items_:,} most frequent of {n_all:,} items, {self.nbytes_ / 2**20:,.0f} MiB"
        _logger.info("EASE: %s", self.note)
        baskets = make_baskets(points, self.n_items_)
        self._features, self._labels, self._repeats = baskets.features, baskets.labels, points.repeats
        self.ridge_ = _learn_ridge(points, baskets) if ridge is None else ridge
        self.note += f", ridge {self.ridge_:g}"
        self.weights_ = item_weights(item_gram(baskets.items, baskets.weights), self.ridge_)

    def _blocks(self, queries: Any, k: int) -> Iterator[tuple[Int64s, Float32s]]:
        return _best_items(queries, self.weights_, self._features, self._labels, self._repeats, k)


def ease(train: Any, *, ridge: float | None = None, max_items: int = MAX_ITEMS) -> Ease:
    """Return the baseline EASE, a ridge regression of each item on the other items of a basket: simple but strong.

    Parameters
    ----------
    train : Dataset, or pair (X, Y)
        The features must be items: those of an `ItemEncoder`, as `prepare_logs` makes them for baskets and histories,
        or in a pair, the same columns as in Y. The basket of a point consists of its features and its labels.
    ridge : float, optional
        Strength of the regularisation. By default the best of 10, 30, ..., 3000 on a tenth of the points, held out by
        group; 100 if there are too few points.
    max_items : int
        Only this many items are used, the most frequent ones. Memory is 20 bytes times its square; time grows with its
        cube.

    Notes
    -----
    If no training point has one of its own items as a label, as in baskets, a point's own items are not returned.

    Examples
    --------
    >>> import labeltrees as lt
    >>> X, Y = [[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1]], [[0, 1, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0]]
    >>> baseline = lt.baselines.ease((X, Y), ridge=1)
    >>> baseline.predict_topk([[1, 0, 0]], k=1)[0].tolist()
    [[1]]
    """
    if ridge is not None:
        ridge = check_number("ridge", ridge, 0, low_open=True)
    max_items = check_integer("max_items", max_items, 1)
    return Ease(training_points(train, same_columns=True), ridge, max_items)


def _best_items(
    queries: Any, weights: Float32s, features: Int64s, labels: Int64s, repeats: bool, k: int
) -> Iterator[tuple[Int64s, Float32s]]:
    """Yield the labels with the largest scores of consecutive queries (csr_array), padded with -1, and the scores."""
    known = np.flatnonzero(features >= 0)
    is_label = np.flatnonzero(labels >= 0)
    n_rows = max(1, _MAX_SCORES // max(len(labels), 1))
    for start in range(0, queries.shape[0], n_rows):
        own = sparse.csr_array((queries[start : start + n_rows] != 0)[:, features[known]], dtype=np.float32)
        scores = own @ weights[known]
        if not repeats:
            seen = own.tocoo()
            scores[seen.row, known[seen.col]] = 0
        found = np.full((len(scores), k), -1, dtype=np.int64)
        best = np.zeros((len(scores), k), dtype=np.float32)
        for row, values in enumerate(scores[:, is_label]):
            places = top_entries(values, labels[is_label], k)
            places = places[values[places] > 0]
            found[row, : len(places)] = labels[is_label[places]]
            best[row, : len(places)] = np.minimum(values[places], 1)
        yield found, best


def _learn_ridge(points: BaselinePoints, baskets: Baskets) -> float:
    """Return the ridge that finds the most labels of held-out points, using only the most frequent items."""
    n_points = points.X.shape[0]
    n_wanted = min(int(n_points * _HELD_OUT), _MAX_HELD_OUT)
    order, n_held_out = draw_held_out(n_points, n_wanted, np.random.default_rng(0), points.groups)
    if n_held_out < _MIN_HELD_OUT:
        return _DEFAULT_RIDGE
    held_out, others = np.sort(order[:n_held_out]), np.sort(order[n_held_out:])
    items = baskets.items[:, :_LEARNING_ITEMS].tocsr()[others]
    features, labels = baskets.features[:_LEARNING_ITEMS], baskets.labels[:_LEARNING_ITEMS]
    Y, gram = points.Y[held_out], item_gram(items, baskets.weights[others])
    n_found = []
    for ridge in _RIDGES:
        weights = item_weights(gram, ridge)
        best = _best_items(points.X[held_out], weights, features, labels, points.repeats, _LENGTH)
        lists = np.concatenate([found for found, _ in best])
        rows, places = np.nonzero(lists >= 0)
        n_found.append(float(sparse.csr_array(Y)[rows, lists[rows, places]].sum()))
    return _RIDGES[int(np.argmax(n_found))]


def _check_memory(n_items: int, n_bytes: int, n_all: int) -> None:
    free = free_bytes()
    if n_bytes > free:
        message = "EASE with {} of {} items needs {} GiB, and {} GiB are free: give {} of at most {}"
        most = int((free / _BYTES_PER_PAIR) ** 0.5)
        sizes = (f"{n_items:,}", f"{n_all:,}", f"{n_bytes / 2**30:.1f}", f"{free / 2**30:.1f}")
        raise InputError(message, *sizes, Parameter("max_items"), most)


def _need_items(points: BaselinePoints, name: str) -> Int64s:
    if points.items is None:
        message = (
            "{} needs features that are items: a Dataset with an ItemEncoder, as prepare_logs makes it with {} or {}"
        )
        raise InputError(message, name, Parameter("features", "basket"), Parameter("features", "history"))
    return points.items


class OwnMostFrequent(Baseline):
    """Returns the items that the point has most of, then the most frequent labels.

    The score of an own item is 0.5 + 0.5 v / m, where v is its value and m the point's largest value. The score of
    another label is half its share of the training points. Own items with equal values are ordered by this share.
    """

    name = "own most frequent"

    def __init__(self, points: BaselinePoints) -> None:
        super().__init__(points)
        self._items = _need_items(points, "own_most_frequent")
        self.shares_ = np.asarray(points.Y.T @ points.weights) / points.weights.sum()

    def _blocks(self, queries: Any, k: int) -> Iterator[tuple[Int64s, Float32s]]:
        others = top_entries(self.shares_, np.arange(self.n_labels_), 2 * k)
        labels = np.full((queries.shape[0], k), -1, dtype=np.int64)
        scores = np.zeros((queries.shape[0], k), dtype=np.float32)
        for row, (start, end) in enumerate(pairwise(queries.indptr.tolist())):
            own, values = self._items[queries.indices[start:end]], np.abs(queries.data[start:end])
            own, values = own[own >= 0], values[own >= 0]
            places = np.lexsort((own, -self.shares_[own], -values))[:k]
            own, values = own[places], values[places]
            rest = others[~np.isin(others, own)][: k - len(own)]
            rest = rest[self.shares_[rest] > 0]
            n = len(own) + len(rest)
            labels[row, :n] = np.append(own, rest)
            top = values[0] if len(values) else 1.0
            scores[row, :n] = np.append(0.5 + 0.5 * values / top, 0.5 * self.shares_[rest])
        yield labels, scores


def own_most_frequent(train: Any) -> OwnMostFrequent:
    """Return a baseline that predicts the items a point has most of, such as a customer's most frequent purchases.

    Parameters
    ----------
    train : Dataset, or pair (X, Y)
        As in `ease`, with histories as features: items of a basket are not bought again.

    Examples
    --------
    >>> import labeltrees as lt
    >>> history, bought = [[2, 1, 0], [0, 3, 0]], [[1, 0, 0], [0, 1, 1]]
    >>> lt.baselines.own_most_frequent((history, bought)).predict_topk([[1, 0, 5]], k=2)[0].tolist()
    [[2, 0]]
    """
    return OwnMostFrequent(training_points(train, same_columns=True))
