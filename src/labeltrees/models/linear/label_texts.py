"""The uses of `label_texts` in training: extra points, labels without points, and label embeddings."""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from labeltrees._matrices import Float64s
from labeltrees.data.encoders import Encoder, ItemEncoder, TextEncoder
from labeltrees.data.label_sets import LabelSets
from labeltrees.data.label_texts import LabelTexts, read_label_texts
from labeltrees.data.tfidf import TfidfVectorizer
from labeltrees.data.tfidf_learning import with_words_of
from labeltrees.labels.embedding import pifa
from labeltrees.models.linear.features import unit_rows
from labeltrees.search.evidence_arrays import strongest_entries

_logger = logging.getLogger("labeltrees")


class TextPoints(NamedTuple):
    """The texts of labels as rows (n_texts, d), and the label of each row."""

    rows: Any
    labels: Any


def with_label_texts(labels: LabelSets, given: Any, *, adds_labels: bool) -> tuple[LabelSets, LabelTexts | None]:
    """Return the labels and their texts.

    Labels that occur only in `given` are appended if `adds_labels`; otherwise they are left out.
    """
    if given is None:
        return labels, None
    n_labels = labels.Y.shape[1]
    names = None if labels.names is None else labels.names.tolist()
    texts, new = read_label_texts(given, names, n_labels)
    if not new:
        return labels, texts
    if not adds_labels:
        _logger.warning("label_texts: left out %s without training points, such as %r", _labels(len(new)), new[0])
        kept = np.arange(len(texts)) < n_labels
        return labels, texts.keep_labels(kept, kept)
    Y = labels.Y
    wider = sp.csr_array((Y.data, Y.indices, Y.indptr), shape=(Y.shape[0], n_labels + len(new)))
    return labels._replace(Y=wider, names=np.array([*(names or ()), *new], dtype=object)), texts


def add_words(encoder: TextEncoder, X: Any, Y: Any, contexts: Any, texts: LabelTexts) -> tuple[TextEncoder, Any]:
    """Return the encoder and X (n, d) with columns for words that only texts of labels without points have.

    `contexts` are the texts of the points; if they are unknown (None), nothing changes. The columns are the last ones.
    They are empty in X: a word that too few points have for a feature does not change these points.
    """
    labels = np.flatnonzero(np.bincount(Y.indices, minlength=Y.shape[1]) == 0)
    if contexts is None or len(labels) == 0 or isinstance(X, np.ndarray):
        return encoder, X
    named = [text for label in labels.tolist() for text in texts.of(label)]
    grown = with_words_of(encoder.vectorizer, named, contexts)
    if grown is encoder.vectorizer:
        return encoder, X
    wider = TextEncoder(grown)
    return wider, sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], wider.n_features))


def labels_to_read(Y: Any, which: str, embedding: float) -> Any:
    """Return the labels whose texts are used, ascending; `which` is that of `add_points`, `embedding` a weight."""
    if embedding > 0 or which == "all":
        return np.arange(Y.shape[1])
    if which in ("none", "auto"):
        return np.zeros(0, np.int64)
    return np.flatnonzero(np.bincount(Y.indices, minlength=Y.shape[1]) == 0)


def text_points(texts: LabelTexts | None, encoder: Encoder | None, labels: Any, normalize: bool) -> TextPoints | None:
    """Return the texts of labels as points; None if there are none or the model does not read texts."""
    if texts is None or len(labels) == 0 or not isinstance(encoder, TextEncoder):
        return None
    lists = [texts.of(label) for label in labels.tolist()]
    rows = encoder.transform([text for of_label in lists for text in of_label])
    known = np.flatnonzero(np.diff(rows.indptr) > 0)  # texts with at least one known word
    if len(known) == 0:
        return None
    rows = sp.csr_array(rows[known])
    owners = np.repeat(labels, [len(of_label) for of_label in lists])[known]
    return TextPoints(unit_rows(rows) if normalize else rows, owners)


