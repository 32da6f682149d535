"""What `TfidfVectorizer.fit` learns: the vocabulary and the inverse document frequencies."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees import _core
from labeltrees._names import encode_names
from labeltrees._validation import check_n_jobs
from labeltrees.data.tfidf_parameters import effective_stop_words, given_terms
from labeltrees.data.tfidf_state import TfidfSettings, TfidfState
from labeltrees.errors import InputError

if TYPE_CHECKING:
    from labeltrees.data.tfidf import TfidfVectorizer


def learn_state(vectorizer: TfidfVectorizer, texts: Any) -> TfidfState:
    """Return the state of a vectorizer fitted on texts, which are strings or bytes."""
    vectorizer.check_parameters()
    settings = TfidfSettings.of(vectorizer)
    _warn_about_stop_words(vectorizer, settings)
    counts, n_texts = None, 0
    if vectorizer.hashing is None and vectorizer.vocabulary is None:
        state, counts, n_texts = _learn_vocabulary(vectorizer, settings, texts)
    else:
        state = state_without_idf(vectorizer, settings)
        if vectorizer.use_idf:
            counts, n_texts = state.native.count_texts(texts, check_n_jobs(vectorizer.n_jobs), None)
    if vectorizer.use_idf:
        state = replace(state, idf=_inverse_frequencies(vectorizer, counts, n_texts))
    return state


def state_without_idf(vectorizer: TfidfVectorizer, settings: TfidfSettings) -> TfidfState:
    """Return the state of a vectorizer that hashes terms or has a given vocabulary."""
    terms = None
    n_features = int(vectorizer.hashing or 0)
    if vectorizer.hashing is None:
        names = given_terms(vectorizer.vocabulary)
        if vectorizer.lowercase and any(character.isupper() for name in names for character in name):
            warnings.warn(
                "Upper case characters found in vocabulary while 'lowercase' is True. "
                "These entries will not be matched with any documents",
                UserWarning,
                stacklevel=4,
            )
        terms, n_features = encode_names(names), len(names)
    return TfidfState(settings, n_features, terms, _stop_words(vectorizer), None)


def _stop_words(vectorizer: TfidfVectorizer) -> tuple[Any, Any]:
    return encode_names(effective_stop_words(vectorizer.stop_words, vectorizer.analyzer))


def _learn_vocabulary(vectorizer: TfidfVectorizer, settings: TfidfSettings, texts: Any) -> tuple[TfidfState, Any, int]:
    """Return the state, the number of texts that have each term, and the number of texts."""
    stop_words = _stop_words(vectorizer)
    min_df, max_df = vectorizer.min_df, vectorizer.max_df
    min_is_share, max_is_share = (not isinstance(limit, int | np.integer) for limit in (min_df, max_df))
    text, ends, counts, occurrences, n_found, n_texts = _core.learn_terms(
        settings.make_analyzer(stop_words),
        texts,
        float(min_df),
        float(max_df),
        min_is_share,
        max_is_share,
        check_n_jobs(vectorizer.n_jobs),
        None,
    )
    if n_found == 0:
        message = "empty vocabulary; perhaps the documents only contain stop words"
        raise InputError(message)
    if (max_df * n_texts if max_is_share else max_df) < (min_df * n_texts if min_is_share else min_df):
        message = "max_df corresponds to < documents than min_df"
        raise InputError(message)
    if len(counts) == 0:
        message = "After pruning, no terms remain. Try a lower min_df or a higher max_df."
        raise InputError(message)
    if vectorizer.max_features is not None and len(counts) > vectorizer.max_features:
        totals = (counts if vectorizer.binary else occurrences).astype(settings.dtype)
        # NumPy's sort decides which of equally frequent terms stay, as in scikit-learn.
        kept = np.sort((-totals).argsort()[: vectorizer.max_features])
        text, ends, counts = *_take(text, ends, kept), counts[kept]
    return TfidfState(settings, len(counts), (text, ends), stop_words, None), counts, n_texts


def _inverse_frequencies(vectorizer: TfidfVectorizer, counts: Any, n_texts: int) -> Any:
    texts = counts.astype(vectorizer.dtype)
    texts += float(vectorizer.smooth_idf)
    missing = int(np.count_nonzero(texts == 0))
    if missing:
        message = f"{missing} features occur in no text, so they have no idf: use smooth_idf=True"
        raise InputError(message)
    idf = np.full_like(texts, n_texts + int(vectorizer.smooth_idf))
    idf /= texts
    np.log(idf, out=idf)
    idf += 1.0
    return idf


def _warn_about_stop_words(vectorizer: TfidfVectorizer, settings: TfidfSettings) -> None:
    stop_words = vectorizer.stop_words
    if isinstance(stop_words, str) or stop_words is None or vectorizer.analyzer != "word":
        return
    words = set(stop_words)
    analyzer = replace(settings, ngram_range=(1, 1)).make_analyzer(encode_names([]))
    unknown = {token for word in words for token in analyzer.terms(word)} - words
    if unknown:
        warnings.warn(
            "Your stop_words may be inconsistent with your preprocessing. Tokenizing the stop words generated "
            f"tokens {sorted(unknown)!r} not in stop_words.",
            UserWarning,
            stacklevel=4,
        )


def _take(text: Any, ends: Any, kept: Any) -> tuple[Any, Any]:
    """Return the terms `kept`, ascending, in the form of `encode_names`."""
    lengths = np.diff(ends)[kept]
    new_ends = np.zeros(len(kept) + 1, np.int64)
    np.cumsum(lengths, out=new_ends[1:])
    places = np.repeat(ends[kept] - new_ends[:-1], lengths) + np.arange(new_ends[-1])
    return text[places], new_ends
