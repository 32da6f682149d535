"""The state of a fitted TfidfVectorizer: flat arrays, steps that run in Python, and native code that uses both."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from labeltrees import _core
from labeltrees._names import decode_names, encode_names
from labeltrees._settings import LARGEST_INT32, check_values, checks_of
from labeltrees._validation import refuse
from labeltrees.data.tfidf_parameters import TOKEN_PATTERN, TfidfParameters, UnionPart
from labeltrees.errors import FileFormatError, InputError, MissingExtraError, Parameter

Tokens = list[str]
_COUNTS_IN_TABLE = 256
LABEL_WORDS = "label words"  # the part of a union for words that only texts of labels have
LARGEST_IDF = 1e9  # a larger one overflows the norm of a row; a learned idf is below 50


def prepares_any(settings: TfidfSettings) -> bool:
    """Return whether a function of the user comes first; texts need not be strings then."""
    return callable(settings.analyzer) or settings.preprocessor is not None


def needs_python(settings: TfidfSettings) -> bool:
    """Return whether some step runs in Python."""
    if callable(settings.analyzer) or settings.preprocessor is not None:
        return True
    return settings.analyzer == "word" and (
        settings.tokenizer is not None or settings.token_pattern != TOKEN_PATTERN or settings.stem is not None
    )


def make_prepare(settings: TfidfSettings, stop_words: tuple[Any, Any]) -> Any:
    """Return the function from a text to its tokens (a list), or to another text (str); None if native code does all.

    If words follow the default pattern, native code keeps their stems and calls the stemmer only for new words.

    Stop words, in the form of `encode_names`, are left out here only if words are stemmed: they must be compared with
    whole words, before stemming.
    """
    if not needs_python(settings):
        return None
    if callable(settings.analyzer):
        return _as_list(settings.analyzer)
    if settings.analyzer != "word":
        return _as_text(settings.preprocessor)
    tokenize = _tokenizer(settings)
    if settings.stem is None:
        return tokenize
    stem_words = make_stemmer(settings.stem)
    if settings.tokenizer is None and settings.token_pattern == TOKEN_PATTERN and settings.preprocessor is None:
        return _core.TextStemmer(settings.native_words(folds=True, stop_words=stop_words), stem_words)
    left_out = frozenset(decode_names(*stop_words))

    def stems(text: Any) -> Tokens:
        found: Tokens = stem_words([token for token in tokenize(text) if token not in left_out])
        return found

    return stems


def _as_list(analyze: Callable[[Any], Any]) -> Callable[[Any], Tokens]:
    return lambda text: list(analyze(text))


def _as_text(preprocess: Any) -> Callable[[Any], str]:
    def text_of(text: Any) -> str:
        processed = preprocess(text)
        if not isinstance(processed, str):
            refuse("preprocessor", "a function that returns a string", processed)
        return processed

    return text_of


def _tokenizer(settings: TfidfSettings) -> Callable[[Any], Tokens]:
    """Return the function from a text to its words."""
    preprocess = settings.preprocessor
    if settings.tokenizer is None and settings.token_pattern == TOKEN_PATTERN:
        words = settings.native_words(folds=preprocess is None).terms
        return words if preprocess is None else lambda text: words(preprocess(text))
    if preprocess is None:
        preprocess = settings.native_words(folds=True).preprocess
    split = settings.tokenizer
    if split is None:
        split = re.compile(str(settings.token_pattern)).findall
    return lambda text: list(split(preprocess(text)))


def make_stemmer(language: str) -> Callable[[Sequence[str]], Tokens]:
    """Return Snowball's function from words to their stems; raise `MissingExtraError` without the extra `stem`."""
    try:
        import Stemmer  # type: ignore[import-not-found, unused-ignore]
    except ImportError as error:
        message = "{} needs PyStemmer: pip install labeltrees[stem]"
        raise MissingExtraError(message, Parameter("stem", language)) from error
    try:
        return Stemmer.Stemmer(language, 0).stemWords  # type: ignore[no-any-return]  # native code keeps the stems
    except KeyError:
        refuse("stem", f"one of {', '.join(Stemmer.algorithms())}", language)


# Frequent words of each language. Related languages share some of them.
_WORDS = {
    "danish": "og af til på der ikke med det har fra jeg også være eller efter",
    "dutch": "het een van en niet voor met zijn dat aan door ook naar uit bij",
    "english": "the of and to in is for with on how from that what are an",
    "finnish": "ja on ei se että hän oli mutta kun joka tai olla sekä ovat myös",
    "french": "les des et une du dans pour qui sur est par avec au aux pas",
    "german": "der die und das von zu mit für auf ist den dem nicht ein eine",
    "hungarian": "az és hogy nem egy ez volt is meg csak vagy mint már még",
    "italian": "il di che della per una con nel gli alla non sono dei delle dal",
    "norwegian": "og av til på ikke med det har fra jeg også være eller etter",
    "portuguese": "os do da em não uma para com dos das ao pelo mais como foi",
    "romanian": "și în de la cu pe din pentru care este nu sau ale prin",
    "russian": "и в не на что по как из для это от или при",
    "spanish": "el los las del y en una con por que para se al lo más",
    "swedish": "och av till på inte med det har från jag också vara eller efter är",
    "turkish": "ve bir bu için ile da de olarak daha çok en gibi kadar sonra",
}
_N_TEXTS, _LEAST_SHARE, _MARGIN = 2000, 0.03, 1.3  # texts read; minimum share of these words; minimum lead


