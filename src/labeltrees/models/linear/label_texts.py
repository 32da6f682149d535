"""The uses of `label_texts` in training: extra points, labels without points, and label embeddings."""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from labeltrees._matrices import Float64s
from labeltrees.data.encoders import Encoder, TextEncoder
from labeltrees.data.label_sets import LabelSets
from labeltrees.data.label_texts import LabelTexts, read_label_texts
from labeltrees.labels.embedding import pifa
from labeltrees.models.linear.features import unit_rows

_logger = logging.getLogger("labeltrees")


class TextPoints(NamedTuple):
    """The texts of labels as rows (n_texts, d), and the label of each row."""

    rows: Any
    labels: Any


def with_label_texts(labels: LabelSets, given: Any, *, adds_labels: bool) -> tuple[LabelSets, LabelTexts | None]:
    """Return the labels and their texts.

    Labels that only `label_texts` names come at the end if `adds_labels`; otherwise they are left out.
    """
    if given is None:
        return labels, None
    n_labels = labels.Y.shape[1]
    names = None if labels.names is None else labels.names.tolist()
    texts, new = read_label_texts(given, names, n_labels)
    if not new:
        return labels, texts
    if not adds_labels:
        _logger.warning("label_texts: left out %d labels without training points, such as %r", len(new), new[0])
        kept = np.arange(len(texts)) < n_labels
        return labels, texts.keep_labels(kept, kept)
    Y = labels.Y
    wider = sp.csr_array((Y.data, Y.indices, Y.indptr), shape=(Y.shape[0], n_labels + len(new)))
    return labels._replace(Y=wider, names=np.array([*(names or ()), *new], dtype=object)), texts


def labels_to_read(Y: Any, which: str, embedding: float) -> Any:
    """Return the labels whose texts are used, ascending; the arguments are those of `add_points` and the model."""
    if embedding > 0 or which == "all":
        return np.arange(Y.shape[1])
    if which == "none":
        return np.zeros(0, np.int64)
    return np.flatnonzero(np.bincount(Y.indices, minlength=Y.shape[1]) == 0)


def text_points(texts: LabelTexts | None, encoder: Encoder | None, labels: Any, normalize: bool) -> TextPoints | None:
    """Return the texts of labels as points; None if there are none or the model does not read texts."""
    if texts is None or len(labels) == 0 or not isinstance(encoder, TextEncoder):
        return None
    lists = [texts.of(label) for label in labels.tolist()]
    rows = encoder.transform([text for of_label in lists for text in of_label])
    known = np.flatnonzero(np.diff(rows.indptr) > 0)  # texts without a known word say nothing
    if len(known) == 0:
        return None
    rows = sp.csr_array(rows[known])
    owners = np.repeat(labels, [len(of_label) for of_label in lists])[known]
    return TextPoints(unit_rows(rows) if normalize else rows, owners)


def add_points(
    X: Any, Y: Any, weights: Float64s | None, points: TextPoints | None, which: str, weight: float
) -> tuple[Any, Any, Float64s | None]:
    """Return X, Y and the point weights with the texts of labels as extra points.

    Parameters
    ----------
    which : {"none", "missing", "all"}
        Which labels get extra points: none, those without a point in Y, or all.
    weight : float
        Weight of an extra point.
    """
    if points is None or which == "none":
        return X, Y, weights
    chosen = np.arange(len(points.labels))
    if which == "missing":
        counts = np.bincount(Y.indices, minlength=Y.shape[1])
        chosen = np.flatnonzero(counts[points.labels] == 0)
    if len(chosen) == 0:
        return X, Y, weights
    n = len(chosen)
    rows, added = points.rows[chosen], _indicator(points.labels[chosen], Y.shape[1])
    stacked_X = _stack(X, rows) if sp.issparse(X) else np.vstack([X, rows.toarray()])
    if weights is not None or weight != 1:
        own = np.ones(X.shape[0]) if weights is None else weights
        weights = np.concatenate([own, np.full(n, weight * own.mean())])
    return stacked_X, _stack(Y, added), weights


def text_embeddings(X: Any, Y: Any, points: TextPoints | None, weight: float, n_jobs: int | None) -> Any:
    """Return label embeddings: PIFA plus `weight` times the label's own texts; None without texts or weight."""
    if points is None or weight == 0:
        return None
    of_texts = pifa(points.rows, _indicator(points.labels, Y.shape[1]), n_jobs=n_jobs)
    return sp.csr_array(pifa(X, Y, n_jobs=n_jobs)) + weight * sp.csr_array(of_texts)


def _indicator(labels: Any, n_labels: int) -> Any:
    """Return the matrix (n, n_labels) of points with one label each."""
    arrays: Any = (np.ones(len(labels), np.float32), labels, np.arange(len(labels) + 1))
    return sp.csr_array(arrays, shape=(len(labels), n_labels))


def _stack(above: Any, below: Any) -> Any:
    both: Any = [above, below]
    stacked: Any = sp.csr_array(sp.vstack(both, format="csr"), dtype=np.float32)
    stacked.has_sorted_indices = stacked.has_canonical_format = True  # so are both
    return stacked
