"""What all baselines share: checks of the arguments, and answers in the form of the models' answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from labeltrees._matrices import Float32s, Int64s, is_sparse, sparse_features
from labeltrees._validation import check_integer, refuse
from labeltrees.baselines.training_points import TrainingPoints, is_texts
from labeltrees.models.common.label_names import LabelNames
from labeltrees.search.result import list_length


class Baseline:
    """A recommender with ``predict_topk(X, k)``.

    Attributes
    ----------
    name : str
        "popularity", "recent popularity", "co-occurrence" or "neighbours".
    n_features_in_, n_labels_ : int
    label_names_ : array of str (L,) or None
    """

    name = ""

    def __init__(self, points: TrainingPoints) -> None:
        self.n_features_in_ = int(points.X.shape[1])
        self.n_labels_ = int(points.Y.shape[1])
        self.label_names_ = points.label_names
        self.vectorizer_ = points.vectorizer

    def predict_topk(self, X: Any, k: int = 5) -> tuple[Any, Float32s]:
        """Return the k best labels of each point, and their scores.

        Parameters
        ----------
        X : sparse or dense matrix (n, d), or n texts if the baseline was made from texts
        k : int

        Returns
        -------
        labels : array (n, k)
            Best first: label ids padded with -1, or names padded with None if the labels have names. Of labels with
            equal scores, the one with the smaller id comes first.
        scores : array of float32 (n, k)
            In [0, 1], padded with 0.
        """
        labels, scores = self.rank(X, k)
        return (labels if self.label_names_ is None else LabelNames(self.label_names_).take(labels)), scores

    def rank(self, X: Any, k: int = 5) -> tuple[Int64s, Float32s]:
        """Return what `predict_topk` returns, always with label ids."""
        k = list_length(check_integer("k", k, 1), self.n_labels_)
        queries = self._check(X)
        labels = np.full((queries.shape[0], k), -1, dtype=np.int64)
        scores = np.zeros((queries.shape[0], k), dtype=np.float32)
        if queries.shape[0] == 0:
            return labels, scores
        start = 0
        for block_labels, block_scores in self._blocks(queries, min(k, self.n_labels_)):
            rows, columns = slice(start, start + len(block_labels)), slice(block_labels.shape[1])
            labels[rows, columns], scores[rows, columns] = block_labels, block_scores
            start = rows.stop
        return labels, scores

    def _blocks(self, queries: Any, k: int) -> Iterator[tuple[Int64s, Float32s]]:
        """Yield labels and scores of consecutive rows of `queries` (csr_array)."""
        raise NotImplementedError

    def _check(self, X: Any) -> Any:
        if not is_sparse(X) and is_texts(X):
            if self.vectorizer_ is None:
                refuse("X", f"a matrix with {self.n_features_in_} columns, because train had no texts", X)
            return self.vectorizer_.transform(X).astype(np.float32).tocsr()
        queries = sparse_features(X)
        if queries.shape[1] != self.n_features_in_:
            refuse("X", f"a matrix with {self.n_features_in_} columns, as in train", f"{queries.shape[1]} columns")
        return queries

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n_labels_:,} labels)"
