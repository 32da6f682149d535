"""Learning the vocabulary and the idf of a TfidfVectorizer from texts, and adding words to a fitted one."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from labeltrees import _core
from labeltrees._names import encode_names
from labeltrees._progress import watch_part
from labeltrees._validation import check_n_jobs
from labeltrees.data.tfidf_parameters import MAX_PARTS, TfidfParameters, effective_stop_words, given_terms, union_parts
from labeltrees.data.tfidf_state import LABEL_WORDS, TfidfSettings, TfidfState, UnionState
from labeltrees.errors import InputError, Parameter, Phrase

if TYPE_CHECKING:
    from labeltrees.data.tfidf import TfidfVectorizer

LONG_JOB = 1000  # native code reports progress from this many texts on


def watch_texts(what: str, texts: Any) -> AbstractContextManager[Callable[[int], object] | None]:
    """Show the progress of work on texts, if progress is shown and the texts can be counted."""
    is_counted = isinstance(texts, list | tuple | np.ndarray) and len(texts) >= LONG_JOB
    return watch_part(what, len(texts), "texts") if is_counted else nullcontext()


def learn_state(vectorizer: TfidfParameters, texts: Any) -> UnionState:
    """Return the state of a vectorizer fitted on texts: strings, bytes or lists of tokens."""
    parts = union_parts(vectorizer)
    if not isinstance(texts, list | tuple):  # read once per part, and looked at below
        texts = list(texts) if len(parts) > 1 and not isinstance(texts, str | bytes) else texts
    learned = [learn_part(part.parameters, texts) for part in parts]
    return UnionState.of(parts, learned, are_tokens(texts))


def state_without_idf(vectorizer: TfidfParameters) -> UnionState:
    """Return the state of a vectorizer that hashes terms or has a given vocabulary."""
    parts = union_parts(vectorizer)
    return UnionState.of(parts, [_part_without_idf(part.parameters) for part in parts])


def with_words_of(vectorizer: TfidfVectorizer, named: list[str], texts: Any) -> TfidfVectorizer:
    """Return a fitted vectorizer with a feature for each word of the texts `named` that it lacks, after all others.

    `texts` are those that it was fitted on. Words that `max_df` left out stay out. The idf is that of a word in as many
    of `texts` as have it, and in at least one: without `smooth_idf` a word that no text has would have none. Hashed
    terms, a given vocabulary and terms that are not words are not changed.
    """
    state = vectorizer.get_state()
    all_parameters = state.part_parameters or [vectorizer]
    of_words = [
        number
        for number, (part, own) in enumerate(zip(state.parts, all_parameters, strict=True))
        if part.terms is not None and own.vocabulary is None and part.settings.analyzer == "word"
        if part.settings.ngram_range[0] == 1
    ]
    if not of_words or not named:
        return vectorizer
    first, parameters = state.parts[of_words[0]], all_parameters[of_words[0]]
    settings, n_threads = replace(first.settings, ngram_range=(1, 1)), check_n_jobs(vectorizer.n_jobs)
    analyzer = settings.make_analyzer(first.stop_words)
    text, ends, *_ = _core.learn_terms(analyzer, named, 1.0, float(len(named)), False, False, n_threads, None)
    found = _core.Names(text, ends, "words")
    known: list[Any] = [state.parts[number].terms for number in of_words]
    is_new = np.all([_core.Names(own[0], own[1], "terms").find_all(found) < 0 for own in known], axis=0)
    text, ends = _take(text, ends, np.flatnonzero(is_new))
    words = TfidfState(settings, len(ends) - 1, (text, ends), first.stop_words, None)
    if words.n_features == 0:
        return vectorizer
    words.analyzer = analyzer
    with watch_texts("Counting words of labels", texts) as advance:
        counts, n_texts = words.native.count_texts(texts, n_threads, advance)
    most = parameters.max_df if isinstance(parameters.max_df, int | np.integer) else parameters.max_df * n_texts
    kept = np.flatnonzero(counts <= most)
    if len(kept) == 0:
        return vectorizer
    idf = _inverse_frequencies(parameters, np.maximum(counts[kept], 1), n_texts) if parameters.use_idf else None
    words = replace(words, n_features=len(kept), terms=_take(text, ends, kept), idf=idf)
    # In a vectorizer of several parts, the words are another part, so that the features of the others stay in place.
    if state.part_names is None:
        grown = replace(state, parts=[_joined(first, words)])
    elif state.part_names[-1] == LABEL_WORDS:
        grown = replace(state, parts=[*state.parts[:-1], _joined(state.parts[-1], words)])
    elif len(state.parts) < MAX_PARTS:
        own = replace(parameters, ngram_range=(1, 1), min_df=1, max_df=1.0, max_features=None)
        grown = UnionState(
            [*state.parts, words],
            [*state.weights, state.weights[of_words[0]]],
            [*state.part_names, LABEL_WORDS],
            [*state.part_parameters, own],
            state.on_tokens,
        )
    else:
        return vectorizer
    other: TfidfVectorizer = clone(vectorizer)
    other.set_state(grown)
    return other


def _joined(part: TfidfState, words: TfidfState) -> TfidfState:
    """Return a part with more terms, after its own."""
    assert part.terms is not None
    assert words.terms is not None
    (text, ends), (added, added_ends) = part.terms, words.terms
    terms = np.concatenate([text[: ends[-1]], added]), np.concatenate([ends, ends[-1] + added_ends[1:]])
    idf = None if part.idf is None else np.concatenate([part.idf, words.idf]).astype(part.idf.dtype)
    return replace(part, n_features=part.n_features + words.n_features, terms=terms, idf=idf, source="vectorizer")


def are_tokens(texts: Any) -> bool:
    """Return whether texts are lists of tokens."""
    return isinstance(texts, list | tuple) and len(texts) > 0 and isinstance(texts[0], list | tuple)


def learn_part(parameters: TfidfParameters, texts: Any) -> TfidfState:
    """Return the state of one kind of terms, learned from texts."""
    settings = TfidfSettings.of(parameters)
    _warn_about_stop_words(parameters, settings)
    counts, n_texts = None, 0
    if parameters.hashing is None and parameters.vocabulary is None:
        state, counts, n_texts = _learn_vocabulary(parameters, settings, texts)
    else:
        state = _part_without_idf(parameters)
        if parameters.use_idf:
            with watch_texts("Counting terms", texts) as advance:
                counts, n_texts = state.native.count_texts(texts, check_n_jobs(parameters.n_jobs), advance)
    if parameters.use_idf:
        analyzer = state.analyzer  # it knows the stems of these texts
        state = replace(state, idf=_inverse_frequencies(parameters, counts, n_texts))
        state.analyzer = analyzer
    return state


def _part_without_idf(parameters: TfidfParameters) -> TfidfState:
    terms = None
    n_features = int(parameters.hashing or 0)
    if parameters.hashing is None:
        names = given_terms(parameters.vocabulary)
        if parameters.lowercase and any(character.isupper() for name in names for character in name):
            warnings.warn(
                "Upper case characters found in vocabulary while 'lowercase' is True. "
                "These entries will not be matched with any documents",
                UserWarning,
                stacklevel=5,
            )
        terms, n_features = encode_names(names), len(names)
    return TfidfState(TfidfSettings.of(parameters), n_features, terms, _stop_words(parameters), None)


def _stop_words(vectorizer: TfidfParameters) -> tuple[Any, Any]:
    return encode_names(effective_stop_words(vectorizer.stop_words, vectorizer.analyzer))


def _learn_vocabulary(vectorizer: TfidfParameters, settings: TfidfSettings, texts: Any) -> tuple[TfidfState, Any, int]:
    """Return the state, the number of texts that have each term, and the number of texts."""
    stop_words = _stop_words(vectorizer)
    analyzer = settings.make_analyzer(stop_words)
    min_df, max_df = vectorizer.min_df, vectorizer.max_df
    min_is_share, max_is_share = (not isinstance(limit, int | np.integer) for limit in (min_df, max_df))
    with watch_texts("Learning the vocabulary", texts) as advance:
        text, ends, counts, occurrences, n_found, n_texts = _core.learn_terms(
            analyzer,
            texts,
            float(min_df),
            float(max_df),
            min_is_share,
            max_is_share,
            check_n_jobs(vectorizer.n_jobs),
            advance,
        )
    if n_found == 0:
        raise InputError(Phrase.NO_WORDS)
    if (max_df * n_texts if max_is_share else max_df) < (min_df * n_texts if min_is_share else min_df):
        raise InputError(Phrase.TOO_FEW_TEXTS)
    if len(counts) == 0:
        raise InputError(Phrase.NO_TERMS_LEFT)
    if vectorizer.max_features is not None and len(counts) > vectorizer.max_features:
        totals = (counts if vectorizer.binary else occurrences).astype(settings.dtype)
        # NumPy's sort decides which of equally frequent terms stay, as in scikit-learn.
        kept = np.sort((-totals).argsort()[: vectorizer.max_features])
        text, ends, counts = *_take(text, ends, kept), counts[kept]
    state = TfidfState(settings, len(counts), (text, ends), stop_words, None)
    state.analyzer = analyzer  # it knows the stems of the training texts
    return state, counts, n_texts


def _inverse_frequencies(vectorizer: TfidfParameters, counts: Any, n_texts: int) -> Any:
    texts = counts.astype(vectorizer.dtype)
    texts += float(vectorizer.smooth_idf)
    missing = int(np.count_nonzero(texts == 0))
    if missing:
        message = "{} features occur in no text, so they have no idf: use {}"
        raise InputError(message, missing, Parameter("smooth_idf", True))
    idf = np.full_like(texts, n_texts + int(vectorizer.smooth_idf))
    idf /= texts
    np.log(idf, out=idf)
    idf += 1.0
    return idf


def _warn_about_stop_words(vectorizer: TfidfParameters, settings: TfidfSettings) -> None:
    stop_words = vectorizer.stop_words
    if isinstance(stop_words, str) or stop_words is None or vectorizer.analyzer != "word":
        return
    if vectorizer.stem is not None:  # stop words are compared before stems are made
        settings = replace(settings, stem=None)
    words = set(stop_words)
    analyzer = replace(settings, ngram_range=(1, 1)).make_analyzer(encode_names([]))
    unknown = {token for word in words for token in analyzer.terms(word)} - words
    if unknown:
        warnings.warn(
            "Your stop_words may be inconsistent with your preprocessing. Tokenizing the stop words generated "
            f"tokens {sorted(unknown)!r} not in stop_words.",
            UserWarning,
            stacklevel=5,
        )


def _take(text: Any, ends: Any, kept: Any) -> tuple[Any, Any]:
    """Return the terms `kept`, ascending, in the form of `encode_names`."""
    lengths = np.diff(ends)[kept]
    new_ends = np.zeros(len(kept) + 1, np.int64)
    np.cumsum(lengths, out=new_ends[1:])
    places = np.repeat(ends[kept] - new_ends[:-1], lengths) + np.arange(new_ends[-1])
    return text[places], new_ends
