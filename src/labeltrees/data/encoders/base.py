"""Encoder: what every encoder offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labeltrees import _core
from labeltrees._validation import refuse

Arrays = dict[str, NDArray[Any]]


class Encoder(ABC):
    """Turns contexts, what a user has, into rows of features.

    An encoder does not change after it is made. It is saved with the model, and `Predictor` runs it in native code.
    Unknown items and words are counted, and otherwise ignored.
    """

    KIND: ClassVar[str]  # its name in the manifest of a model
    TAKES: ClassVar[str]  # one context, for messages

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Number of features of a row."""

    @property
    @abstractmethod
    def feature_names(self) -> NDArray[np.object_] | None:
        """The names of the features (n_features,), or None if they have none."""

    @cached_property
    @abstractmethod
    def native(self) -> _core.Encoder:
        """The native encoder, made when it is first needed."""

    @abstractmethod
    def to_files(self, prefix: str) -> tuple[dict[str, Any], Arrays]:
        """Return the settings as JSON values, and the arrays, whose names start with `prefix`."""

    @classmethod
    @abstractmethod
    def from_files(cls, settings: Any, arrays: Arrays, prefix: str, source: str) -> Self:
        """Make an encoder from what `to_files` returned; a fault is a `FileFormatError` that names `source`."""

    @abstractmethod
    def verify(self) -> None:
        """Check everything that is otherwise checked when it is first used."""

    def transform(self, contexts: Any, n_jobs: int | None = None) -> sparse.csr_array[np.float32]:
        """Return the rows of contexts (n, n_features).

        Parameters
        ----------
        contexts : sequence of n contexts
            For one context, pass a list with it.
        n_jobs : int, optional
            Number of threads, for texts.
        """
        return self._encode(contexts)[0]

    def count_unknown(self, contexts: Any) -> NDArray[np.int64]:
        """Return for each context how many of its items or words the encoder does not know (n,)."""
        return self._encode(contexts)[1]

    def _encode(self, contexts: Any) -> tuple[sparse.csr_array[np.float32], NDArray[np.int64]]:
        values, indices, indptr, unknown = self.native.transform(self.check_contexts(contexts))
        if indptr[-1] < 2**31:
            indptr = indptr.astype(np.int32)
        rows = sparse.csr_array((values, indices, indptr), shape=(len(unknown), self.n_features))
        rows.has_sorted_indices = rows.has_canonical_format = True
        return rows, unknown

    def check_contexts(self, contexts: Any) -> list[Any] | tuple[Any, ...]:
        """Return a batch of contexts as a list or tuple; a single context is refused."""
        if hasattr(contexts, "__array__") and not isinstance(contexts, Sequence):
            contexts = contexts.tolist() if hasattr(contexts, "tolist") else np.asarray(contexts).tolist()
        if isinstance(contexts, list | tuple):
            return contexts
        allowed = f"a list of contexts, each {self.TAKES} (for one context, pass a list with it)"
        if isinstance(contexts, Sequence) and not isinstance(contexts, str | bytes):
            return list(contexts)
        refuse("contexts", allowed, contexts)

    def __getstate__(self) -> dict[str, Any]:
        cached = {"native", "feature_names"}
        return {name: value for name, value in self.__dict__.items() if name not in cached}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n_features:,} features; takes {self.TAKES})"
