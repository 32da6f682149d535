"""labeltrees fit."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from labeltrees._progress import showing
from labeltrees._settings import check_settings
from labeltrees._validation import refuse
from labeltrees.cli.calibrate import check_probabilities, print_thresholds
from labeltrees.cli.cluster_options import TrainingPlace, cluster_options
from labeltrees.cli.command import Command, rare_option
from labeltrees.cli.convert import convert_file
from labeltrees.cli.data_files import data_files, several_data_argument
from labeltrees.cli.data_options import (
    data_options,
    read_labels_within,
    vectorizer_options,
    vocabulary_options,
    within_option,
)
from labeltrees.cli.options import (
    classifier_option_names,
    classifier_options,
    classifier_parameters,
    given_options,
    is_given,
    jobs_option,
    json_option,
    option_of,
    output_option,
    refuse_option,
    refuse_tree_options,
    seed_option,
)
from labeltrees.cli.output import console, step
from labeltrees.cli.saved_models import check_output, is_calibrated, report_fit
from labeltrees.data import Dataset, TfidfVectorizer, open_parts
from labeltrees.data.data_folder import find_parts
from labeltrees.data.files import COMPRESSED
from labeltrees.data.parts.writer import POINTS_PER_PART
from labeltrees.data.read_data import (
    DataOptions,
    TextFile,
    join_parts,
    load_data,
    load_everything,
    load_texts,
    open_text_file,
)
from labeltrees.data.texts import no_features, text_dataset
from labeltrees.errors import InputError
from labeltrees.models.linear.estimator import LabelTreeClassifier
from labeltrees.models.load import load
from labeltrees.models.text.estimator import TextLabelTreeClassifier
from labeltrees.models.text.settings import TREES, check_text_settings
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tuning.data import hold_out

_PRESETS = {"parabel": LabelTreeClassifier.parabel, "one-vs-all": LabelTreeClassifier.one_vs_all}
_FAMILIES: dict[str, Any] = {"linear": LabelTreeClassifier, "text": TextLabelTreeClassifier}
_ONLY_LINEAR = (
    "features",
    "vocabulary",
    "language",
    "within",
    "preset",
    "label_names",
    "feature_names",
    "max_memory",
    "cluster",
    "workers",
    "memory_per_worker",
    "work_folder",
)
_EPILOG = """\b
Examples:
  labeltrees fit debian -o debian.model
  labeltrees fit questions.csv -o questions.model --text title --text body --labels tags --test-share 0.1
  labeltrees fit questions.csv -o questions.model --text title --labels tags --calibrate 0.1
  labeltrees fit titles.tsv -o subjects.model --features words+pairs+chars --vocabulary subjects.ttl --language en
  labeltrees fit train.txt.xz -o products.model --tradeoff 1.2 --fanout 64 --set eps=0.01
  labeltrees fit train.txt -o parabel.model --preset parabel --n-trees 3
  labeltrees fit train.parts -o products.model --max-memory 4GiB
  labeltrees fit train.parts -o products.model --cluster local --workers 4 --memory-per-worker 4GiB
  labeltrees fit shop -o deployed.model --like evaluated.model
  labeltrees fit train.txt -o questions.model --model text --set epochs=50 --jobs 2
