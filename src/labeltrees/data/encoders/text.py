"""TextEncoder: texts as tf-idf weights of their terms."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labeltrees import _core
from labeltrees._validation import check_n_jobs, refuse
from labeltrees.data.encoders.base import Arrays, Encoder
from labeltrees.data.tfidf import TfidfVectorizer
from labeltrees.data.tfidf_files import tfidf_from_files, tfidf_to_files, verify_tfidf
from labeltrees.errors import FileFormatError


class TextEncoder(Encoder):
    """A text, such as a query, as a row of tf-idf weights.

    Parameters
    ----------
    vectorizer : TfidfVectorizer
        Fitted. scikit-learn's own vectorizer is refused: it cannot be saved with a model.

    Examples
    --------
    >>> import labeltrees as lt
    >>> encoder = lt.TextEncoder(lt.TfidfVectorizer(norm=None, use_idf=False).fit(["red wine", "white wine"]))
    >>> encoder.transform(["Red red shoes"]).toarray()
    array([[2., 0., 0.]], dtype=float32)
    >>> encoder.count_unknown(["Red red shoes"]).tolist()
    [1]
    """

    KIND: ClassVar[str] = "text"
    TAKES: ClassVar[str] = "a text (str)"

    def __init__(self, vectorizer: TfidfVectorizer) -> None:
        if not isinstance(vectorizer, TfidfVectorizer):
            refuse("vectorizer", "a fitted labeltrees.TfidfVectorizer", vectorizer)
        vectorizer.get_state()  # refuses one that is not fitted
        self.vectorizer = vectorizer

    @property
    def n_features(self) -> int:
        """Number of terms."""
        return self.vectorizer.get_state().n_features

    @property
    def feature_names(self) -> NDArray[np.object_] | None:
        """The terms (n_features,), or None if terms are hashed."""
        if not self.vectorizer.get_state().has_names:
            return None
        names: NDArray[np.object_] = self.vectorizer.get_feature_names_out()
        return names

    @cached_property
    def native(self) -> _core.Encoder:
        """The native encoder."""
        state = self.vectorizer.get_state()
        return _core.TextEncoder(state.native, state.on_tokens, self.TAKES)

    def transform(self, contexts: Any, n_jobs: int | None = None) -> sparse.csr_array[np.float32]:
        """Return the rows of texts (n, n_features)."""
        rows = self.vectorizer.rows(self.check_contexts(contexts), check_n_jobs(n_jobs))
        return sparse.csr_array(rows).astype(np.float32, copy=False)

    def to_files(self, prefix: str) -> tuple[dict[str, Any], Arrays]:
        """Return the vectorizer's settings and arrays."""
        settings, arrays = tfidf_to_files(self.vectorizer, prefix)
        return {"kind": self.KIND, "settings": settings}, arrays

    @classmethod
    def from_files(cls, settings: Any, arrays: Arrays, prefix: str, source: str) -> Self:
        """Make an encoder from files. The terms are checked with the first text, or by `verify`."""
        if not isinstance(settings, dict) or settings.keys() != {"kind", "settings"}:
            message = f"{source}: a text encoder must have the keys kind and settings"
            raise FileFormatError(message)
        return cls(tfidf_from_files(settings["settings"], arrays, prefix, source))

    def verify(self) -> None:
        """Check the terms and the idf."""
        verify_tfidf(self.vectorizer)