def warn_about_unknown_words(texts: LabelTexts | None, labels: LabelSets, points: TextPoints | None, read: Any) -> None:
    """Log how many labels without training points have texts without a known word: they cannot be found.

    `read` has the labels whose texts were read, and `points` the texts of these that have a known word.
    """
    if texts is None:
        return
    counts = np.bincount(labels.Y.indices, minlength=labels.Y.shape[1])
    known = set() if points is None else set(points.labels.tolist())
    lost = [label for label in read[counts[read] == 0].tolist() if texts.of(label) and label not in known]
    if lost:
        _logger.warning(
            "label_texts: %s without training points, such as %r, cannot be found: none of their words is a feature",
            _labels(len(lost)),
            lost[0] if labels.names is None else labels.names[lost[0]],
        )


def _labels(count: int) -> str:
    return f"{count:,} label" + ("" if count == 1 else "s")


def add_points(
    X: Any, Y: Any, weights: Float64s | None, points: TextPoints | None, which: str, weight: float
) -> tuple[Any, Any, Float64s | None]:
    """Return X, Y and the point weights with the texts of labels as extra points.

    Parameters
    ----------
    which : {"none", "auto", "missing", "all"}
        Which labels get extra points: none (also "auto"), those without a point in Y, or all.
    weight : float
        Weight of an extra point, relative to the mean weight of a point.
    """
    if points is None or which in ("none", "auto"):
        return X, Y, weights
    chosen = np.arange(len(points.labels))
    if which == "missing":
        counts = np.bincount(Y.indices, minlength=Y.shape[1])
        chosen = np.flatnonzero(counts[points.labels] == 0)
    if len(chosen) == 0:
        return X, Y, weights
    rows, n = points.rows[chosen], len(chosen)
    stacked = _stack(X, rows) if sp.issparse(X) else np.vstack([X, rows.toarray()])
    if weights is not None or weight != 1:
        own = np.ones(X.shape[0]) if weights is None else weights
        weights = np.concatenate([own, np.full(n, weight * own.mean())])
    return stacked, _stack(Y, _indicator(points.labels[chosen], Y.shape[1])), weights


def text_embeddings(X: Any, Y: Any, points: TextPoints | None, weight: float, n_jobs: int | None) -> Any:
    """Return label embeddings: PIFA plus `weight` times the label's own texts; None without texts or weight 0."""
    if points is None or weight == 0:
        return None
    of_texts = pifa(points.rows, _indicator(points.labels, Y.shape[1]), n_jobs=n_jobs)
    return sp.csr_array(pifa(X, Y, n_jobs=n_jobs)) + weight * sp.csr_array(of_texts)


# Items with few events share points of the items with the most similar texts.
_FEW, _ENOUGH = 1, 5  # total weight of the points: at most this to get points, at least this to share them
_N_SIMILAR, _N_SHARED, _MAX_COLD = 3, 20, 5_000
_SHARE = 0.05  # of the pairs of point and label that may be added: in a small log most items have few events


def add_item_features(X: Any, encoder: ItemEncoder, names: Any) -> tuple[Any, ItemEncoder]:
    """Return X and the encoder with a feature for each label that has none: a new item can be in a basket too."""
    known = set(encoder.feature_names.tolist()) | set(encoder.item_ids)
    added = [name for name in names.tolist() if name not in known]
    if not added:
        return X, encoder
    ids = [*encoder.item_ids, *added] if encoder.item_ids else None
    every = [*encoder.feature_names.tolist(), *added]
    wider = ItemEncoder(every, ids, weighting=encoder.weighting, norm=encoder.norm)
    return sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], len(every))), wider


