"""Evidence for points whose features are items, as in logs of baskets and histories: which items go together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
import scipy.sparse as sp

from labeltrees import _core
from labeltrees._matrices import Int64s
from labeltrees.labels.items import item_gram, item_weights, sparse_item_weights
from labeltrees.models.linear.classifiers import KnownPoints
from labeltrees.search.evidence import Items, OwnItems
from labeltrees.search.evidence_arrays import ShortRows, strongest_entries

# The MAX_DENSE most frequent items get weights in closed form, in 3 seconds and with 340 MB. Of the next MAX_SPARSE,
# those in at least MIN_BASKETS baskets get weights of the N_OTHERS items that are most often in the same baskets.
MAX_DENSE, MAX_SPARSE, MIN_BASKETS, N_OTHERS = 4096, 20_000, 5, 64
N_KEPT = 512  # largest weights kept per item
N_PROPOSED = 64  # labels that an item proposes
_NEVER = -1000.0  # weight of an item for itself, if no training point repeats an item
_MAX_PAIRS = 50_000_000  # of items in the same basket: larger baskets are left out, to bound the memory


_shared: ContextVar[dict[Any, Any] | None] = ContextVar("shared item weights", default=None)


@contextmanager
def sharing_items(made: dict[Any, Any]) -> Iterator[None]:
    """Take item weights of the same points from `made`, and add new ones to it, in all fits within this context.

    They do not depend on other parameters of a model, and on small logs they take longer than everything else.
    """
    token = _shared.set(made)
    try:
        yield
    finally:
        _shared.reset(token)


def make_own(known: KnownPoints) -> OwnItems:
    """Return evidence that measures a label by the value of the same item among the features."""
    items = _items_of(known)
    features = np.flatnonzero(items >= 0)
    rows = sp.csr_array((np.ones(len(features)), (items[features], features)), shape=(known.Y.shape[1], len(items)))
    return OwnItems(strongest_entries(rows.indptr, rows.indices, rows.data, N_KEPT))


def make_items(known: KnownPoints, ridge: float) -> Items:
    """Return the weights of other items for each label: EASE on the frequent items, sparse weights for rarer ones.

    The basket of a point is its features and its labels.
    """
    made = _shared.get()
    if made is None:
        return _weigh_items(known, ridge)
    arrays = (known.X.indptr, known.X.indices, known.Y.indptr, known.Y.indices, known.weights, known.items)
    hashes = [0 if own is None else _core.xxh64(np.ascontiguousarray(own).view(np.uint8)) for own in arrays]
    key = ("items", *hashes, ridge)
    if key not in made:
        made[key] = _weigh_items(known, ridge)
    found: Items = made[key]
    return found


def _weigh_items(known: KnownPoints, ridge: float) -> Items:
    items = _items_of(known)
    n_labels, n_features = known.Y.shape[1], len(items)
    baskets, label_of, feature_of = make_baskets(known.X, known.Y, items)
    repeats = baskets.nnz != known.X.nnz + known.Y.nnz  # some point has an item as both feature and label
    weights = np.ones(baskets.shape[0]) if known.weights is None else known.weights
    baskets, weights = merge_equal(baskets, weights)
    weights = by_size(baskets, weights)
    counts = baskets.T @ (weights > 0).astype(np.float64)
    order = np.argsort(-counts, kind="stable")
    dense = np.sort(order[:MAX_DENSE])
    whole = item_weights(item_gram(baskets[:, dense].tocsr(), weights), ridge)
    rows, columns, values = [], [], []
    can_weigh = np.flatnonzero(feature_of[dense] >= 0)
    for place in np.flatnonzero(label_of[dense] >= 0).tolist():
        own = whole[can_weigh, place]
        best = largest(np.abs(own), N_KEPT)
        rows.append(np.full(len(best), label_of[dense[place]]))
        columns.append(feature_of[dense[can_weigh[best]]])
        values.append(own[best])
    del whole
    others = order[MAX_DENSE : MAX_DENSE + MAX_SPARSE]
    others = others[(label_of[others] >= 0) & (counts[others] >= MIN_BASKETS)]
    if len(others):
        gram = _gram(baskets, weights, feature_of)
        for item in others.tolist():
            found, own = sparse_item_weights(gram, item, ridge, N_OTHERS)
            rows.append(np.full(len(found), label_of[item]))
            columns.append(feature_of[found])
            values.append(own)
    proposals = _proposals(rows, columns, values, (n_labels, n_features))
    is_item = np.flatnonzero(items >= 0)
    if not repeats:  # so no label repeats an item of the query
        rows.append(items[is_item])
        columns.append(is_item)
        values.append(np.full(len(is_item), _NEVER))
    entries: Any = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    made = sp.csr_array(entries, shape=(n_labels, n_features))
    made.sort_indices()
    return Items(strongest_entries(made.indptr, made.indices, made.data, N_KEPT + 1), proposals)


def largest(values: Any, n: int) -> Any:
    """Return the places of the n largest values above 0, ascending; of equal values the first ones.

    Examples
    --------
    >>> largest(np.array([0.5, 2.0, 0.5, 0.0, 0.5]), 3).tolist()
    [0, 1, 2]
    """
    if len(values) <= n:
        return np.flatnonzero(values)
    limit = np.partition(values, -n)[-n]
    is_kept = values > limit
    if limit > 0:
        is_kept[np.flatnonzero(values == limit)[: n - int(is_kept.sum())]] = True
    return np.flatnonzero(is_kept)


def _proposals(rows: list[Any], columns: list[Any], values: list[Any], shape: tuple[int, int]) -> ShortRows:
    """Return the labels for which each feature has its largest weights."""
    entries: Any = (np.concatenate(values), (np.concatenate(columns), np.concatenate(rows)))
    found = sp.csr_array(entries, shape=shape[::-1])
    found.data[found.data < 0] = 0
    found.eliminate_zeros()
    found.sort_indices()
    return strongest_entries(found.indptr, found.indices, found.data, N_PROPOSED)


def merge_equal(baskets: Any, weights: Any) -> tuple[Any, Any]:
    """Return each distinct basket of (N, m) once, with its total weight: the points of a group are often one basket.

    Examples
    --------
    >>> merged, weights = merge_equal(sp.csr_array([[1.0, 1, 0], [0, 1, 0], [1, 1, 0]]), np.array([0.5, 1.0, 0.5]))
    >>> merged.toarray().tolist(), weights.tolist()
    ([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0]], [1.0, 1.0])
    """
    # Among a million different baskets, the probability that any two have the same hash is below 1e-7.
    numbers = np.random.default_rng(0).integers(2**64 - 1, size=baskets.shape[1], dtype=np.uint64)
    hashes = baskets.astype(np.uint64) @ numbers
    _, first, place = np.unique(hashes, return_index=True, return_inverse=True)
    total = np.bincount(place, weights)
    order = np.argsort(first)
    return sp.csr_array(baskets[first[order]]), total[order]


def by_size(baskets: Any, weights: Any) -> Any:
    """Return the weights divided by the square root of each basket's size, with the same total.

    A basket says as many things as it has items, so large baskets would decide the weights of items.
    """
    scaled = weights / np.sqrt(np.maximum(np.diff(baskets.indptr), 1))
    return scaled * (weights.sum() / max(scaled.sum(), 1e-300))


def make_baskets(X: Any, Y: Any, items: Int64s) -> tuple[Any, Int64s, Int64s]:
    """Return the items of each point (N, m) as 0 and 1, and the label and the feature of each item, -1 for none."""
    n_features, n_labels = X.shape[1], Y.shape[1]
    only_labels = np.setdiff1d(np.arange(n_labels), items)
    label_of = np.concatenate([items, only_labels])
    feature_of = np.concatenate([np.arange(n_features), np.full(len(only_labels), -1)])
    column = np.zeros(n_labels, np.int64)
    column[label_of[label_of >= 0]] = np.flatnonzero(label_of >= 0)
    own, wanted = sp.coo_array(X), sp.coo_array(Y)
    places = np.append(own.row, wanted.row), np.append(own.col, column[wanted.col])
    whole = sp.csr_array((np.ones(own.nnz + wanted.nnz), places), shape=(X.shape[0], len(label_of)))
    whole.sum_duplicates()
    whole.data[:] = 1
    return whole, label_of, feature_of


def show_more(X: Any, Y: Any, items: Int64s, seed: int) -> tuple[Any, Any]:
    """Return points of baskets, of which every third and fourth shows all items but one; other points as they are.

    Training points hide several items, and a question hides none: the more items it has, the more they say about the
    others. Points of histories, which repeat items, stay as they are.

    Examples
    --------
    >>> X, Y = np.zeros((4, 3), np.float32), np.ones((4, 3), np.float32)
    >>> X, Y = show_more(sp.csr_array(X), sp.csr_array(Y), np.arange(3), seed=0)
    >>> X.sum(axis=1).tolist(), Y.sum(axis=1).tolist()
    ([0.0, 0.0, 2.0, 2.0], [3.0, 3.0, 1.0, 1.0])
    """
    own, hidden, d = sp.coo_array(X), sp.coo_array(Y), X.shape[1]
    feature_of = np.full(Y.shape[1], -1)
    feature_of[items[items >= 0]] = np.flatnonzero(items >= 0)
    column = feature_of[hidden.col]
    is_item = column >= 0
    entries, wanted = own.row.astype(np.int64) * d + own.col, hidden.row.astype(np.int64) * d + column
    if np.isin(wanted[is_item], entries).any():
        return X, Y
    order = np.lexsort((np.random.default_rng(seed).random(hidden.nnz), hidden.row))
    is_last = np.diff(hidden.row[order], append=-1) != 0  # of its point: this label stays hidden
    moves = is_item & (hidden.row // 2 % 2 == 1)
    moves[order[is_last]] = False
    values = np.full(int(moves.sum()), own.data.mean() if own.nnz else 1.0)
    places = np.append(own.row, hidden.row[moves]), np.append(own.col, column[moves])
    shown = sp.csr_array((np.append(own.data, values).astype(X.dtype), places), shape=X.shape)
    places = hidden.row[~moves], hidden.col[~moves]
    return shown, sp.csr_array((hidden.data[~moves], places), shape=Y.shape)


def _gram(baskets: Any, weights: Any, feature_of: Int64s) -> Any:
    """Return the total weight of the baskets that each item shares with each item that is a feature."""
    sizes = np.diff(baskets.indptr).astype(np.int64)
    order = np.argsort(sizes, kind="stable")
    is_small = np.zeros(len(sizes), dtype=bool)
    is_small[order[np.cumsum(sizes[order] ** 2) <= _MAX_PAIRS]] = True
    some = baskets[is_small]
    gram = sp.csr_array(some.T @ sp.diags_array(weights[is_small]) @ some @ sp.diags_array((feature_of >= 0) * 1.0))
    gram.eliminate_zeros()
    gram.sort_indices()
    return gram


def _items_of(known: KnownPoints) -> Int64s:
    assert known.items is not None
    return known.items