def detect_language(texts: Iterable[str]) -> str | None:
    """Return the language that most texts are in, as Snowball names it; None if it is not clear.

    Examples
    --------
    >>> detect_language(["How to cook rice in the oven", "A history of the city and its people"])
    'english'
    >>> detect_language(["7f3a 99c2", "x1 y2 z3"]) is None
    True
    """
    counts: Counter[str] = Counter()
    for text in islice(texts, _N_TEXTS):
        counts.update(re.findall(r"\w+", str(text).lower()))
    total = sum(counts.values())
    found = {language: sum(counts[word] for word in words.split()) for language, words in _WORDS.items()}
    (best, most), (_, second), *_ = sorted(found.items(), key=lambda item: -item[1])
    is_clear = total > 0 and most >= _LEAST_SHARE * total and most >= _MARGIN * second
    return best if is_clear else None


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

    def native_words(self, folds: bool, stop_words: tuple[Any, Any] | None = None) -> _core.TextAnalyzer:
        """Return the native analyzer for single words; `folds`: apply `lowercase` and `strip_accents`."""
        return self._native_analyzer("word", (1, 1), encode_names([]) if stop_words is None else stop_words, folds)

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
        """Make a state from the arrays that `arrays` returned; raise `FileFormatError` if they are damaged."""
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


@dataclass(eq=False)
class UnionState:
    """The state of a fitted vectorizer: one `TfidfState` per part.

    Parameters
    ----------
    parts : list of TfidfState
    weights : list of float
    part_names : list of str, or None
        None for a vectorizer without `union`.
    part_parameters : list of TfidfParameters
        Of the parts when they were fitted; empty for a vectorizer without `union`.
    on_tokens : bool
        Whether it was fitted on lists of tokens; a model then takes such lists too.
    """

    parts: list[TfidfState]
    weights: list[float]
    part_names: list[str] | None = None
    part_parameters: list[TfidfParameters] = field(default_factory=list)
    on_tokens: bool = False

    @classmethod
    def of(cls, parts: list[UnionPart], states: list[TfidfState], on_tokens: bool = False) -> UnionState:
        """Return the state of fitted parts."""
        if len(parts) == 1 and parts[0].name == "":
            return cls(states, [1.0], on_tokens=on_tokens)
        names, parameters = [part.name for part in parts], [part.parameters for part in parts]
        return cls(states, [part.weight for part in parts], names, parameters, on_tokens)

    @cached_property
    def native(self) -> _core.TextUnion:
        """The native code that makes rows. Vocabularies from a file are checked with the first text."""
        return _core.TextUnion([part.native for part in self.parts], self.weights)

    @property
    def n_features(self) -> int:
        """The number of features of all parts."""
        return sum(part.n_features for part in self.parts)

    @property
    def dtype(self) -> Any:
        """The type of the values."""
        return np.dtype(self.parts[0].settings.dtype)

    @property
    def has_names(self) -> bool:
        """Whether all terms are known: no part hashes them."""
        return all(part.terms is not None for part in self.parts)

    def names(self) -> list[str]:
        """Return the terms; with `union`, the name of the part comes first, as in scikit-learn's FeatureUnion."""
        if self.part_names is None:
            return self.parts[0].names()
        named = zip(self.part_names, self.parts, strict=True)
        return [f"{name}__{term}" for name, part in named for term in part.names()]

    @property
    def idf(self) -> NDArray[Any] | None:
        """The inverse document frequencies of all parts, or None if a part has none."""
        found = [part.idf for part in self.parts if part.idf is not None]
        if len(found) < len(self.parts):
            return None
        return found[0] if len(found) == 1 else np.concatenate(found)

    def prefixes(self, prefix: str) -> list[str]:
        """Return the prefix of the arrays of each part, for files."""
        if self.part_names is None:
            return [prefix]
        return [f"{prefix}part{number}." for number in range(len(self.parts))]

    def arrays(self, prefix: str) -> dict[str, NDArray[Any]]:
        """Return the arrays to save, by name."""
        named: dict[str, NDArray[Any]] = {}
        for start, part in zip(self.prefixes(prefix), self.parts, strict=True):
            named |= part.arrays(start)
        return named

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "native"}
