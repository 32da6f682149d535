"""What the commands about models share: options, with the defaults of `LabelTreeClassifier`, and opening a model."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Never

import click
from click.core import ParameterSource

from labeltrees._validation import check_n_jobs
from labeltrees.cli.options import Command
from labeltrees.cli.output import check_folder_of
from labeltrees.errors import InputError
from labeltrees.models.linear.estimator import LabelTreeClassifier
from labeltrees.models.load import load
from labeltrees.models.text.estimator import TextLabelTreeClassifier
from labeltrees.models.text.searcher import Texts
from labeltrees.search.request import AS_FITTED, SearchRequest
from labeltrees.storage.save import check_target
from labeltrees.tree.label_tree import LabelTree

Model = LabelTreeClassifier | TextLabelTreeClassifier

DEFAULTS = {name: parameter.default for name, parameter in inspect.signature(LabelTreeClassifier).parameters.items()}


def _number_or_none(_context: click.Context, _parameter: click.Parameter, value: str | None) -> int | None:
    if value is None or value.lower() == "none":
        return None
    try:
        return int(value)
    except ValueError:
        message = f"{value!r} is neither a whole number nor 'none'."
        raise click.BadParameter(message) from None


output_option = click.option(
    "-o", "--output", metavar="MODEL", type=click.Path(), required=True, help="Folder for the model."
)
model_argument = click.argument("model_folder", metavar="MODEL", type=click.Path(exists=True, file_okay=False))
beam_option = click.option(
    "--beam",
    metavar="N|none",
    callback=_number_or_none,
    help="Nodes opened at each depth at the most; none: exact. [default: the model's]",
)
agreement_option = click.option(
    "--agreement",
    type=float,
    metavar="SHARE",
    help="Stop early, so that at least this share of the lists is that of exact search; after labeltrees calibrate.",
)


def _option(name: str, **settings: Any) -> Callable[[Command], Command]:
    flag = "--" + name.replace("_", "-")
    return click.option(flag, name, default=DEFAULTS[name], show_default=True, **settings)


_TRAINING = [
    click.option(
        "--normalize/--no-normalize",
        default=DEFAULTS["normalize"],
        show_default=True,
        help="Scale every point to unit length.",
    ),
    _option("loss", type=click.Choice(["squared_hinge", "logistic"]), help="Of the classifiers."),
    _option("score_power", type=float, help="q in the score exp(-max(0, 1 - z)^q) of a margin z (squared hinge)."),
    _option("C", type=float, help="Cost of errors."),
    _option("class_weight", type=click.Choice(["balanced"]), help="Positives weigh as much as negatives."),
    _option("eps", type=float, help="When the solver stops."),
    _option("max_iter", type=int, help="When it stops at the latest."),
    _option("prune_below", type=float, help="Weights smaller than this are dropped."),
    _option(
        "negatives",
        type=click.Choice(["siblings", "matcher"]),
        help="Learn from the points of the node alone, or from those sent there by mistake too.",
    ),
    _option("n_trees", type=int, help="Trees with different seeds, their scores averaged."),
    _option("search", type=click.Choice(["best_first", "beam"]), help="How labels are searched."),
    _option(
        "beam",
        type=str,
        metavar="N|none",
        callback=_number_or_none,
        help="Nodes opened at each depth at the most; none: exact.",
    ),
]


def training_options(command: Command) -> Command:
    """Add the options of training classifiers in a tree and of searching them."""
    for add in reversed(_TRAINING):
        command = add(command)
    return command


def is_given(name: str) -> bool:
    """Whether the user has set the parameter `name` of the command that runs."""
    return click.get_current_context().get_parameter_source(name) is not ParameterSource.DEFAULT


def check_output(folder: str) -> None:
    """Refuse a place where no model can be saved: before the work, not after it."""
    check_folder_of(folder)
    check_target(Path(os.path.abspath(folder)))


_OF_TREES = ("tradeoff", "fanout", "leaf_size", "smoothing", "cover", "cover_softness", "path")


def refuse_tree_options(fixed: str, given: dict[str, Any]) -> None:
    """Refuse options of building a tree among those given, beside the option `fixed` that says which tree it is."""
    useless = next((name for name in _OF_TREES if name in given), None)
    if useless is not None:
        refuse_option(useless.replace("_", "-"), fixed, "no tree is built")


def refuse_option(name: str, beside: str, why: str) -> Never:
    """Raise the error for an option that means nothing here."""
    message = f"--{name} makes no sense with {beside}: {why}"
    raise InputError(message)


def search_request(
    model: Model, k: int, beam: int | None, agreement: float | None, candidates: Any = None
) -> SearchRequest:
    """Return the request for k labels with the beam of `beam_option` or the model's own, or with an agreement."""
    if isinstance(model, TextLabelTreeClassifier) and is_given("beam"):
        refuse_option("beam", "a TextLabelTreeClassifier", "its search has none")
    wanted = beam if is_given("beam") else AS_FITTED
    return model.complete_request(SearchRequest(k, beam=wanted, agreement=agreement, candidates=candidates))


def text_reader(model: Model, n_jobs: int) -> Callable[[Any], Any] | None:
    """Return what makes of texts what the model's searcher takes, None where the model takes no texts."""
    if isinstance(model, TextLabelTreeClassifier):
        return Texts
    vectorizer, n_threads = model.vectorizer_, check_n_jobs(n_jobs)
    return None if vectorizer is None else lambda texts: vectorizer.rows(texts, n_threads)


def load_model(folder: str, *, verify: bool = False) -> Model:
    """Open the model that MODEL names."""
    model = load(folder, verify=verify)
    if not isinstance(model, Model):
        message = f"{folder}: a {type(model).__name__}, which this command does not know"
        raise InputError(message)
    return model


def trees_of(model: Model) -> list[LabelTree]:
    """Return the trees of a model."""
    return [model.tree_] if isinstance(model, TextLabelTreeClassifier) else model.trees_


def settings_of(model: Model) -> dict[str, Any]:
    """Return the parameters of a model that are words or numbers: no trees, no arrays."""
    parameters = model.get_params(deep=False).items()
    return {name: value for name, value in parameters if value is None or isinstance(value, bool | int | float | str)}


def check_n_features(data: str, n_features: int, model: Model) -> None:
    """Refuse points of other features than the model's, or of features where the model reads texts itself."""
    if isinstance(model, TextLabelTreeClassifier):
        message = f"{data}: points of {n_features:,} features, but a TextLabelTreeClassifier takes texts"
        raise InputError(message)
    if n_features != model.n_features_in_:
        message = f"{data}: points of {n_features:,} features, but the model was trained on {model.n_features_in_:,}"
        raise InputError(message)


def disk_bytes(folder: str | os.PathLike[str]) -> dict[str, int]:
    """Return the sizes of a model's files by name, the largest first."""
    sizes = {path.name: path.stat().st_size for path in Path(folder).iterdir() if path.is_file()}
    return dict(sorted(sizes.items(), key=lambda item: (-item[1], item[0])))
