"""Options for the vectorizer, which turns texts into features; generated from its parameters."""

from __future__ import annotations

import functools
from typing import Any

from labeltrees.cli.options import given_options, setting_options
from labeltrees.data import TfidfVectorizer
from labeltrees.data.text_dataset import default_vectorizer

_NAMES = ("analyzer", "ngram_range", "min_df", "max_df", "max_features", "stop_words", "strip_accents", "hashing")


def vectorizer_options(command: Any) -> Any:
    """Add the options; the command gets a vectorizer, or None if no option is given, as `vectorizer`."""

    @functools.wraps(command)
    def packed(*arguments: Any, **given: Any) -> Any:
        changed = given_options({name: given.pop(name) for name in _NAMES})
        if changed.get("hashing") is not None:
            changed = {"min_df": 1, **changed}
        vectorizer = default_vectorizer().set_params(**changed) if changed else None
        return command(*arguments, vectorizer=vectorizer, **given)

    return setting_options(TfidfVectorizer, only=_NAMES, defaults=default_vectorizer().get_params())(packed)
