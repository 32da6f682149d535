"""The uses of `label_texts` in training: extra points, labels without points, and label embeddings."""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from labeltrees._matrices import Float64s
from labeltrees.data.encoders import Encoder, TextEncoder
from labeltrees.data.label_texts import LabelTexts, read_label_texts
from labeltrees.labels.embedding import pifa
from labeltrees.models.common.label_sets import LabelSets
from labeltrees.models.linear.points import unit_rows

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
        return labels, LabelTexts.of_lists(texts.lists()[:n_labels])
    Y = labels.Y
    wider = sp.csr_array((Y.data, Y.indices, Y.indptr), shape=(Y.shape[0], n_labels + len(new)))
    return labels._replace(Y=wider, names=np.array([*(names or ()), *new], dtype=object)), texts


def text_points(texts: LabelTexts | None, encoder: Encoder | None, normalize: bool) -> TextPoints | None:
    """Return the texts of labels as points; None if there are none or the model does not read texts."""
    if texts is None or texts.n_texts == 0 or not isinstance(encoder, TextEncoder):
        return None
    lists = texts.lists()
    rows = encoder.transform([text for of_label in lists for text in of_label])
    known = np.flatnonzero(np.diff(rows.indptr) > 0)  # texts without a known word say nothing
    if len(known) == 0:
        return None
    labels = np.repeat(np.arange(len(lists)), [len(of_label) for of_label in lists])
    rows = sp.csr_array(rows[known])
    return TextPoints(unit_rows(rows) if normalize else rows, labels[known])


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
    ones = np.ones(n, np.float32)
    added = sp.csr_array((ones, points.labels[chosen].astype(Y.indices.dtype), np.arange(n + 1)), (n, Y.shape[1]))
    rows = points.rows[chosen]
    stacked_X = sp.vstack([X, rows], format="csr") if sp.issparse(X) else np.vstack([X, rows.toarray()])
    stacked_Y = sp.vstack([Y, added], format="csr")
    if weights is not None or weight != 1:
        own = np.ones(X.shape[0]) if weights is None else weights
        weights = np.concatenate([own, np.full(n, weight * own.mean())])
    return _canonical(stacked_X), _canonical(stacked_Y), weights


def text_embeddings(X: Any, Y: Any, points: TextPoints | None, weight: float, n_jobs: int | None) -> Any:
    """Return label embeddings: PIFA plus `weight` times the label's own texts; None without texts or weight."""
    if points is None or weight == 0:
        return None
    indptr = np.arange(len(points.labels) + 1)
    ones = np.ones(len(points.labels), np.float32)
    owners = sp.csr_array((ones, points.labels, indptr), shape=(len(points.labels), Y.shape[1]))
    of_texts = pifa(points.rows, owners, n_jobs=n_jobs)
    return sp.csr_array(pifa(X, Y, n_jobs=n_jobs)) + weight * sp.csr_array(of_texts)


def _canonical(matrix: Any) -> Any:
    if sp.issparse(matrix):
        matrix = sp.csr_array(matrix, dtype=np.float32)
        matrix.has_sorted_indices = matrix.has_canonical_format = True  # so were both parts
    return matrix
