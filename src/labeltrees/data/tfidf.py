"""TfidfVectorizer: texts to sparse features, scikit-learn's in native code."""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from labeltrees import _core
from labeltrees._names import encode_names
from labeltrees._validation import check_n_jobs, refuse
from labeltrees.data.tfidf_parameters import (
    TOKEN_PATTERN,
    check_tfidf_parameters,
    effective_stop_words,
    given_terms,
)
from labeltrees.data.tfidf_state import TfidfSettings, TfidfState
from labeltrees.errors import InputError

_TEXTS_OF_ONE_THREAD = 256


class NoVocabularyError(InputError, AttributeError):
    """The vectorizer has no terms to tell; an AttributeError, so that hasattr tells whether it has."""


class TfidfVectorizer(BaseEstimator):  # type: ignore[misc]
    r"""Texts as rows of tf-idf weights of their terms: scikit-learn's TfidfVectorizer in native code.

    Terms, their order and the weights are scikit-learn's. Left out are functions of one's own (`preprocessor`,
    `tokenizer`, a callable `analyzer` or `strip_accents`) and other token patterns than the default; added are
    `hashing` and `n_jobs`. What is a word character and what its lower case is follows Python's own Unicode tables.

    Parameters
    ----------
    input : {"content", "file", "filename"}
        Whether texts are strings (or bytes), files to read, or their names.
    encoding, decode_error : str
        How bytes become strings.
    strip_accents : {"unicode", "ascii"}, optional
    lowercase : bool
    analyzer : {"word", "char", "char_wb"}
        Words of at least two characters, character n-grams, or character n-grams inside words.
    stop_words : "english" or list of str, optional
        Words to leave out.
    token_pattern : str
        Only the default, words of at least two characters.
    ngram_range : (int, int)
        The least and the most words (or characters) of a term.
    max_df, min_df : float in [0, 1] or int
        Leave terms out that more (or fewer) texts have: a share of the texts, or a number of them.
    max_features : int, optional
        Keep only so many terms, the most frequent.
    vocabulary : mapping or iterable, optional
        The terms to use.
    binary : bool
        Count each term once a text.
    dtype : float32 or float64
    norm : {"l1", "l2"}, optional
        What every row is scaled to.
    use_idf, smooth_idf : bool
        Whether rare terms weigh more, and whether they are counted as if one more text had every term.
    sublinear_tf : bool
        Use 1 + log(count) instead of counts.
    hashing : int, optional
        A number of features to hash terms to instead of learning a vocabulary: feature XXH64(term as UTF-8) mod
        `hashing`. Nothing but the idf is then learnt; terms that meet in one feature are counted together.
    n_jobs : int, optional
        Threads, as in scikit-learn. Results do not depend on it.

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
    """

    def __init__(
        self,
        *,
        input: str = "content",
        encoding: str = "utf-8",
        decode_error: str = "strict",
        strip_accents: str | None = None,
        lowercase: bool = True,
        analyzer: str = "word",
        stop_words: Any = None,
        token_pattern: str = TOKEN_PATTERN,
        ngram_range: tuple[int, int] = (1, 1),
        max_df: float = 1.0,
        min_df: float = 1,
        max_features: int | None = None,
        vocabulary: Any = None,
        binary: bool = False,
        dtype: Any = np.float64,
        norm: str | None = "l2",
        use_idf: bool = True,
        smooth_idf: bool = True,
        sublinear_tf: bool = False,
        hashing: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.input = input
        self.encoding = encoding
        self.decode_error = decode_error
        self.strip_accents = strip_accents
        self.lowercase = lowercase
        self.analyzer = analyzer
        self.stop_words = stop_words
        self.token_pattern = token_pattern
        self.ngram_range = ngram_range
        self.max_df = max_df
        self.min_df = min_df
        self.max_features = max_features
        self.vocabulary = vocabulary
        self.binary = binary
        self.dtype = dtype
        self.norm = norm
        self.use_idf = use_idf
        self.smooth_idf = smooth_idf
        self.sublinear_tf = sublinear_tf
        self.hashing = hashing
        self.n_jobs = n_jobs

    # Fitting.

    def fit(self, raw_documents: Any, y: Any = None) -> TfidfVectorizer:
        """Learn the vocabulary and the idf of texts."""
        self._fit(self._texts(raw_documents))
        return self

    def fit_transform(self, raw_documents: Any, y: Any = None) -> Any:
        """Learn the vocabulary and the idf of texts and return their rows (n, n_features)."""
        texts = self._texts(raw_documents, twice=True)
        self._fit(texts)
        return self.rows(texts, check_n_jobs(self.n_jobs))

    def _fit(self, texts: Any) -> None:
        parameters = self.get_params(deep=False)
        check_tfidf_parameters(parameters)
        settings = TfidfSettings.of(parameters)
        stop_words = encode_names(effective_stop_words(self.stop_words, self.analyzer))
        self._warn_of_stop_words(settings)
        if self.hashing is None and self.vocabulary is None:
            state, counts, n_texts = self._learn(settings, stop_words, texts)
        else:
            terms = None if self.hashing is not None else encode_names(self._given_terms())
            n_features = len(terms[1]) - 1 if terms is not None else int(self.hashing or 0)
            state, counts, n_texts = TfidfState(settings, n_features, terms, stop_words, None), None, 0
            if self.use_idf:
                counts, n_texts = state.native.count_texts(texts, check_n_jobs(self.n_jobs), None)
        if self.use_idf:
            state = state.with_idf(self._inverse_frequencies(counts, n_texts))
        self.set_state(state)

    def _learn(self, settings: TfidfSettings, stop_words: Any, texts: Any) -> tuple[TfidfState, Any, int]:
        fewest_is_share, most_is_share = (
            not isinstance(limit, int | np.integer) for limit in (self.min_df, self.max_df)
        )
        text, ends, counts, occurrences, n_met, n_texts = _core.learn_terms(
            settings.make_analyzer(stop_words),
            texts,
            float(self.min_df),
            float(self.max_df),
            fewest_is_share,
            most_is_share,
            check_n_jobs(self.n_jobs),
            None,
        )
        fewest = self.min_df * n_texts if fewest_is_share else self.min_df
        most = self.max_df * n_texts if most_is_share else self.max_df
        if n_met == 0:
            message = "empty vocabulary; perhaps the documents only contain stop words"
            raise InputError(message)
        if most < fewest:
            message = "max_df corresponds to < documents than min_df"
            raise InputError(message)
        if len(counts) == 0:
            message = "After pruning, no terms remain. Try a lower min_df or a higher max_df."
            raise InputError(message)
        if self.max_features is not None and len(counts) > self.max_features:
            totals = (counts if self.binary else occurrences).astype(settings.dtype)
            # Which of equally frequent terms stay is left to NumPy's sort, as scikit-learn leaves it.
            kept = np.sort((-totals).argsort()[: self.max_features])
            text, ends, counts = *_take(text, ends, kept), counts[kept]
        return TfidfState(settings, len(counts), (text, ends), stop_words, None), counts, n_texts

    def _inverse_frequencies(self, counts: Any, n_texts: int) -> Any:
        texts = counts.astype(self.dtype)
        texts += float(self.smooth_idf)
        missing = int(np.count_nonzero(texts == 0))
        if missing:
            message = f"{missing} features occur in no text: smooth_idf=False has no idf for them"
            raise InputError(message)
        idf = np.full_like(texts, n_texts + int(self.smooth_idf))
        idf /= texts
        np.log(idf, out=idf)
        idf += 1.0
        return idf

    def _given_terms(self) -> list[str]:
        terms = given_terms(self.vocabulary)
        if self.lowercase and any(character.isupper() for term in terms for character in term):
            warnings.warn(
                "Upper case characters found in vocabulary while 'lowercase' is True. "
                "These entries will not be matched with any documents",
                UserWarning,
                stacklevel=4,
            )
        return terms

    def _warn_of_stop_words(self, settings: TfidfSettings) -> None:
        if isinstance(self.stop_words, str) or self.stop_words is None or self.analyzer != "word":
            return
        words = set(self.stop_words)
        analyzer = TfidfSettings.of({**self.get_params(deep=False), "ngram_range": (1, 1)}).make_analyzer(
            encode_names([])
        )
        odd = {token for word in words for token in analyzer.terms(word)} - words
        if odd:
            warnings.warn(
                "Your stop_words may be inconsistent with your preprocessing. Tokenizing the stop words generated "
                f"tokens {sorted(odd)!r} not in stop_words.",
                UserWarning,
                stacklevel=4,
            )

    # Using what was learnt.

    def transform(self, raw_documents: Any) -> Any:
        """Return the rows (n, n_features) of texts, CSR with rising indices."""
        texts = self._texts(raw_documents)
        few = isinstance(texts, list) and len(texts) <= _TEXTS_OF_ONE_THREAD
        return self.rows(texts, 1 if few else check_n_jobs(self.n_jobs))

    def rows(self, texts: Any, n_threads: int) -> Any:
        """Return the rows of texts that are strings or bytes, made by `n_threads` threads."""
        state = self.get_state()
        values, indices, indptr = state.native.transform(texts, n_threads, None)
        kind = sparse.csr_array if get_config().get("sparse_interface") == "sparray" else sparse.csr_matrix
        n = len(indptr) - 1
        if n != 1:
            matrix: Any = kind((values, indices, indptr), shape=(n, state.n_features))
            matrix.has_sorted_indices = matrix.has_canonical_format = True
            return matrix
        # SciPy's checks take 12 us, more than the text itself: a row is made like one that has passed them.
        row: Any = kind.__new__(kind)
        row.__dict__.update(self._row_like(kind))
        row.data, row.indices, row.indptr = values, indices, indptr
        return row

    def _row_like(self, kind: Any) -> dict[str, Any]:
        rows = self.__dict__.setdefault("_example_rows", {})
        if kind not in rows:
            example = kind((1, self.get_state().n_features), dtype=self.get_state().settings.dtype)
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
        """Return the function that lowers a text and strips its accents."""
        return self._make_analyzer().preprocess

    def build_analyzer(self) -> Any:
        """Return the function from a text to the list of its terms."""
        return self._make_analyzer().terms

    def _make_analyzer(self) -> _core.TextAnalyzer:
        parameters = self.get_params(deep=False)
        check_tfidf_parameters(parameters)
        words = effective_stop_words(self.stop_words, self.analyzer)
        return TfidfSettings.of(parameters).make_analyzer(encode_names(words))

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
            message = "there is no idf_ with use_idf=False"
            raise NoVocabularyError(message)
        return idf

    @idf_.setter
    def idf_(self, value: Any) -> None:
        parameters = self.get_params(deep=False)
        check_tfidf_parameters(parameters)
        if not self.use_idf:
            message = "idf_ cannot be set when use_idf=False"
            raise InputError(message)
        state: TfidfState | None = self.__dict__.get("_state")
        if state is None:
            if self.vocabulary is None:
                message = "idf_ can be set where the vocabulary is given, or after fit"
                raise InputError(message)
            settings = TfidfSettings.of(parameters)
            words = encode_names(effective_stop_words(self.stop_words, self.analyzer))
            terms = encode_names(self._given_terms())
            state = TfidfState(settings, len(terms[1]) - 1, terms, words, None)
        idf = np.array(value, dtype=state.settings.dtype)
        if idf.shape != (state.n_features,) or not np.isfinite(idf).all():
            refuse("idf_", f"{state.n_features} finite numbers, one a feature", value)
        self.set_state(state.with_idf(idf))

    @cached_property
    def _names(self) -> list[str]:
        state = self.get_state()
        if state.terms is None:
            message = "a vectorizer with hashing does not know its terms"
            raise NoVocabularyError(message)
        return state.names()

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: feature for feature, name in enumerate(self._names)}

    def set_state(self, state: TfidfState) -> None:
        """Make this a fitted vectorizer."""
        for cached in ("_names", "_positions", "_example_rows"):
            self.__dict__.pop(cached, None)
        self._state = state
        self.fixed_vocabulary_ = self.vocabulary is not None

    def get_state(self) -> TfidfState:
        """Return what was learnt."""
        state: TfidfState | None = self.__dict__.get("_state")
        if state is None:
            message = "The TF-IDF vectorizer is not fitted"
            raise NotFittedError(message)
        return state

    def _texts(self, raw_documents: Any, twice: bool = False) -> Any:
        if self.input != "content":
            if isinstance(raw_documents, str | bytes):
                refuse("texts", "a sequence of files", raw_documents)
            return [_read(document, self.input) for document in raw_documents]
        if twice and not isinstance(raw_documents, list | tuple | str | bytes | np.ndarray):
            return list(raw_documents)
        return raw_documents

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
        tags._skip_test = True  # as scikit-learn's own: its checks pass matrices
        return tags


def _read(document: Any, kind: str) -> Any:
    if kind == "file":
        return document.read()
    with open(document, "rb") as stream:
        return stream.read()


def _take(text: Any, ends: Any, kept: Any) -> tuple[Any, Any]:
    """Return the terms `kept`, rising, as `encode_names` would give them."""
    lengths = np.diff(ends)[kept]
    new_ends = np.zeros(len(kept) + 1, np.int64)
    np.cumsum(lengths, out=new_ends[1:])
    places = np.repeat(ends[kept] - new_ends[:-1], lengths) + np.arange(new_ends[-1])
    return text[places], new_ends
