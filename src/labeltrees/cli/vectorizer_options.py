"""Options for the vectorizer, which turns texts into features; generated from its parameters."""

from __future__ import annotations

import functools
from typing import Any

import click

from labeltrees.cli.options import given_options, refuse_option, setting_options
from labeltrees.data import TfidfVectorizer
from labeltrees.data.tfidf_presets import PRESETS, preset_vectorizer

_NAMES = (
    "analyzer",
    "ngram_range",
    "min_df",
    "max_df",
    "max_features",
    "stop_words",
    "stem",
    "strip_accents",
    "hashing",
)

features_option = click.option(
    "--features",
    type=click.Choice(list(PRESETS)),
    default="words",
    show_default=True,
    help="Kinds of terms: words, pairs of words, and pieces of 3 or 4 characters within words.",
)


def vectorizer_options(command: Any) -> Any:
    """Add the options; the command gets a vectorizer, or None if no option is given, as `vectorizer`."""

    @functools.wraps(command)
    def packed(*arguments: Any, features: str, **given: Any) -> Any:
        changed = given_options({name: given.pop(name) for name in _NAMES})
        if changed.get("hashing") is not None:
            changed = {"min_df": 1, **changed}
        for name in ("analyzer", "ngram_range"):
            if name in changed and features != "words":
                refuse_option(f"--{name.replace('_', '-')}", "--features", "it already says which terms to use")
        vectorizer = preset_vectorizer(features).set_params(**changed) if changed or features != "words" else None
        return command(*arguments, vectorizer=vectorizer, **given)

    defaults = preset_vectorizer().get_params()
    return features_option(setting_options(TfidfVectorizer, only=_NAMES, defaults=defaults)(packed))
