"""Options that the commands about operating points share."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import click

from labeltrees.cli.data_argument import load_data
from labeltrees.cli.model_options import DEFAULTS, is_given, training_options
from labeltrees.cli.options import (
    Command,
    fanout_of,
    feature_names_option,
    index_base_option,
    jobs_option,
    label_names_option,
    text_options,
)
from labeltrees.cli.output import step
from labeltrees.cli.text_data import dataset_like, load_texts
from labeltrees.data import Dataset
from labeltrees.models.linear.estimator import LabelTreeClassifier
from labeltrees.tuning.settings import PAPER_GRIDS, TRADEOFFS


def numbers(kind: Callable[[str], Any]) -> Callable[[click.Context, click.Parameter, str | None], list[Any] | None]:
    """Return a callback that reads numbers separated by commas."""

    def read(_context: click.Context, parameter: click.Parameter, value: str | None) -> list[Any] | None:
        if value is None:
            return None
        try:
            return [kind(part) for part in value.split(",")]
        except ValueError:
            message = f"{value!r} is not a list of numbers such as {parameter.metavar}."
            raise click.BadParameter(message) from None

    return read


def _tradeoffs(context: click.Context, parameter: click.Parameter, value: str | None) -> list[float]:
    if value is None:
        return list(TRADEOFFS)
    if value in PAPER_GRIDS:
        return list(PAPER_GRIDS[value])
    return numbers(float)(context, parameter, value) or []


def fanouts_option(default: str) -> Callable[[Command], Command]:
    """Return the option of the fanouts."""
    return click.option(
        "--fanouts",
        metavar="16,128",
        callback=numbers(fanout_of),
        help=f"Most children of a node, or auto. [default: {default}]",
    )


_OPTIONS = [
    text_options,
    click.option(
        "--tradeoffs",
        metavar="0,0.5,1",
        callback=_tradeoffs,
        help="Or one of the paper's grids: parabel, fasttext, logs. [default: "
        + ",".join(f"{t:g}" for t in TRADEOFFS)
        + "]",
    ),
    click.option(
        "--folder", type=click.Path(file_okay=False), help="Keep finished settings here, and go on from them."
    ),
    click.option("--repeats", type=int, default=5, show_default=True, help="Rounds of timing."),
    click.option("--leaf-size", type=int, default=DEFAULTS["leaf_size"], show_default=True, help="As in tree build."),
    click.option("--smoothing", type=float, default=DEFAULTS["smoothing"], show_default=True, help="As in tree build."),
    click.option(
        "--cover-softness", type=float, default=DEFAULTS["cover_softness"], show_default=True, help="As in tree build."
    ),
    training_options,
    click.option(
        "--seed", "random_state", type=int, default=0, show_default=True, help="Of models, splits and timed points."
    ),
    jobs_option,
    label_names_option,
    feature_names_option,
    index_base_option,
]


def tuning_options(command: Command) -> Command:
    """Add the options of sweeps: what is tried besides the tradeoff, and how."""
    for add in reversed(_OPTIONS):
        command = add(command)
    return command


def split_parameters(parameters: dict[str, Any]) -> tuple[LabelTreeClassifier, dict[str, Any]]:
    """Return the estimator that the options describe, and the other options."""
    given = {name: value for name, value in parameters.items() if name in DEFAULTS and is_given(name)}
    given.pop("n_jobs", None)
    others = {name: value for name, value in parameters.items() if name not in DEFAULTS}
    others |= {name: parameters[name] for name in ("random_state", "n_jobs")}
    return LabelTreeClassifier(**given), others


def say_no_memory() -> None:
    """Leave the line on memory out that every training logs: here there are many, of models about alike."""
    logger = logging.getLogger("labeltrees.training")
    before = logger.level
    logger.setLevel(logging.WARNING)
    click.get_current_context().call_on_close(lambda: logger.setLevel(before))


def reading_options(parameters: dict[str, Any]) -> dict[str, Any]:
    """Take the options that say how DATA is read out of all options."""
    return {name: parameters.pop(name) for name in ("label_names", "feature_names", "index_base", "texts")}


def read_data(data: str, options: dict[str, Any], show_progress: bool, part: str = "train") -> Dataset:
    """Read DATA with its options."""
    with step("Reading data", show_progress):
        return load_data(data, part=part, **options)


def read_validation(data: str, train: Dataset, options: dict[str, Any], show_progress: bool) -> Dataset:
    """Read other DATA than was trained on: texts get the features and labels of `train`."""
    table = None if train.vectorizer is None else load_texts(data, "test", options["texts"])
    if table is None:
        return read_data(data, options, show_progress, part="test")
    with step("Reading data", show_progress):
        return dataset_like(data, table, train)
