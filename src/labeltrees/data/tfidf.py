"""TfidfVectorizer: turns texts into sparse features like scikit-learn's, in native code."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from labeltrees._names import encode_names
from labeltrees._settings import refusing
from labeltrees._validation import check_choice, check_n_jobs, refuse
from labeltrees.data.tfidf_learning import LONG_JOB, learn_state, state_without_idf, watch_texts
from labeltrees.data.tfidf_parameters import TfidfParameters, effective_stop_words, union_parts
from labeltrees.data.tfidf_state import LARGEST_IDF, TfidfSettings, UnionState
from labeltrees.errors import InputError

_MAX_TEXTS_FOR_ONE_THREAD = 256

_WORDS: dict[str, Any] = {"sublinear_tf": True, "min_df": 2, "dtype": np.float32}
_CHARACTERS: dict[str, Any] = {"analyzer": "char_wb", "ngram_range": (3, 4)}
_PAIRS: dict[str, Any] = {"ngram_range": (1, 2)}
_PIECES: dict[str, Any] = {"name": "char_wb", "weight": 1.0, "analyzer": "char_wb", "ngram_range": (4, 4)}

# Named kinds of text features; all have sublinear tf-idf of terms that occur in at least two texts.
PRESETS: dict[str, dict[str, Any]] = {
    "words": {},
    "words+pieces": {"union": [{"name": "word", "weight": 1.0}, _PIECES | {"max_features": 300_000}]},
    "words+pairs": _PAIRS,
    "words+chars": {"union": [{}, _CHARACTERS]},
    "words+pairs+chars": {"union": [_PAIRS, _CHARACTERS]},
    "chars": _CHARACTERS,
}


class NoVocabularyError(InputError, AttributeError):
    """The vectorizer does not know its terms or has no idf; an AttributeError, so that hasattr works."""


@refusing({"input": "give the texts themselves, such as [Path(name).read_bytes() for name in names]"})
@dataclass(eq=False, repr=False, kw_only=True)
class TfidfVectorizer(BaseEstimator, TfidfParameters):  # type: ignore[misc]
    r"""Texts as rows of tf-idf weights of their terms: scikit-learn's TfidfVectorizer in native code.

    Four parameters matter most. `analyzer` and `ngram_range` define the terms: words, sequences of words, or pieces of
    words. `min_df=2` leaves out terms that occur in one text only, which saves memory. `sublinear_tf=True` reduces the
    weight of terms that a text repeats. `labeltrees.features` has names of common combinations.

    Terms, their order and the weights are the same as in scikit-learn. `nfc`, `stem`, `union`, `hashing` and `n_jobs`
    are new. Word characters and lower case follow Python's Unicode tables. Your functions and another
    `token_pattern` run in Python, one text after another, and then take most of the time. Each word is stemmed once.

    A text may also be a list of tokens (with ``analyzer="word"``): they are used unchanged, apart from stop words and
    n-grams.

    Parameters
    ----------
    encoding, decode_error : str
        How texts that are bytes become strings.
    strip_accents : {"unicode", "ascii"}, optional
    nfc : bool
        Normalise texts to Unicode's NFC first, so that letters with accents are the same however they are encoded.
        scikit-learn does not.
    lowercase : bool
    preprocessor : function, optional
        From a text to a text, instead of lower case and stripped accents.
    tokenizer : function, optional
        From a text to the list of its words.
    analyzer : {"word", "char", "char_wb"} or function
        Words of at least two characters, character n-grams, or character n-grams inside words. A function returns the
        list of terms of a text.
    stem : str, optional
        Replace words by their Snowball stems in this language, such as "german". Stop words are removed first.
        Needs the extra ``labeltrees[stem]``.
    stop_words : "english" or list of str, optional
        Words to leave out.
    token_pattern : str
        Regular expression of words.
    ngram_range : (int, int)
        Minimum and maximum number of words (or characters) per term.
    max_df, min_df : float in [0, 1] or int
        Terms in more (or fewer) texts are left out: a share of the texts, or a number of texts.
    max_features : int, optional
        Keep only this many terms, the most frequent.
    vocabulary : mapping or iterable, optional
        The terms to use.
    binary : bool
        Count each term once per text.
    dtype : float32 or float64
    norm : {"l1", "l2"} or None
        Scale rows so that this norm is 1. None: do not scale.
    use_idf, smooth_idf : bool
        Whether rare terms have a higher weight, and whether terms are counted as if one more text had all of them.
    sublinear_tf : bool
        Use 1 + log(count) instead of counts.
    hashing : int, optional
        Number of features to hash terms to instead of learning a vocabulary: feature XXH64(term as UTF-8) mod
        `hashing`. Then only the idf is learned. Terms with the same hash are counted together.
    union : list of dict, optional
        Several kinds of terms side by side, as in scikit-learn's FeatureUnion. Each dict has the parameters that
        differ from those given here, and optionally `weight`, a factor of its values, and `name`, the prefix of its
        feature names. Each part has its own norm.
    n_jobs : int, optional
        Number of threads, as in scikit-learn. Results do not depend on it.

    Attributes
    ----------
    vocabulary_ : dict of str to int
    fixed_vocabulary_ : bool
        Whether the vocabulary was given.
    idf_ : array (n_features,)

    Examples
    --------
    >>> import labeltrees as lt
    >>> vectorizer = lt.TfidfVectorizer(ngram_range=(1, 2))
    >>> X = vectorizer.fit_transform(["Brown rice", "white rice"])
    >>> vectorizer.get_feature_names_out().tolist()
    ['brown', 'brown rice', 'rice', 'white', 'white rice']
    >>> X.toarray().round(2)
    array([[0.63, 0.63, 0.45, 0.  , 0.  ],
           [0.  , 0.  , 0.45, 0.63, 0.63]])

    Words, and pieces of three characters at half the weight:

    >>> both = lt.TfidfVectorizer(union=[dict(), dict(analyzer="char_wb", ngram_range=(3, 3), weight=0.5)])
    >>> both.fit(["red"]).get_feature_names_out().tolist()
    ['word__red', 'char_wb__ re', 'char_wb__ed ', 'char_wb__red']
    """

    # Fitting.

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Return the parameters that differ from the defaults and, once it is fitted, the number of features."""
        parameters = str(super().__repr__(N_CHAR_MAX))
        state = getattr(self, "_state", None)
        return parameters if state is None else f"{parameters}\n  fitted: {state.n_features:,} features"

    def fit(self, raw_documents: Any, y: Any = None) -> TfidfVectorizer:
        """Learn the vocabulary and the idf of texts."""
        self.set_state(learn_state(self, raw_documents))
        return self

    def fit_transform(self, raw_documents: Any, y: Any = None) -> Any:
        """Learn the vocabulary and the idf of texts and return their rows (n, n_features)."""
        texts = raw_documents
        if not isinstance(texts, list | tuple | str | bytes | np.ndarray):
            texts = list(texts)  # read twice
        self.set_state(learn_state(self, texts))
        return self.rows(texts, check_n_jobs(self.n_jobs))

    # Using the fitted vectorizer.

    def transform(self, raw_documents: Any) -> Any:
        """Return the rows (n, n_features) of texts, CSR with sorted indices."""
        few = isinstance(raw_documents, list) and len(raw_documents) <= _MAX_TEXTS_FOR_ONE_THREAD
        return self.rows(raw_documents, 1 if few else check_n_jobs(self.n_jobs))

    def rows(self, texts: Any, n_threads: int) -> Any:
        """Return the rows of texts, made by `n_threads` threads."""
        state = self.get_state()
        if isinstance(texts, list) and len(texts) >= LONG_JOB:
            with watch_texts("Vectorizing texts", texts) as advance:
                values, indices, indptr = state.native.transform(texts, n_threads, advance)
        else:
            values, indices, indptr = state.native.transform(texts, n_threads, None)
        kind = sparse.csr_array if get_config().get("sparse_interface") == "sparray" else sparse.csr_matrix
        n = len(indptr) - 1
        if n != 1:
            matrix: Any = kind((values, indices, indptr), shape=(n, state.n_features))
            matrix.has_sorted_indices = matrix.has_canonical_format = True
            return matrix
        # SciPy's checks take 12 us, more than the text itself, so a row is made without them.
        row: Any = kind.__new__(kind)
        row.__dict__.update(self._row_like(kind))
        row.data, row.indices, row.indptr = values, indices, indptr
        return row

    def _row_like(self, kind: Any) -> dict[str, Any]:
        rows = self.__dict__.setdefault("_example_rows", {})
        if kind not in rows:
            example = kind((1, self.get_state().n_features), dtype=self.get_state().dtype)
            example.has_sorted_indices = example.has_canonical_format = True
            rows[kind] = example.__dict__
        return rows[kind]  # type: ignore[no-any-return]

    def inverse_transform(self, X: Any) -> list[Any]:
        """Return, for each row of X (n, n_features), the terms that have a value other than 0."""
        names = self.get_feature_names_out()
        matrix = sparse.csr_array(X)
        if matrix.shape[1] != len(names):
            refuse("X", f"of {len(names)} columns", f"shape {matrix.shape}")
        matrix.eliminate_zeros()
        return [np.array(names[row].tolist(), dtype=str) for row in np.split(matrix.indices, matrix.indptr[1:-1])]

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the terms in the order of the features, an array of str (n_features,)."""
        self.get_state()
        return np.array(self._names, dtype=object)

    def build_preprocessor(self) -> Any:
        """Return the function that converts a text to lower case and strips its accents, or the one given."""
        if self.preprocessor is not None:
            return self.preprocessor
        return TfidfSettings.of(self).native_words(folds=True).preprocess

    def build_tokenizer(self) -> Any:
        """Return the function from a preprocessed text to the list of its words."""
        if self.tokenizer is not None:
            return self.tokenizer
        return re.compile(str(self.token_pattern)).findall

    def build_analyzer(self) -> Any:
        """Return the function from a text to the list of its terms; with `union`, the name of the part comes first."""
        parts = union_parts(self)
        analyzers = []
        for part in parts:
            words = effective_stop_words(part.parameters.stop_words, part.parameters.analyzer)
            analyzers.append(TfidfSettings.of(part.parameters).make_analyzer(encode_names(words)).terms)
        if self.union is None:
            return analyzers[0]
        named = [(part.name, terms) for part, terms in zip(parts, analyzers, strict=True)]
        return lambda text: [f"{name}__{term}" for name, terms in named for term in terms(text)]

    @property
    def vocabulary_(self) -> dict[str, int]:
        """The feature of each term."""
        self.get_state()
        return self._positions

    @property
    def idf_(self) -> Any:
        """The inverse document frequencies (n_features,)."""
        idf = self.get_state().idf
        if idf is None:
            message = "with use_idf=False there is no idf_"
            raise NoVocabularyError(message)
        return idf

    @idf_.setter
    def idf_(self, value: Any) -> None:
        self.check_parameters()
        if not self.use_idf:
            message = "idf_ cannot be set when use_idf=False"
            raise InputError(message)
        state: UnionState | None = self.__dict__.get("_state")
        if state is None:
            if self.vocabulary is None:
                message = "idf_ can be set only after fit, or if the vocabulary is given"
                raise InputError(message)
            state = state_without_idf(self)
        idf = np.array(value, dtype=state.dtype)
        if idf.shape != (state.n_features,) or not (np.abs(idf) <= LARGEST_IDF).all():
            refuse("idf_", f"{state.n_features} finite numbers of at most {LARGEST_IDF:g}, one per feature", value)
        ends = np.cumsum([part.n_features for part in state.parts])[:-1]
        parts = [replace(part, idf=own) for part, own in zip(state.parts, np.split(idf, ends), strict=True)]
        self.set_state(replace(state, parts=parts))

    @cached_property
    def _names(self) -> list[str]:
        state = self.get_state()
        if not state.has_names:
            message = "a vectorizer with hashing does not know its terms"
            raise NoVocabularyError(message)
        return state.names()

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: feature for feature, name in enumerate(self._names)}

    def set_state(self, state: UnionState) -> None:
        """Make this a fitted vectorizer."""
        for cached in ("_names", "_positions", "_example_rows"):
            self.__dict__.pop(cached, None)
        self._state = state
        self.fixed_vocabulary_ = self.vocabulary is not None

    def get_state(self) -> UnionState:
        """Return the learned state."""
        state: UnionState | None = self.__dict__.get("_state")
        if state is None:
            message = "The TF-IDF vectorizer is not fitted"
            raise NotFittedError(message)
        return state

    def __sklearn_is_fitted__(self) -> bool:
        return "_state" in self.__dict__

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name not in ("_names", "_positions", "_example_rows")}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.requires_fit = True
        tags._skip_test = True  # as in scikit-learn, whose checks pass matrices
        return tags


_SHORT, _SOME, _FIRST = 100, 200, 1000


def usual_features(texts: Iterable[str]) -> str:
    """Return the default preset for texts, chosen by the length of the first 1,000 of them.

    Texts of up to 100 characters on average, such as titles and questions, get words and pieces of 4 characters. These
    are better than words alone on all data sets of short texts, at all sizes, and take about 2.3 times as long from
    text to labels. On longer texts, no other preset is clearly more accurate for at most 2.5 times the time. Fewer
    than 200 texts are too few to decide (benchmarks/results/features.md).

    Examples
    --------
    >>> usual_features(["How long does rice keep?"] * 200), usual_features(["How long does rice keep?"] * 3)
    ('words+pieces', 'words')
    """
    lengths = [len(text) for text in islice(texts, _FIRST) if isinstance(text, str | bytes)]
    is_short = len(lengths) >= _SOME and sum(lengths) <= _SHORT * len(lengths)
    return "words+pieces" if is_short else "words"


def preset_vectorizer(name: str = "words", n_jobs: int | None = None) -> TfidfVectorizer:
    """Return the vectorizer of a preset, not fitted.

    Parameters
    ----------
    name : {"words", "words+pieces", "words+pairs", "words+chars", "words+pairs+chars", "chars"}
        Words, pairs of words, and pieces within words: of 4 characters ("pieces"), or of 3 and 4 ("chars").
    n_jobs : int, optional

    Examples
    --------
    >>> from labeltrees.data.tfidf import preset_vectorizer
    >>> preset_vectorizer("words+pairs").ngram_range
    (1, 2)
    """
    check_choice("features", name, list(PRESETS))
    return TfidfVectorizer(**_WORDS, **PRESETS[name], n_jobs=n_jobs)
