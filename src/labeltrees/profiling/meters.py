"""The table of model families that can be profiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from labeltrees._validation import refuse
from labeltrees.profiling.linear_meter import LinearMeter
from labeltrees.profiling.meter import SearchMeter
from labeltrees.profiling.text_meter import TextMeter

METERS: dict[str, Callable[[Any], SearchMeter]] = {  # by the model's KIND, made from its searcher
    "LabelTreeClassifier": LinearMeter,
    "TextLabelTreeClassifier": TextMeter,
}


def make_meter(model: Any) -> SearchMeter:
    """Return the object that counts and times the searches of a fitted model."""
    meter = METERS.get(getattr(model, "KIND", ""))
    if meter is None:
        refuse("model", "a fitted " + " or ".join(METERS), model)
    return meter(model.searcher_)
