"""The table of model families that can be profiled."""

from __future__ import annotations

from typing import Any

from labeltrees._validation import refuse
from labeltrees.models.linear.estimator import LabelTreeClassifier
from labeltrees.models.text.estimator import TextLabelTreeClassifier
from labeltrees.profiling.linear_meter import LinearMeter
from labeltrees.profiling.meter import SearchMeter
from labeltrees.profiling.text_meter import TextMeter

METERS: dict[type, Any] = {LabelTreeClassifier: LinearMeter, TextLabelTreeClassifier: TextMeter}


def make_meter(model: Any) -> SearchMeter:
    """Return what counts and times the searches of a fitted model."""
    meter = METERS.get(type(model))
    if meter is None:
        refuse("model", "a " + " or a ".join(family.__name__ for family in METERS), model)
    made: SearchMeter = meter(model.searcher_)
    return made
