"""The option --label-weight: weights of labels, from a file or from their propensities."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from labeltrees.cli.data_argument import read_lines
from labeltrees.errors import FileFormatError, InputError
from labeltrees.metrics import propensities_of_counts
from labeltrees.metrics.propensity import MIN_POINTS
from labeltrees.models.common.protocol import Model

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
