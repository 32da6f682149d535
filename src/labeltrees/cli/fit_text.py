"""labeltrees fit-text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from labeltrees.cli.data_options import data_options
from labeltrees.cli.options import (
    Command,
    classifier_options,
    classifier_parameters,
    data_argument,
    given_options,
    jobs_option,
    json_option,
    output_option,
    refuse_tree_options,
    seed_option,
)
from labeltrees.cli.output import step
from labeltrees.cli.saved_models import check_output, report_fit
from labeltrees.data.files import COMPRESSED
from labeltrees.data.read_data import DataOptions, TextFile, load_texts, open_text_file
from labeltrees.errors import InputError
from labeltrees.models.text.estimator import TextLabelTreeClassifier
from labeltrees.models.text.settings import TREES, check_text_settings
from labeltrees.tree.label_tree import LabelTree

_EPILOG = """\b
Examples:
  labeltrees fit-text train.txt -o questions.model --epochs 50 --jobs 2
  labeltrees fit-text questions.csv -o questions.model --text title --labels tags --test-share 0.1
  labeltrees fit-text train.txt -o fasttext.model --tree huffman --lr 0.1 --word-ngrams 1
"""


def _name_or_path(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | Path | None:
    if value is None or value in TREES:
        return value
    if not Path(value).is_file():
        message = f"{value!r} is neither one of {', '.join(TREES)} nor a file."
        raise click.BadParameter(message)
    return Path(value)


@click.command("fit-text", cls=Command, epilog=_EPILOG)
@data_argument
@data_options(names=False)
@output_option
@click.option(
    "--tree",
    metavar=f"{'|'.join(TREES)}|FILE",
    callback=_name_or_path,
    help="Build this kind of tree, or use the binary tree in a file, instead of building one at a tradeoff.",
)
@classifier_options(TextLabelTreeClassifier)
@seed_option
@jobs_option
@json_option
@click.pass_obj
def fit_text(
    show_progress: bool,
    /,
    data: str,
    output: str,
    tree: str | Path | None,
    as_json: bool,
    reading: DataOptions,
    **settings: Any,
) -> None:
    """Train fastText's hierarchical softmax on DATA and save it in the folder MODEL.

    DATA is a file of texts with labels (.jsonl, .csv, .tsv, .parquet, or fastText's __label__ lines), a folder with one
    such file named train*, or the word debian for the bundled data. An uncompressed file in fastText's format is read
    again in every epoch, with at most 16 MiB per thread in memory. Texts come in a new random order in every epoch;
    --no-shuffle keeps their order, as fastText does. Threads run without locks, so that the same seed gives the same
    model only with --jobs 1.
    """
    check_output(output)
    given = given_options(settings)
    if tree is not None:
        refuse_tree_options("--tree", given)
    given_tree = LabelTree.load(tree) if isinstance(tree, Path) else tree
    model = TextLabelTreeClassifier(tree=given_tree, n_jobs=settings["n_jobs"], verbose=int(show_progress))
    model.set_params(**classifier_parameters(given))
    check_text_settings(model)
    with open_text_file(data, "train", reading) as file:
        if file is None:
            message = f"{data}: not a file of texts; train on features with labeltrees fit"
            raise InputError(message)
        if _is_streamed(file, reading):
            model.fit_file(file.path)
        else:
            _fit_table(model, data, reading, show_progress)
    model.set_params(n_jobs=None, verbose=0)  # how the training was run is not part of the model
    model.save(output)
    report_fit(model, output, as_json)


def _is_streamed(file: TextFile, reading: DataOptions) -> bool:
    is_whole = file.path.suffix.lower() not in COMPRESSED and reading.test_share is None
    return file.format == "fasttext" and is_whole and file.fields.weight is None  # the reader rejects weights


def _fit_table(model: TextLabelTreeClassifier, data: str, reading: DataOptions, show_progress: bool) -> None:
    with step("Reading data", show_progress):
        table = load_texts(data, "train", reading)
    assert table is not None
    model.fit(table.texts, table.labels, sample_weight=table.weights)