"""


@click.command(cls=Command, epilog=_EPILOG)
@several_data_argument
@data_options()
@data_files
@vectorizer_options
@output_option
@click.option(
    "--model",
    "family",
    type=click.Choice(list(_FAMILIES)),
    default="linear",
    show_default=True,
    help="linear: classifiers of features or texts; text: fastText's hierarchical softmax over texts.",
)
@click.option(
    "--tree",
    metavar="FILE|NAME",
    help=f"Use the tree in this file instead of building one. For --model text also one of {', '.join(TREES)}.",
)
@vocabulary_options(
    "--label-texts",
    help="Texts of labels: names, synonyms. Two columns, label and text (tab, or comma in .csv), or SKOS (.ttl, .rdf). "
    "How they are used: --set label_text_points=auto.",
)
@within_option
@rare_option(
    "--preset",
    type=click.Choice(list(_PRESETS)),
    help="Defaults of another method; options that are given override them.",
)
@click.option(
    "--calibrate",
    "calibrate_share",
    type=float,
    metavar="SHARE",
    help="Hold out this share of DATA and learn probabilities from it (see labeltrees calibrate).",
)
@click.option(
    "--like",
    metavar="MODEL",
    type=click.Path(exists=True, file_okay=False),
    help="Train on all of DATA, including its test part, with the given and the chosen parameters of this model.",
)
@classifier_options(LabelTreeClassifier, TextLabelTreeClassifier)
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
    family: str,
    tree: str | None,
    preset: str | None,
    calibrate_share: float | None,
    like: str | None,
    vocabulary: str | None,
    language: str | None,
    within: tuple[str, ...],
    random_state: int,
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
    parts (labeltrees convert), or the word debian for the bundled data. Several files of texts, or a folder of them,
    are joined; - is standard input. A model that was trained on texts also predicts from texts.

    With --model text, DATA must have texts. An uncompressed file in fastText's format is read again in every epoch,
    with at most 16 MiB per thread in memory. Texts are shuffled in every epoch; --set shuffle=false keeps their order,
    as fastText does. Threads run without locks, so the same seed gives the same model only with --jobs 1.

    With --calibrate 0.1, it trains on nine tenths of DATA and learns probabilities from the rest, as labeltrees
    calibrate does. A served model with probabilities can then be replaced in one step.
    """
    check_output(output)
    held_out = HeldOut.of(calibrate_share, random_state, output)
    given = given_options(settings)
    _check_family(family, given, vectorizer)
    fixed = "--tree" if tree is not None else "--preset one-vs-all" if preset == "one-vs-all" else None
    if tree is not None and preset == "one-vs-all":
        refuse_option("--preset one-vs-all", "--tree", "it uses no tree")
    if fixed is not None:
        refuse_tree_options(fixed, given)
    model = _PRESETS.get(preset or "", _FAMILIES[family])() if like is None else _model_like(like, family, preset)
    if is_given("random_state"):
        model.set_params(random_state=random_state)
    model.set_params(**classifier_parameters(given), n_jobs=n_jobs, verbose=int(show_progress))
    if tree is not None:
        model.set_params(tree=_read_tree(tree, family))
    if isinstance(model, TextLabelTreeClassifier):
        _fit_text(model, data, reading, held_out, show_progress)
    else:
        if vectorizer is not None:
            model.set_params(vectorizer=vectorizer)
            vectorizer.check_parameters()
        check_settings(model)
        label_texts = read_labels_within(vocabulary, language, within)
        if place.in_parts or find_parts(data, "train") is not None:
            held_out.refuse_parts()
            if within:
                refuse_option("--within", "data in parts", "leave out labels before labeltrees convert")
            _fit_in_parts(model, data, output, place, reading, tree, label_texts, show_progress, like is not None)
        else:
            everything = like is not None
            _fit_in_memory(
                model,
                data,
                reading,
                tree,
                label_texts,
                vocabulary,
                held_out,
                show_progress,
                everything,
                within=bool(within),
            )
    checked = held_out.calibrate(model, n_jobs)
    model.set_params(n_jobs=None, verbose=0)  # settings of this run, not of the model
    model.save(output)
    report_fit(model, output, as_json, calibration=checked)
    if checked is not None and not as_json:
        print_thresholds(console(), checked["thresholds"], output, None)


