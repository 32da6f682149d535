"""Checks of the parameters of TfidfVectorizer."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from labeltrees._validation import check_choice, check_integer, check_n_jobs, check_number, refuse
from labeltrees.errors import InputError

TOKEN_PATTERN = r"(?u)\b\w\w+\b"
MAX_FEATURES = 2**31 - 1
_MAX_NGRAM = 10_000

Check = Callable[[str, Any], object]


def _flag(name: str, value: Any) -> None:
    if not isinstance(value, bool | np.bool_):
        refuse(name, "True or False", value)


def _choice(*choices: str | None) -> Check:
    words = [choice for choice in choices if choice is not None]

    def check(name: str, value: Any) -> None:
        if callable(value):
            refuse(name, f"one of {words} (for a function use scikit-learn's TfidfVectorizer)", value)
        if value is not None or None not in choices:
            check_choice(name, value, words)

    return check


def _text(name: str, value: Any) -> None:
    if not isinstance(value, str):
        refuse(name, "a string", value)


def _encoding(name: str, value: Any) -> None:
    _text(name, value)
    try:
        "".encode(value)
    except LookupError:
        refuse(name, "an encoding that Python knows", value)


def _frequency(name: str, value: Any) -> None:
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        check_integer(name, value, 1)
    else:
        check_number(name, value, 0, 1)


def _token_pattern(name: str, value: Any) -> None:
    if value != TOKEN_PATTERN:
        refuse(name, f"{TOKEN_PATTERN!r} (for another pattern use scikit-learn's TfidfVectorizer)", value)


def _ngram_range(name: str, value: Any) -> None:
    allowed = f"a pair (low, high) with 1 <= low <= high <= {_MAX_NGRAM}"
    if not isinstance(value, tuple | list) or len(value) != 2:
        refuse(name, allowed, value)
    if not all(isinstance(n, numbers.Integral) and not isinstance(n, bool) for n in value):
        refuse(name, allowed, value)
    if not 1 <= value[0] <= value[1] <= _MAX_NGRAM:
        refuse(name, allowed, value)


def _stop_words(name: str, value: Any) -> None:
    if value is None or (isinstance(value, str) and value == "english"):
        return
    if isinstance(value, str) or not isinstance(value, Iterable):
        refuse(name, "None, 'english' or a list of words", value)
    for word in value:
        if not isinstance(word, str):
            refuse(name, "a list of strings", word)


def _dtype(name: str, value: Any) -> None:
    try:
        is_float = value is not None and np.dtype(value) in (np.float32, np.float64)
    except TypeError:
        is_float = False
    if not is_float:
        refuse(name, "float32 or float64", value)


def _optional_count(name: str, value: Any) -> None:
    if value is not None:
        check_integer(name, value, 1, MAX_FEATURES)


def _vocabulary(name: str, value: Any) -> None:
    if value is not None and (isinstance(value, str | bytes) or not isinstance(value, Iterable)):
        refuse(name, "None, a mapping from terms to numbers, or an iterable of terms", value)


CHECKS: dict[str, Check] = {
    "input": _choice("content", "file", "filename"),
    "encoding": _encoding,
    "decode_error": _choice("strict", "ignore", "replace"),
    "strip_accents": _choice("unicode", "ascii", None),
    "lowercase": _flag,
    "analyzer": _choice("word", "char", "char_wb"),
    "stop_words": _stop_words,
    "token_pattern": _token_pattern,
    "ngram_range": _ngram_range,
    "max_df": _frequency,
    "min_df": _frequency,
    "max_features": _optional_count,
    "vocabulary": _vocabulary,
    "binary": _flag,
    "dtype": _dtype,
    "norm": _choice("l1", "l2", None),
    "use_idf": _flag,
    "smooth_idf": _flag,
    "sublinear_tf": _flag,
    "hashing": _optional_count,
    "n_jobs": lambda name, value: check_n_jobs(value),
}


def check_tfidf_parameters(parameters: Mapping[str, Any]) -> None:
    """Refuse the first parameter that `CHECKS` does not allow, and parameters that contradict each other."""
    for name, value in parameters.items():
        CHECKS[name](name, value)
    if parameters["hashing"] is not None:
        for name, default in (("vocabulary", None), ("max_features", None), ("min_df", 1), ("max_df", 1.0)):
            if parameters[name] is not default and parameters[name] != default:
                refuse(name, f"{default} with hashing, which has no vocabulary", parameters[name])
    if parameters["analyzer"] != "word" and parameters["stop_words"] is not None:
        message = "The parameter 'stop_words' will not be used since 'analyzer' != 'word'"
        warnings.warn(message, UserWarning, stacklevel=4)


def effective_stop_words(stop_words: Any, analyzer: str) -> list[str]:
    """Return the words to leave out, sorted."""
    if stop_words is None or analyzer != "word":
        return []
    if isinstance(stop_words, str):
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS  # importing it takes a second

        stop_words = ENGLISH_STOP_WORDS
    return sorted(set(stop_words))


def given_terms(vocabulary: Any) -> list[str]:
    """Return the terms of a given vocabulary, in the order of their features."""
    if isinstance(vocabulary, Mapping):
        terms = _by_number(vocabulary)
    else:
        terms = sorted(vocabulary) if isinstance(vocabulary, set | frozenset) else list(vocabulary)
    if not terms:
        message = "empty vocabulary passed to fit"
        raise InputError(message)
    for term in terms:
        if not isinstance(term, str):
            refuse("vocabulary", "terms that are strings", term)
    if len(set(terms)) < len(terms):
        seen: set[str] = set()
        twice = next(term for term in terms if term in seen or seen.add(term))  # type: ignore[func-returns-value]
        message = f"Duplicate term in vocabulary: {twice!r}"
        raise InputError(message)
    return terms


def _by_number(vocabulary: Mapping[Any, Any]) -> list[Any]:
    terms: list[Any] = [None] * len(vocabulary)
    taken = [False] * len(vocabulary)
    for term, number in vocabulary.items():
        if not isinstance(number, int | np.integer) or not 0 <= number < len(terms):
            message = f"vocabulary of {len(terms)} terms must number them from 0 to {len(terms) - 1}, got {number!r}"
            raise InputError(message)
        if taken[int(number)]:
            message = "Vocabulary contains repeated indices."
            raise InputError(message)
        terms[int(number)], taken[int(number)] = term, True
    return terms
