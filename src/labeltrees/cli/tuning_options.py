"""Options that `sweep` and `choose` share, and functions that read their DATA."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from labeltrees.cli.command import RareOption
from labeltrees.cli.data_options import data_options
from labeltrees.cli.options import (
    Decorator,
    NumberOrWord,
    add_options,
    classifier_option_names,
    classifier_options,
    classifier_parameters,
    given_options,
    jobs_option,
    seed_option,
    setting_options,
)
from labeltrees.cli.output import plural, step
from labeltrees.cli.search_options import rule_options
from labeltrees.data import Dataset
from labeltrees.data.data_folder import has_test_file
from labeltrees.data.read_data import DataOptions, load_data
from labeltrees.models.linear.estimator import LabelTreeClassifier
from labeltrees.search.request import SearchRequest
from labeltrees.tuning.candidates import PAPER_GRIDS, TRADEOFFS
from labeltrees.tuning.data import SHARE
from labeltrees.tuning.study import count_finished

# Parameters of the estimator that the commands offer in another way, or not at all.
_SKIPPED = ("tradeoff", "fanout", "cover", "path")


def list_of(kind: Callable[[str], Any]) -> Callable[[click.Context, click.Parameter, str | None], list[Any] | None]:
    """Return a callback that reads values separated by commas."""

    def read(_context: click.Context, parameter: click.Parameter, value: str | None) -> list[Any] | None:
        if value is None:
            return None
        try:
            return [kind(part) for part in value.split(",")]
        except (ValueError, click.BadParameter):
            message = f"{value!r} is not a list of numbers such as {parameter.metavar}."
            raise click.BadParameter(message) from None

    return read


def _tradeoffs(context: click.Context, parameter: click.Parameter, value: str | None) -> Any:
    return value if value in PAPER_GRIDS else list_of(float)(context, parameter, value)


def fanouts_option(default: str) -> Decorator:
    """Return the option --fanouts; `default` is the default in its help text."""
    return click.option(
        "--fanouts",
        metavar="16,128",
        callback=list_of(lambda text: NumberOrWord(int, "N|auto").convert(text, None, None)),
        help=f"Maximum numbers of children per node to try, or auto. [default: {default}]",
    )


tuning_options = add_options(
    [
        data_options(),
        click.option(
            "--tradeoffs",
            metavar="0,0.5,1",
            callback=_tradeoffs,
            help="Tradeoffs to try, or one of the paper's grids: parabel, fasttext, logs. [default: "
            + ",".join(f"{t:g}" for t in TRADEOFFS)
            + "]",
        ),
        click.option(
            "--folder",
            type=click.Path(file_okay=False),
            help="Keep finished settings in this folder; an interrupted run continues from there.",
        ),
        classifier_options(LabelTreeClassifier, skip=_SKIPPED, daily=False),
        functools.partial(rule_options, cls=RareOption),
        setting_options(SearchRequest, only=("diversity",)),
        seed_option,
        jobs_option,
    ]
)


def split_parameters(
    parameters: dict[str, Any], show_progress: bool, make: Callable[..., LabelTreeClassifier] = LabelTreeClassifier
) -> tuple[LabelTreeClassifier, dict[str, Any]]:
    """Return the estimator, made by `make` and changed by the options, and the arguments of `sweep` or `choose`."""
    known = classifier_option_names(LabelTreeClassifier)
    given = given_options({name: value for name, value in parameters.items() if name in known})
    shared = given_options({name: parameters[name] for name in ("random_state", "n_jobs", "k") if name in parameters})
    others = {name: value for name, value in parameters.items() if name not in {*known, "random_state", "n_jobs"}}
    estimator = make(**shared, verbose=int(show_progress))
    return estimator.set_params(**classifier_parameters(given)), others


def hide_memory_log() -> None:
    """Hide the line about memory that each training logs, for commands that train many similar models."""
    logger = logging.getLogger("labeltrees.training")
    before = logger.level
    logger.setLevel(logging.WARNING)
    click.get_current_context().call_on_close(lambda: logger.setLevel(before))


def read_part(
    data: str, reading: DataOptions, show_progress: bool, part: str = "train", like: Dataset | None = None
) -> Dataset:
    """Read a part of DATA; texts get the features and labels of the training data `like`, if given."""
    with step("Reading data", show_progress):
        return load_data(data, part, reading, like=like)


def read_validation(
    data: str, validation: str | None, train: Dataset, reading: DataOptions, show_progress: bool
) -> Dataset | float:
    """Return the points to measure on: other data, the test part of DATA, or the share of DATA to hold out."""
    if validation is not None:
        return read_part(validation, reading, show_progress, "test", train)
    if has_test_file(data, reading.format) or reading.test_share is not None:
        return read_part(data, reading, show_progress, "test")
    return SHARE


@contextmanager
def saying_how_to_continue(folder: str | None) -> Iterator[None]:
    """After Ctrl-C, add the number of finished settings and how to continue to the message."""
    try:
        yield
    except KeyboardInterrupt:
        message = "nothing was kept; with --folder FOLDER, finished settings are kept and the same command continues"
        if folder is not None:
            finished = plural(count_finished(folder), "finished setting")
            message = f"{finished} in {folder}; run the same command again to continue"
        raise KeyboardInterrupt(message) from None
