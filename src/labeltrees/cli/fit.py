"""labeltrees fit."""

from __future__ import annotations

from typing import Any

import click

from labeltrees._progress import showing
from labeltrees._settings import check_settings
from labeltrees.cli.cluster_options import TrainingPlace, cluster_options, fit_in_parts
from labeltrees.cli.data_options import data_options, vectorizer_options, vocabulary_options
from labeltrees.cli.options import (
    Command,
    classifier_options,
    classifier_parameters,
    data_argument,
    given_options,
    jobs_option,
    json_option,
    output_option,
    refuse_option,
    refuse_tree_options,
    seed_option,
)
from labeltrees.cli.output import step
from labeltrees.cli.saved_models import check_output, report_fit
from labeltrees.data import Dataset, TfidfVectorizer
from labeltrees.data.read_data import DataOptions, find_parts, load_data
from labeltrees.data.vocabulary import read_vocabulary
from labeltrees.errors import InputError
from labeltrees.models.linear.estimator import LabelTreeClassifier
from labeltrees.tree.label_tree import LabelTree

_PRESETS = {"parabel": LabelTreeClassifier.parabel, "one-vs-all": LabelTreeClassifier.one_vs_all}
_EPILOG = """\b
Examples:
  labeltrees fit debian -o debian.model
  labeltrees fit questions.csv -o questions.model --text title --text body --labels tags --test-share 0.1
  labeltrees fit titles.tsv -o subjects.model --features words+pairs+chars --vocabulary subjects.ttl --language en
  labeltrees fit train.txt.xz -o products.model --tradeoff 1.2 --fanout 64
  labeltrees fit train.txt -o parabel.model --preset parabel --n-trees 3
  labeltrees fit train.parts -o products.model --max-memory 4GiB
  labeltrees fit train.parts -o products.model --cluster local --workers 4 --memory-per-worker 4GiB
"""


@click.command(cls=Command, epilog=_EPILOG)
@data_argument
@data_options()
@vectorizer_options
@output_option
@click.option(
    "--tree", "tree_file", type=click.Path(exists=True, dir_okay=False), help="Use the tree in this file; build none."
)
@vocabulary_options(
    "--label-texts",
    help="Texts of labels: names, synonyms. Two columns, label and text (tab, or comma in .csv), or SKOS (.ttl, .rdf).",
)
@click.option(
    "--preset", type=click.Choice(list(_PRESETS)), help="Settings of another method, for options that are not given."
)
@classifier_options(LabelTreeClassifier)
@seed_option
@jobs_option
@cluster_options
@json_option
@click.pass_obj
def fit(
    show_progress: bool,
    /,
    data: str,
    output: str,
    tree_file: str | None,
    preset: str | None,
    vocabulary: str | None,
    language: str | None,
    n_jobs: int,
    as_json: bool,
    reading: DataOptions,
    vectorizer: TfidfVectorizer | None,
    place: TrainingPlace,
    **settings: Any,
) -> None:
    """Train a model on DATA and save it in the folder MODEL.

    DATA is a file of texts with labels (.jsonl, .csv, .tsv, .parquet, fastText's __label__ lines, or Annif's TSV), a
    file in XMC format, a folder with one such file named train*, a folder of documents as Annif has them, a dataset in
    parts (labeltrees convert), or the word debian for the bundled data. A model that was trained on texts also predicts
    from texts.
    """
    check_output(output)
    given = given_options(settings)
    tree = _given_tree(tree_file, preset, given)
    model = _PRESETS.get(preset or "", LabelTreeClassifier)()
    model.set_params(**classifier_parameters(given), n_jobs=n_jobs, verbose=int(show_progress))
    if tree is not None:
        model.set_params(tree=tree)
    if vectorizer is not None:
        model.set_params(vectorizer=vectorizer)
        vectorizer.check_parameters()
    check_settings(model)
    texts_of_labels = None if vocabulary is None else read_vocabulary(vocabulary, language)
    if place.in_parts or find_parts(data, "train") is not None:
        fit_in_parts(
            model,
            data,
            output,
            place,
            reading,
            vectorizer,
            lambda parts: _label_names(parts, tree, tree_file),
            texts_of_labels,
            show_progress,
        )
        _save(model, output, as_json)
        return
    with step("Reading data", show_progress):
        dataset = load_data(data, options=reading, features=False)
    names = _label_names(dataset, tree, tree_file)
    if texts_of_labels is not None and names is None:
        message = f"{vocabulary}: names labels, but the labels of {data} have no names; give --label-names"
        raise InputError(message)
    with showing(show_progress):
        model.fit(dataset.with_label_names(names), label_texts=texts_of_labels)
    _save(model, output, as_json)


def _save(model: LabelTreeClassifier, output: str, as_json: bool) -> None:
    model.set_params(n_jobs=None, verbose=0)  # how the training was run is not part of the model
    model.save(output)
    report_fit(model, output, as_json)


def _given_tree(tree_file: str | None, preset: str | None, given: dict[str, Any]) -> LabelTree | None:
    if tree_file is not None and preset == "one-vs-all":
        refuse_option("--preset one-vs-all", "--tree", "it uses no tree")
    if tree_file is not None or preset == "one-vs-all":
        refuse_tree_options("--tree" if tree_file is not None else "--preset one-vs-all", given)
    return None if tree_file is None else LabelTree.load(tree_file)


def _label_names(dataset: Dataset, tree: LabelTree | None, tree_file: str | None) -> Any:
    """Return the label names of the data, or else of the tree; raise `InputError` if they differ."""
    if tree is None or tree.label_names is None:
        return dataset.label_names
    if dataset.label_names is None:
        return tree.label_names if len(tree.label_names) == dataset.n_labels else None  # `fit` raises the error
    for label, (ours, theirs) in enumerate(zip(dataset.label_names, tree.label_names, strict=False)):
        if ours != theirs:
            message = f"{tree_file}: label {label} is named {theirs!r} in the tree, but {ours!r} in the data"
            raise InputError(message)
    return dataset.label_names
