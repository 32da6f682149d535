"""labeltrees fit-text."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from labeltrees.cli.data_argument import TextOptions
from labeltrees.cli.model_options import check_output, is_given, output_option, refuse_tree_options
from labeltrees.cli.model_report import report_fit
from labeltrees.cli.options import Command, data_argument, json_option, make_tradeoff_option, text_options, tree_options
from labeltrees.cli.output import step
from labeltrees.cli.text_data import TextFile, load_texts, open_text_file
from labeltrees.data.text_fields import COMPRESSED
from labeltrees.errors import InputError
from labeltrees.models.text.estimator import TextLabelTreeClassifier
from labeltrees.models.text.settings import check_text_settings
from labeltrees.models.text.trees import NAMES
from labeltrees.tree.label_tree import LabelTree

_DEFAULTS = {name: each.default for name, each in inspect.signature(TextLabelTreeClassifier).parameters.items()}
_EPILOG = """\b
Examples:
  labeltrees fit-text train.txt -o questions.model --epochs 50 --jobs 2
  labeltrees fit-text questions.csv -o questions.model --text title --labels tags --test-share 0.1
  labeltrees fit-text train.txt -o fasttext.model --tree huffman --lr 0.1 --word-ngrams 1
"""


def _tree_of(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | Path | None:
    if value is None or value in NAMES:
        return value
    if not Path(value).is_file():
        message = f"{value!r} is neither one of {', '.join(NAMES)} nor a file."
        raise click.BadParameter(message)
    return Path(value)


def _option(name: str, kind: type, what: str) -> Callable[[Command], Command]:
    flag = "--" + name.replace("_", "-")
    return click.option(flag, name, type=kind, default=_DEFAULTS[name], show_default=True, help=what)


@click.command("fit-text", epilog=_EPILOG)
@data_argument
@text_options
@output_option
@click.option(
    "--tree",
    metavar=f"{'|'.join(NAMES)}|FILE",
    callback=_tree_of,
    help="A tree by name, or a binary one from a file, instead of one built at a tradeoff.",
)
@make_tradeoff_option(_DEFAULTS["tradeoff"])
@_option("dim", int, "Length of the vectors.")
@_option("lr", float, "Learning rate at the beginning.")
@_option("epochs", int, "Passes over the texts.")
@_option("min_count", int, "Leave words out that occur less often.")
@_option("word_ngrams", int, "The longest n-gram of words.")
@_option("min_n", int, "The shortest n-gram of characters.")
@_option("max_n", int, "The longest n-gram of characters; 0: none.")
@_option("buckets", int, "N-grams are hashed into so many.")
@tree_options(binary=True, **_DEFAULTS)
@json_option
@click.pass_obj
def fit_text(
    show_progress: bool,
    /,
    data: str,
    output: str,
    tree: str | Path | None,
    as_json: bool,
    texts: TextOptions,
    **parameters: Any,
) -> None:
    """Train fastText's hierarchical softmax on DATA and save it as the folder MODEL.

    DATA is texts with labels (.jsonl, .csv, .tsv, .parquet, or fastText's __label__ lines), a folder with a file train*
    of these, or the word debian for the bundled set. A plain file in fastText's form is read again in every epoch and
    never held in memory. Threads do not wait for each other: only with --jobs 1 the same seed gives the same model.
    """
    check_output(output)
    if tree is not None:
        refuse_tree_options("--tree", {name: value for name, value in parameters.items() if is_given(name)})
    given_tree = LabelTree.load(tree) if isinstance(tree, Path) else tree
    model = TextLabelTreeClassifier(tree=given_tree, verbose=int(show_progress), **parameters)
    check_text_settings(model)
    with open_text_file(data, "train", texts) as file:
        if file is None:
            message = f"{data}: no texts; a file of features is for labeltrees fit"
            raise InputError(message)
        if _is_streamed(file, texts):
            model.fit_file(file.path)
        else:
            _fit_table(model, data, texts, show_progress)
    model.set_params(n_jobs=None, verbose=0)  # how it was run is no part of the model
    model.save(output)
    report_fit(model, output, as_json)


def _is_streamed(file: TextFile, texts: TextOptions) -> bool:
    is_whole = file.path.suffix.lower() not in COMPRESSED and texts.test_share is None
    return file.form == "fasttext" and is_whole and file.fields.weight is None  # weights are refused by the reader


def _fit_table(model: TextLabelTreeClassifier, data: str, texts: TextOptions, show_progress: bool) -> None:
    with step("Reading data", show_progress):
        table = load_texts(data, "train", texts)
    assert table is not None
    model.fit(table.texts, table.labels, sample_weight=table.weights)
