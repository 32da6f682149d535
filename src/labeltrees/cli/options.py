"""Options that several commands share, with the defaults of the functions they go to."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import click

from labeltrees.cli.text_data import TextOptions
from labeltrees.data.text_formats import FORMATS, TextFields
from labeltrees.tree.builder import build_tree

Command = TypeVar("Command", bound=Callable[..., Any])

_DEFAULTS = {name: parameter.default for name, parameter in inspect.signature(build_tree).parameters.items()}

data_argument = click.argument("data", metavar="DATA")
label_names_option = click.option(
    "--label-names",
    type=click.Path(exists=True, dir_okay=False),
    help="File with the name of label i in line i. [default: labels.txt in a folder DATA]",
)
feature_names_option = click.option(
    "--feature-names",
    type=click.Path(exists=True, dir_okay=False),
    help="File with the name of feature i in line i. [default: features.txt in a folder DATA]",
)
index_base_option = click.option(
    "--index-base",
    type=click.Choice(["auto", "0", "1"]),
    default="auto",
    show_default=True,
    callback=lambda _context, _parameter, value: value if value == "auto" else int(value),
    help="What a file in XMC form counts ids from; auto: 1 only if an id equals the number of features or labels.",
)
jobs_option = click.option("--jobs", "n_jobs", type=int, default=-1, show_default=True, help="Threads; -1 takes all.")
json_option = click.option("--json", "as_json", is_flag=True, help="Write JSON instead of text.")


def fanout_of(text: str | int) -> int | str:
    """Return the fanout that a user has written: a number or auto."""
    try:
        return text if text == "auto" else int(text)
    except ValueError:
        message = f"{text!r} is neither a whole number nor 'auto'."
        raise ValueError(message) from None


def make_tradeoff_option(default: float) -> Callable[[Command], Command]:
    """Return the option of the tradeoff."""
    return click.option(
        "--tradeoff",
        type=float,
        default=default,
        show_default=True,
        help="From 0 (balanced, by similarity) over 1 (similarity, labels counted by frequency) to 2 (frequency only).",
    )


tradeoff_option = make_tradeoff_option(_DEFAULTS["tradeoff"])


def tree_options(*, binary: bool = False, **defaults: Any) -> Callable[[Command], Command]:
    """Return the options of building trees, but for the tradeoff; `defaults` replace those of `build_tree`.

    Where all trees are `binary`, there are no options of their width.
    """

    def option(flag: str, name: str, **settings: Any) -> Callable[[Command], Command]:
        default = defaults.get(name, _DEFAULTS[name])
        return click.option(flag, name, default=default, show_default=True, **settings)

    width = [
        option(
            "--fanout",
            "fanout",
            type=fanout_of,
            metavar="N|auto",
            help="Most children of a node; 2 keeps the binary tree, auto takes what makes searches cheapest.",
        ),
        option("--leaf-size", "leaf_size", type=int, help="Sets of at most this many labels are not split further."),
    ]
    options = [
        *([] if binary else width),
        option("--smoothing", "smoothing", type=float, help="Added to all frequencies together."),
        option(
            "--cover",
            "cover",
            type=click.Choice(["marginal", "greedy"]),
            help="How cover frequencies are counted; they matter where the tradeoff is above 1.",
        ),
        option("--cover-softness", "cover_softness", type=float, help="From 0 to 1; 1 makes them plain frequencies."),
        option(
            "--path",
            "path",
            type=click.Choice(["weighted", "direct"]),
            help="From similarity to frequency through weighted similarity, or straight.",
        ),
        option("--seed", "random_state", type=int, help="The same seed gives the same tree."),
        jobs_option,
    ]

    def decorate(command: Command) -> Command:
        for add in reversed(options):
            command = add(command)
        return command

    return decorate


_TEXT_OPTIONS = [
    click.option(
        "--text",
        "text_names",
        metavar="FIELD",
        multiple=True,
        default=("text",),
        show_default="text",
        help="Field of the text, where DATA is texts; several are joined by a blank.",
    ),
    click.option(
        "--labels", "label_field", metavar="FIELD", default="labels", show_default=True, help="Field of the labels."
    ),
    click.option("--weight", "weight_field", metavar="FIELD", help="Field of the points' weights. [default: none]"),
    click.option(
        "--label-separator",
        default=",",
        show_default=True,
        help="Between labels that are a string; a label that holds it is in quotes.",
    ),
    click.option(
        "--data-format",
        type=click.Choice(["auto", *FORMATS]),
        default="auto",
        show_default=True,
        help="Of texts; auto goes by the name of the file. All other files are in XMC form.",
    ),
    click.option(
        "--test-share",
        type=float,
        help="Split one file at random: this share of it is the test part, the rest is for training.",
    ),
]
_split_seed_option = click.option(
    "--seed", "split_seed", type=int, default=0, show_default=True, help="Of the split; the same as when training."
)


def text_options(command: Command) -> Command:
    """Add the options for a DATA of texts; the command gets them as one TextOptions called `texts`.

    The seed of a split is the command's own, if it has one.
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

    for add in reversed([*_TEXT_OPTIONS, *([] if has_seed else [_split_seed_option])]):
        packed = add(packed)
    return packed  # type: ignore[return-value]
