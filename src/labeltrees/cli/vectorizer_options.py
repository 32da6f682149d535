"""Options for the vectorizer, which turns texts into features."""

from __future__ import annotations

import functools
from typing import Any

import click

from labeltrees.cli.options import add_options, given_options
from labeltrees.data.text_dataset import default_vectorizer

_DEFAULTS = default_vectorizer().get_params()


def _share_or_count(_context: click.Context, _parameter: click.Parameter, value: str) -> int | float:
    try:
        return int(value) if value.isdigit() else float(value)
    except ValueError:
        message = f"{value!r} is neither a number of texts nor a share of all texts."
        raise click.BadParameter(message) from None


_OPTIONS = [
    click.option(
        "--analyzer",
        type=click.Choice(["word", "char", "char_wb"]),
        default=_DEFAULTS["analyzer"],
        show_default=True,
        help="Terms are words, characters, or characters within words.",
    ),
    click.option(
        "--ngram-range",
        type=(int, int),
        metavar="LOW HIGH",
        default=_DEFAULTS["ngram_range"],
        show_default=True,
        help="Minimum and maximum number of words (or characters) per term.",
    ),
    click.option(
        "--min-df",
        metavar="N|SHARE",
        type=str,
        callback=_share_or_count,
        default=str(_DEFAULTS["min_df"]),
        show_default=True,
        help="Leave out terms that occur in fewer texts.",
    ),
    click.option(
        "--max-df",
        metavar="N|SHARE",
        type=str,
        callback=_share_or_count,
        default=str(_DEFAULTS["max_df"]),
        show_default=True,
        help="Leave out terms that occur in more texts.",
    ),
    click.option("--max-features", type=int, help="Keep this many terms, the most frequent ones. [default: all]"),
    click.option(
        "--stop-words",
        type=click.Choice(["english"]),
        help="Leave out the stop words of this language. [default: none]",
    ),
    click.option(
        "--strip-accents",
        type=click.Choice(["unicode", "ascii"]),
        help="Remove accents from letters. [default: keep them]",
    ),
    click.option("--hashing", type=int, help="Hash terms into this many features instead of learning a vocabulary."),
]
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

    return add_options(_OPTIONS)(packed)
