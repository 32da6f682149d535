"""Options for DATA with texts: fields, format, and how one file is split."""

from __future__ import annotations

import functools
from typing import Any

import click

from labeltrees.cli.options import add_options
from labeltrees.cli.text_data import TextOptions
from labeltrees.data.text_formats import FORMATS, TextFields

_OPTIONS = [
    click.option(
        "--text",
        "text_names",
        metavar="FIELD",
        multiple=True,
        default=("text",),
        show_default="text",
        help="Field with the text, if DATA has texts. Repeat it to join several fields.",
    ),
    click.option(
        "--labels", "label_field", metavar="FIELD", default="labels", show_default=True, help="Field with the labels."
    ),
    click.option(
        "--weight", "weight_field", metavar="FIELD", help="Field with the weight of each point. [default: none]"
    ),
    click.option(
        "--label-separator",
        default=",",
        show_default=True,
        help="Separates labels in a string; put a label that contains it in quotes.",
    ),
    click.option(
        "--data-format",
        type=click.Choice(["auto", *FORMATS]),
        default="auto",
        show_default=True,
        help="Format of texts; auto: by the name of the file. Any other file must be in XMC format.",
    ),
    click.option(
        "--test-share",
        type=float,
        help="Split one file at random: this share is the test part, the rest is the training part.",
    ),
]
_split_seed_option = click.option(
    "--seed",
    "split_seed",
    type=int,
    default=0,
    show_default=True,
    help="Random seed of --test-share; use the seed of the training.",
)


def text_options(command: Any) -> Any:
    """Add the options for DATA with texts; the command gets them as one TextOptions named `texts`.

    If the command has a seed, it is also the seed of the split.
    """
    has_seed = any(parameter.name == "random_state" for parameter in getattr(command, "__click_params__", ()))

    @functools.wraps(command)
    def packed(*arguments: Any, **given: Any) -> Any:
        fields = TextFields.of(
            given.pop("text_names"), given.pop("label_field"), given.pop("weight_field"), given.pop("label_separator")
        )
        seed = given["random_state"] if has_seed else given.pop("split_seed")
        texts = TextOptions(fields, given.pop("data_format"), given.pop("test_share"), seed)
        return command(*arguments, texts=texts, **given)

    return add_options([*_OPTIONS, *([] if has_seed else [_split_seed_option])])(packed)