class HeldOut:
    """The points that are held out for --calibrate, if any.

    Parameters
    ----------
    share : float or None
    seed : int
    """

    def __init__(self, share: float | None, seed: int) -> None:
        self._share, self._seed = share, seed
        self._dataset: Dataset | None = None

    @classmethod
    def of(cls, share: float | None, seed: int, output: str) -> HeldOut:
        """Return the object; raise `InputError` if a calibrated model would lose its probabilities."""
        if share is not None and not 0 < share < 1:
            refuse("calibrate_share", "a number between 0 and 1, such as 0.1", share)
        if share is None and is_calibrated(output):
            message = (
                f"{output}: this model has probabilities, which its clients may use, and the new one would have none: "
                "add --calibrate 0.1, or train beside it, -o NEW, and run labeltrees calibrate NEW DATA -o "
            )
            raise InputError(message + output)
        return cls(share, seed)

    def split(self, dataset: Dataset) -> Dataset:
        """Return the points to train on, and keep the rest: whole groups, else the newest points, else random ones."""
        if self._share is None:
            return dataset
        rows, others = hold_out(dataset.n_points, self._share, self._seed, dataset.times, dataset.groups)
        self._dataset = dataset[others]
        return dataset[rows]

    def refuse_parts(self) -> None:
        """Raise `InputError` if points must be held out: data in parts cannot be split."""
        if self._share is not None:
            refuse_option("--calibrate", "data in parts", "run labeltrees calibrate on points that are not in them")

    @property
    def is_given(self) -> bool:
        """Whether points are held out."""
        return self._share is not None

    def calibrate(self, model: Any, n_jobs: int) -> dict[str, Any] | None:
        """Calibrate the model; return how reliable its probabilities are, and suggested thresholds."""
        if self._dataset is None:
            return None
        model.calibrate(self._dataset)
        return {"n_points": self._dataset.n_points, **check_probabilities(model, self._dataset, n_jobs)}


def _check_family(family: str, given: dict[str, Any], vectorizer: TfidfVectorizer | None) -> None:
    """Raise `InputError` for settings and options of the other kind of model."""
    known = classifier_option_names(_FAMILIES[family])
    other = next((name for name in given if name not in known), None)
    if family == "text" and other is None:
        other = next((name for name in _ONLY_LINEAR if is_given(name)), None)
        if other is None and vectorizer is not None:
            message = "the settings of the vectorizer cannot be combined with --model text: it reads words itself"
            raise InputError(message)
    if other is not None:
        refuse_option(option_of(other), f"--model {family}", "it is for the other kind of model")


def _model_like(like: str, family: str, preset: str | None) -> LabelTreeClassifier:
    """Return an unfitted model with the parameters of a saved one."""
    if preset is not None:
        refuse_option("--preset", "--like", "the model has all parameters")
    model = load(like)
    if family != "linear" or not isinstance(model, LabelTreeClassifier):
        message = f"{like}: --like is for linear models; a text model chooses nothing when it is trained"
        raise InputError(message)
    return LabelTreeClassifier.like(model)


def _read_tree(tree: str, family: str) -> LabelTree | str:
    names = TREES if family == "text" else ("flat",)
    if tree in names:
        return tree
    if not Path(tree).is_file():
        message = f"{tree!r} is neither one of {', '.join(names)} nor a file."
        raise click.BadParameter(message, param_hint="--tree")
    return LabelTree.load(tree)


# The linear model.


def _fit_in_memory(
    model: LabelTreeClassifier,
    data: str,
    reading: DataOptions,
    tree_file: str | None,
    label_texts: Any,
    vocabulary: str | None,
    held_out: HeldOut,
    show_progress: bool,
    everything: bool,
    *,
    within: bool,
) -> None:
    with step("Reading data", show_progress):
        dataset = load_everything(data, reading) if everything else load_data(data, options=reading, features=False)
    names = _label_names(dataset, model.tree, tree_file)
    if label_texts is not None and names is None:
        message = f"{vocabulary}: names labels, but the labels of {data} have no names; give --label-names"
        raise InputError(message)
    dataset = dataset.with_label_names(names)
    with showing(show_progress):
        model.fit(held_out.split(dataset.keep_labels(label_texts) if within else dataset), label_texts=label_texts)


