"""The state of a fitted TfidfVectorizer: flat arrays, and the native code that reads them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from labeltrees import _core
from labeltrees._names import decode_names, encode_names
from labeltrees._settings import LARGEST_INT32, check_values, checks_of
from labeltrees.data.tfidf_functions import make_prepare, prepares_any
from labeltrees.data.tfidf_parameters import TfidfParameters
from labeltrees.errors import FileFormatError, InputError

_COUNTS_IN_TABLE = 256
LARGEST_IDF = 1e9  # above, the length of a row overflows; an idf that was learned is below 50


@dataclass(frozen=True)
class TfidfSettings:
    """How texts become features, as JSON values and functions."""

    encoding: str
    decode_error: str
    nfc: bool
    strip_accents: str | None
    lowercase: bool
    preprocessor: Any
    tokenizer: Any
    token_pattern: str | None
    analyzer: Any
    stem: str | None
    ngram_range: tuple[int, int]
    binary: bool
    dtype: str
    norm: str | None
    sublinear_tf: bool

    @classmethod
    def of(cls, parameters: TfidfParameters) -> Self:
        """Return the settings among the parameters of the estimator."""
        values = {name: getattr(parameters, name) for name in cls.__dataclass_fields__}
        low, high = values["ngram_range"]
        return cls(**{**values, "ngram_range": (int(low), int(high)), "dtype": np.dtype(values["dtype"]).name})

    def check(self) -> None:
        """Refuse values that the estimator would refuse."""
        check_values(vars(self), checks_of(TfidfParameters))

    def make_analyzer(self, stop_words: tuple[Any, Any]) -> _core.TextAnalyzer:
        """Return the native analyzer; stop words in the form of `encode_names`."""
        prepare = make_prepare(self, stop_words)
        if prepare is None:
            return self._native_analyzer(self.analyzer, self.ngram_range, stop_words, folds=True)
        kind, ngram_range = self.analyzer, self.ngram_range
        if callable(kind):
            kind, ngram_range = "word", (1, 1)
        if kind != "word" or self.stem is not None:
            stop_words = encode_names([])
        return self._native_analyzer(kind, ngram_range, stop_words, folds=False, prepare=prepare)

    def native_words(self, folds: bool) -> _core.TextAnalyzer:
        """Return the native analyzer for single words; `folds`: with the usual lower case and accents."""
        return self._native_analyzer("word", (1, 1), encode_names([]), folds)

    def _native_analyzer(
        self,
        kind: str,
        ngram_range: tuple[int, int],
        stop_words: tuple[Any, Any],
        folds: bool,
        prepare: Any = None,
    ) -> _core.TextAnalyzer:
        return _core.TextAnalyzer(
            kind,
            *ngram_range,
            bool(self.lowercase) and folds,
            (self.strip_accents or "none") if folds else "none",
            *stop_words,
            self.encoding,
            self.decode_error,
            bool(self.nfc),
            prepare,
            prepare is not None and prepares_any(self),
        )


@dataclass(eq=False)
class TfidfState:
    """The arrays of a fitted vectorizer. Native code is made when it is first needed, and not pickled.

    Parameters
    ----------
    settings : TfidfSettings
    n_features : int
    terms : (uint8 (n_bytes,), int64 (n_features + 1,)) or None
        The terms in the order of the features, in the form of `encode_names`; None if terms are hashed.
    stop_words : the words to leave out, in the same form
    idf : array (n_features,) of the settings' dtype, or None
    source : str
        Where the arrays came from, for messages.
    """

    settings: TfidfSettings
    n_features: int
    terms: tuple[Any, Any] | None
    stop_words: tuple[Any, Any]
    idf: NDArray[Any] | None
    source: str = "vectorizer"

    @cached_property
    def analyzer(self) -> _core.TextAnalyzer:
        """The native analyzer."""
        return self.settings.make_analyzer(self.stop_words)

    @cached_property
    def native(self) -> _core.TextVectorizer:
        """The native vectorizer. A vocabulary from a file is checked with the first text."""
        settings = self.settings
        dtype = np.dtype(settings.dtype)
        logs = None
        if settings.sublinear_tf:
            logs = np.ones(_COUNTS_IN_TABLE, dtype)
            logs[1:] += np.log(np.arange(1, _COUNTS_IN_TABLE, dtype=dtype))
        text, ends = (None, None) if self.terms is None else self.terms
        return _core.TextVectorizer(
            self.analyzer,
            text,
            ends,
            self.n_features,
            self.idf,
            logs,
            settings.norm or "none",
            bool(settings.binary),
            dtype == np.float32,
            self.source,
        )

    def names(self) -> list[str]:
        """Return all terms."""
        return [] if self.terms is None else decode_names(*self.terms, self.source)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("analyzer", "native")}

    # Files.

    def arrays(self, prefix: str) -> dict[str, NDArray[Any]]:
        """Return the arrays to save, by name."""
        named: dict[str, NDArray[Any]] = {}
        for name, pair in (("terms", self.terms), ("stop_words", self.stop_words)):
            if pair is not None and (name == "terms" or len(pair[1]) > 1):
                named[f"{prefix}{name}"], named[f"{prefix}{name}.ends"] = pair
        if self.idf is not None:
            named[f"{prefix}idf"] = self.idf
        return named

    @classmethod
    def from_arrays(
        cls, settings: TfidfSettings, arrays: dict[str, NDArray[Any]], prefix: str, hashing: int | None, source: str
    ) -> TfidfState:
        """Make a state from the arrays that `arrays` returned; a fault is a `FileFormatError`."""
        return _StateReader(arrays, prefix, source).read(settings, hashing)


class _StateReader:
    def __init__(self, arrays: dict[str, NDArray[Any]], prefix: str, source: str) -> None:
        self.arrays, self.prefix, self.source = arrays, prefix, source

    def fail(self, fault: str) -> NoReturn:
        message = f"{self.source}: {fault}"
        raise FileFormatError(message)

    def read(self, settings: TfidfSettings, hashing: int | None) -> TfidfState:
        try:
            settings.check()
        except InputError as error:
            self.fail(f"the vectorizer's settings are damaged: {error}")
        terms = self.pair("terms")
        if (terms is None) != (hashing is not None):
            self.fail("a vectorizer must either have terms or hash them")
        n_features = len(terms[1]) - 1 if terms is not None else int(hashing or 0)
        if not 0 < n_features <= LARGEST_INT32:
            self.fail(f"a vectorizer of {n_features} features")
        idf = self.arrays.get(f"{self.prefix}idf")
        if idf is not None and (idf.shape != (n_features,) or idf.dtype != np.dtype(settings.dtype)):
            self.fail("the vectorizer's idf does not have one number per feature")
        if idf is not None and not (np.abs(idf) <= LARGEST_IDF).all():
            self.fail("the vectorizer's idf is damaged")
        stop_words = self.pair("stop_words") or encode_names([])
        decode_names(stop_words[0], stop_words[1], self.source)
        return TfidfState(settings, n_features, terms, stop_words, idf, self.source)

    def pair(self, name: str) -> tuple[Any, Any] | None:
        if f"{self.prefix}{name}" not in self.arrays:
            return None
        text, ends = self.arrays[f"{self.prefix}{name}"], self.arrays.get(f"{self.prefix}{name}.ends")
        sound = ends is not None and text.dtype == np.uint8 and ends.dtype == np.int64
        if ends is None or not sound or text.ndim != 1 or ends.ndim != 1 or len(ends) < 1:
            self.fail(f"the vectorizer's {name} are damaged")
        return text, ends
