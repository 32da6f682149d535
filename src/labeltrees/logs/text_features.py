"""Features of texts: a vectorizer that learns from the training points, block by block."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from labeltrees.data.text_dataset import default_vectorizer
from labeltrees.errors import InputError
from labeltrees.logs.features import Matrix, no_words

_N_EXAMPLES = 1000  # texts that decide what an error says


class TextFeatures:
    """A vectorizer, fitted on the training texts unless it is fitted already.

    Parameters
    ----------
    vectorizer : optional
        By default tf-idf of the words that occur in two texts.
    texts : callable
        Returns an iterator over the texts of the training points.
    """

    def __init__(self, vectorizer: Any, texts: Callable[[], Iterator[str]]) -> None:
        self.vectorizer = default_vectorizer() if vectorizer is None else vectorizer
        self._texts = texts
        self._n_values = 0
        if not hasattr(self.vectorizer, "vocabulary_"):
            try:
                self.vectorizer.fit(texts())
            except ValueError as error:  # no word occurs often enough
                raise InputError(self._fault()) from error
        self.n_features = self.rows(list(itertools.islice(texts(), 1))).shape[1]
        if self.n_features == 0:
            raise InputError(self._fault())
        self._n_values = 0

    @property
    def feature_names(self) -> list[str] | None:
        """The names of the features; None if they are hashed."""
        if getattr(self.vectorizer, "hashing", None) is not None:
            return None
        return [str(name) for name in self.vectorizer.get_feature_names_out()]

    def rows(self, texts: list[str]) -> Matrix:
        """Return the features of texts."""
        rows = sparse.csr_array(self.vectorizer.transform(texts)).astype(np.float32)
        self._n_values += rows.nnz
        return rows

    def check_found(self) -> None:
        """Refuse features that are all 0, after the last block."""
        if self._n_values == 0:
            raise InputError(self._fault())

    def _fault(self) -> str:
        return no_words(list(itertools.islice(self._texts(), _N_EXAMPLES)))