def _fit_in_parts(
    model: LabelTreeClassifier,
    data: str,
    output: str,
    place: TrainingPlace,
    reading: DataOptions,
    tree_file: str | None,
    label_texts: Any,
    show_progress: bool,
    everything: bool,
) -> None:
    """Fit a model on DATA in parts; other data is first converted, in a temporary folder next to the model."""
    vectorizer: Any = model.vectorizer
    model.set_params(vectorizer=None)
    with ExitStack() as stack:
        found = find_parts(data, "train")
        if found is None:
            if reading.test_share is not None:
                message = "--test-share cannot be combined with --cluster or --max-memory: run labeltrees convert first"
                raise InputError(message)
            beside = stack.enter_context(tempfile.TemporaryDirectory(prefix=".parts-", dir=Path(output).parent))
            with step("Converting", show_progress):
                convert_file(data, f"{beside}/parts", POINTS_PER_PART, reading, vectorizer)
            found = Path(beside) / "parts"
        elif vectorizer is not None or (reading.label_names, reading.feature_names) != (None, None):
            message = f"{data}: is in parts; give names and options of texts to labeltrees convert"
            raise InputError(message)
        elif everything:
            beside = stack.enter_context(tempfile.TemporaryDirectory(prefix=".parts-", dir=Path(output).parent))
            found = Path(beside) / "parts"
            with step("Joining parts", show_progress):
                join_parts(data, found)
        parts = open_parts(found)
        names = _label_names(parts, model.tree, tree_file)
        if place.cluster is None:
            model.fit(
                parts.with_label_names(names),
                label_texts=label_texts,
                max_memory=place.max_memory,
                work_folder=place.work_folder,
            )
            return
        if label_texts is not None:
            refuse_option("--label-texts", "--cluster", "parts do not hold texts of labels")
        from labeltrees.dask import fit as fit_on_cluster

        fit_on_cluster(
            stack.enter_context(place.client()),
            parts,
            model=model,
            label_names=names,
            work_folder=place.work_folder,
            memory_per_worker=place.memory_per_worker if place.cluster != "local" else None,
            progress=show_progress,
        )


def _label_names(dataset: Dataset, tree: Any, tree_file: str | None) -> Any:
    """Return the label names of the data, or else of the tree; raise `InputError` if they differ."""
    if not isinstance(tree, LabelTree) or tree.label_names is None:
        return dataset.label_names
    if dataset.label_names is None:
        return tree.label_names if len(tree.label_names) == dataset.n_labels else None  # `fit` raises the error
    for label, (ours, theirs) in enumerate(zip(dataset.label_names, tree.label_names, strict=False)):
        if ours != theirs:
            message = f"{tree_file}: label {label} is named {theirs!r} in the tree, but {ours!r} in the data"
            raise InputError(message)
    return dataset.label_names


# The text model.


def _fit_text(
    model: TextLabelTreeClassifier, data: str, reading: DataOptions, held_out: HeldOut, show_progress: bool
) -> None:
    check_text_settings(model)
    with open_text_file(data, "train", reading) as file:
        if file is None:
            message = f"{data}: not a file of texts; train on features without --model text"
            raise InputError(message)
        if _is_streamed(file, reading) and not held_out.is_given:
            model.fit_file(file.path)
            return
    with step("Reading data", show_progress):
        table = load_texts(data, "train", reading)
    assert table is not None
    if held_out.is_given:
        X = no_features(table.texts)
        model.fit(held_out.split(text_dataset(table.texts, table.labels, X=X, sample_weight=table.weights)))
        return
    model.fit(table.texts, table.labels, sample_weight=table.weights)


def _is_streamed(file: TextFile, reading: DataOptions) -> bool:
    is_whole = file.path.suffix.lower() not in COMPRESSED and reading.test_share is None
    return file.format == "fasttext" and is_whole and file.fields.weight is None  # the reader rejects weights