def share_points(X: Any, Y: Any, weights: Float64s | None, texts: LabelTexts, items: Any) -> tuple[Any, Any]:
    """Return X and Y in which items with few events share points of the items with the most similar texts.

    The item becomes a further label of points that have a similar item as a label, and a further feature of points that
    have it as a feature; never both of one point.

    Parameters
    ----------
    X : csr_array (N, d)
    Y : csr_array (N, L)
    weights : array (N,), optional
        The points of one basket have a total weight of 1.
    texts : LabelTexts
    items : int array (d,)
        The label of each feature, or -1.
    """
    counts = Y.T @ (np.ones(Y.shape[0]) if weights is None else weights)
    cold, similar = _similar_items(counts, texts.lists())
    n_shared = min(_N_SHARED, int(_SHARE * Y.nnz) // max(len(cold), 1))
    if len(cold) == 0 or n_shared == 0:
        return X, Y
    feature_of = np.full(Y.shape[1], -1, np.int64)
    feature_of[items[items >= 0]] = np.flatnonzero(items >= 0)
    by_label, by_feature = sp.csc_array(Y), sp.csc_array(X)
    as_label = _shared(by_label, similar, cold, n_shared)
    both = (feature_of[cold] >= 0) & (feature_of[similar] >= 0)
    as_feature = _shared(by_feature, feature_of[similar[both]], feature_of[cold[both]], n_shared)
    is_item = np.flatnonzero(items >= 0)
    label_of = sp.csr_array((np.ones(len(is_item)), (is_item, items[is_item])), shape=(X.shape[1], Y.shape[1]))
    wider_Y = _added(Y, as_label, without=(X != 0).astype(np.float64) @ label_of)
    return _added(X, as_feature, without=sp.csr_array((wider_Y != 0).astype(np.float64)) @ label_of.T), wider_Y


def _similar_items(counts: Any, texts: list[list[str]]) -> tuple[Any, Any]:
    """Return pairs of an item with few events and one with enough events and a similar text, both (n,)."""
    has_text = np.array([bool(own) for own in texts])
    cold, warm = np.flatnonzero(has_text & (counts <= _FEW))[:_MAX_COLD], np.flatnonzero(has_text & (counts >= _ENOUGH))
    if len(cold) == 0 or len(warm) == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    words = TfidfVectorizer(min_df=1, dtype=np.float32)
    of_cold, of_warm = ([" ".join(texts[label]) for label in some.tolist()] for some in (cold, warm))
    rows = sp.csr_array(words.fit_transform(of_warm))
    similarity = sp.csr_array(sp.csr_array(words.transform(of_cold)) @ rows.T)
    best = strongest_entries(similarity.indptr, similarity.indices, similarity.data, _N_SIMILAR)
    return np.repeat(cold, np.diff(best.indptr)), warm[best.columns]


def _shared(by_column: Any, given: Any, taken: Any, n_shared: int) -> Any:
    """Return entries (rows, columns, values) of the columns `taken`: some of those of the columns `given`, evenly."""
    found = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, by_column.dtype))]
    for column, new in zip(given.tolist(), taken.tolist(), strict=True):
        start, n = by_column.indptr[column], by_column.indptr[column + 1] - by_column.indptr[column]
        places = start + np.unique(np.linspace(0, n - 1, min(n, n_shared)).astype(np.int64))
        found.append((by_column.indices[places], np.full(len(places), new), by_column.data[places]))
    return tuple(np.concatenate(parts) for parts in zip(*found, strict=True))


def _added(matrix: Any, entries: Any, without: Any) -> Any:
    """Return the matrix with further entries, except those where it or the matrix `without` has one."""
    rows, columns, values = entries
    free = np.asarray(matrix[rows, columns]).ravel() == 0
    free &= np.asarray(sp.csr_array(without)[rows, columns]).ravel() == 0
    first = np.unique(rows * np.int64(matrix.shape[1]) + columns, return_index=True)[1]
    kept = first[free[first]]
    more = sp.csr_array((values[kept], (rows[kept], columns[kept])), shape=matrix.shape)
    return sp.csr_array(matrix + more)


def _indicator(labels: Any, n_labels: int) -> Any:
    """Return the matrix (n, n_labels) of points with one label each."""
    arrays: Any = (np.ones(len(labels), np.float32), labels, np.arange(len(labels) + 1))
    return sp.csr_array(arrays, shape=(len(labels), n_labels))


def _stack(above: Any, below: Any) -> Any:
    both: Any = [above, below]
    stacked: Any = sp.csr_array(sp.vstack(both, format="csr"), dtype=np.float32)
    stacked.has_sorted_indices = stacked.has_canonical_format = True  # as in both inputs
    return stacked
