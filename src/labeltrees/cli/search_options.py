"""Options for how labels are searched, generated from `SearchRequest`."""

from __future__ import annotations

import functools
import logging
from dataclasses import dataclass
from typing import Any

import click
import numpy as np

from labeltrees._matrices import Float32s, Int64s
from labeltrees._settings import settings_of
from labeltrees._validation import check_number
from labeltrees.cli.options import Decorator, add_options, given_options, refuse_option, setting_options
from labeltrees.data.files import read_lines
from labeltrees.errors import FileFormatError, InputError
from labeltrees.metrics import propensities_of_counts
from labeltrees.metrics.propensity import MIN_POINTS
from labeltrees.models.common.protocol import Model
from labeltrees.search.request import SearchRequest

# Settings of a search that commands offer in another way (k, candidates), or not at all.
_SKIPPED = (
    "k",
    "search",
    "max_chunks",
    "max_microseconds",
    "candidates",
    "exclude",
    "label_weight",
    "limits",
    "threshold",
)
_NAMES = tuple(item.name for item in settings_of(SearchRequest) if item.name not in _SKIPPED)


@dataclass(frozen=True)
class SearchOptions:
    """The search options that the user has set."""

    given: dict[str, Any]

    def make_request(self, model: Model, k: int, **labels: Any) -> SearchRequest:
        """Return the request for k labels, completed by the model; `labels` are candidates, exclude, label_weight."""
        unsupported = next((name for name in self.given if name in model.UNSUPPORTED), None)
        if unsupported is not None:
            refuse_option("--" + unsupported.replace("_", "-"), f"a {model.KIND}", "its search is always exact")
        return model.complete_request(SearchRequest(k, **self.given, **labels))


def search_options(command: Any) -> Any:
    """Add the options for how labels are searched; the command gets them as one SearchOptions named `search`."""

    @functools.wraps(command)
    def packed(*arguments: Any, **parameters: Any) -> Any:
        given = given_options({name: parameters.pop(name) for name in _NAMES})
        return command(*arguments, search=SearchOptions(given), **parameters)

    return setting_options(SearchRequest, skip=_SKIPPED)(packed)


_logger = logging.getLogger("labeltrees")
RAW_SCORES = (
    "the probabilities of this model are not calibrated: they are its scores, which are usually too low. "
    "To calibrate it: labeltrees calibrate %s DATA"
)


@dataclass(frozen=True)
class ScoreOptions:
    """How scores are shown: the options as they were given."""

    proba: bool
    threshold: float | None

    def check(self, model: Model, folder: str, label_weight: str | None) -> None:
        """Raise `InputError` if the model has no probabilities, or if the options do not belong together."""
        if self.threshold is not None:
            check_number("threshold", self.threshold, 0, 1 if label_weight is None else np.inf, low_open=True)
        if not self.proba:
            return
        if label_weight is not None:
            refuse_option("--proba", "--label-weight", "weighted scores are not probabilities")
        if not hasattr(model, "predict_proba"):
            message = (
                f"{folder}: --proba needs probabilities, which this model has not learned yet: run labeltrees "
                f"calibrate {folder} DATA on points that it was not trained on"
            )
            raise InputError(message)
        if model.calibration_ is None:
            _logger.warning(RAW_SCORES, folder)

    def values(self, model: Model, scores: Float32s) -> Float32s:
        """Return scores, or their probabilities."""
        if not self.proba or model.calibration_ is None:
            return scores
        return model.calibration_(scores)

    def apply(self, model: Model, labels: Int64s, scores: Float32s) -> tuple[Int64s, Float32s]:
        """Return labels (n, k) padded with -1, and their values; labels below the threshold are left out."""
        values = self.values(model, scores)
        if self.threshold is None:
            return labels, values
        return np.where(values >= self.threshold, labels, -1), values


def score_options(threshold_help: str) -> Decorator:
    """Return a decorator that adds the options; the command gets them as one ScoreOptions named `score`."""

    def decorate(command: Any) -> Any:
        @functools.wraps(command)
        def packed(*arguments: Any, proba: bool, threshold: float | None, **given: Any) -> Any:
            return command(*arguments, score=ScoreOptions(proba, threshold), **given)

        options = [
            click.option("--proba", is_flag=True, help="Probabilities instead of scores (labeltrees calibrate)."),
            click.option("--threshold", type=float, metavar="T", help=threshold_help),
        ]
        return add_options(options)(packed)

    return decorate


_PROPENSITY = "propensity"

label_weight_option = click.option(
    "--label-weight",
    metavar="FILE|propensity",
    help="Multiply the scores of labels. FILE has lines label TAB weight; other labels have weight 1. propensity: "
    "1 / propensity, which gives the best lists for PSP.",
)


def read_label_weight(given: str | None, model: Model, propensity: tuple[float, float] = (0.55, 1.5)) -> Any:
    """Return the weights that the option asks for, one per label of the model, or None.

    Parameters
    ----------
    given : str or None
        A file, or the word propensity.
    model : Model
    propensity : (float, float)
        The constants A and B of propensities.
    """
    if given is None:
        return None
    if given == _PROPENSITY:
        if model.n_points_ is None or model.n_points_ < MIN_POINTS:
            message = f"--label-weight propensity needs a model that was trained on at least {MIN_POINTS} known points"
            raise InputError(message)
        return 1 / propensities_of_counts(model.label_counts_, model.n_points_, *propensity)
    names = range(len(model.classes_)) if model.label_names_ is None else model.label_names_
    ids = {str(name): label for label, name in enumerate(names)}
    weights = np.ones(len(ids))
    for number, line in enumerate(read_lines(given), start=1):
        if not line:
            continue
        name, tab, text = line.rpartition("\t")
        if not tab:
            message = f"{given}, line {number}: must be a label, a tab and a weight, got {line!r}"
            raise FileFormatError(message)
        if name not in ids:
            message = f"{given}, line {number}: the model has no label {name!r}"
            raise FileFormatError(message)
        weights[ids[name]] = _weight(given, number, text)
    return weights


def _weight(path: str, number: int, text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = -1.0
    if not 0 <= weight < np.inf:
        message = f"{path}, line {number}: the weight must be a number of at least 0, got {text!r}"
        raise FileFormatError(message)
    return weight
