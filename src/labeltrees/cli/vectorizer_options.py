"""Options of the vectorizer that `fit` makes features of texts with."""

from __future__ import annotations

import functools
from typing import Any

import click

from labeltrees.cli.model_options import is_given
from labeltrees.cli.options import Command
from labeltrees.data.text_dataset import default_vectorizer

_DEFAULTS = default_vectorizer().get_params()


def _share_or_count(_context: click.Context, _parameter: click.Parameter, value: str) -> int | float:
    try:
        return int(value) if value.isdigit() else float(value)
    except ValueError:
        message = f"{value!r} is neither a number of texts nor a share of them."
        raise click.BadParameter(message) from None


_OPTIONS = [
    click.option(
        "--analyzer",
        type=click.Choice(["word", "char", "char_wb"]),
        default=_DEFAULTS["analyzer"],
        show_default=True,
        help="Of texts: words, characters, or characters inside words.",
    ),
    click.option(
        "--ngram-range",
        type=(int, int),
        metavar="LOW HIGH",
        default=_DEFAULTS["ngram_range"],
        show_default=True,
        help="Least and most words (or characters) of a term.",
    ),
    click.option(
        "--min-df",
        metavar="N|SHARE",
        type=str,
        callback=_share_or_count,
        default=str(_DEFAULTS["min_df"]),
        show_default=True,
        help="Leave terms out that fewer texts have.",
    ),
    click.option(
        "--max-df",
        metavar="N|SHARE",
        type=str,
        callback=_share_or_count,
        default=str(_DEFAULTS["max_df"]),
        show_default=True,
        help="Leave terms out that more texts have.",
    ),
    click.option("--max-features", type=int, help="Keep only so many terms, the most frequent. [default: all]"),
    click.option("--stop-words", type=click.Choice(["english"]), help="Words to leave out. [default: none]"),
    click.option("--strip-accents", type=click.Choice(["unicode", "ascii"]), help="[default: accents stay]"),
    click.option("--hashing", type=int, help="Hash terms to so many features instead of learning a vocabulary."),
]
_NAMES = ("analyzer", "ngram_range", "min_df", "max_df", "max_features", "stop_words", "strip_accents", "hashing")


def vectorizer_options(command: Command) -> Command:
    """Add the options; the command gets a vectorizer, or None where none of them is given, as `vectorizer`."""

    @functools.wraps(command)
    def packed(*arguments: Any, **given: Any) -> Any:
        values = {name: given.pop(name) for name in _NAMES}
        changed = {name: value for name, value in values.items() if is_given(name)}
        if changed.get("hashing") is not None:
            changed = {"min_df": 1, **changed}
        vectorizer = default_vectorizer().set_params(**changed) if changed else None
        return command(*arguments, vectorizer=vectorizer, **given)

    for add in reversed(_OPTIONS):
        packed = add(packed)
    return packed  # type: ignore[return-value]
