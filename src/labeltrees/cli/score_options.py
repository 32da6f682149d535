"""Options for the scores of returned labels: as probabilities, and with a threshold."""

from __future__ import annotations

import functools
import logging
from dataclasses import dataclass
from typing import Any

import click
import numpy as np

from labeltrees._matrices import Float32s, Int64s
from labeltrees._validation import check_number
from labeltrees.cli.options import Decorator, add_options, refuse_option
from labeltrees.errors import InputError
from labeltrees.models.common.protocol import Model

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
        """Return scores, or the probabilities that they stand for."""
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
