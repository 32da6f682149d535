"""The part of a saved model that all families share: settings, label names and counts, calibration, early stopping."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from labeltrees._settings import Parameters, check_settings
from labeltrees.tree.label_tree import LabelTree

# Stands for a LabelTree passed as parameter: the trained tree is that tree, so `load` takes it from the arrays.
GIVEN_TREE = "given"
LABEL_TEXTS = "label_texts."  # the prefix of the arrays
EARLY_STOP = "agreement"  # the key in the manifest, and the prefix of the arrays


def shared_to_files(model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters and the arrays that every family saves."""
    check_settings(model)
    settings = model.get_params(deep=False)
    if isinstance(settings["tree"], LabelTree):
        settings["tree"] = GIVEN_TREE
    parameters = {
        "settings": {name: _json_value(value) for name, value in settings.items()},
        "n_labels": model.searcher_.n_labels,
        "n_points": model.n_points_,
        "stats": model.stats_,
    }
    arrays: dict[str, Any] = {"label_counts": model.label_counts_}
    if model._label_names is not None:
        arrays["label_names"], arrays["label_names.ends"] = model._label_names.to_arrays()
    if getattr(model, "label_texts_", None) is not None:
        arrays |= model.label_texts_.arrays(LABEL_TEXTS)
    if model.calibration_ is not None:
        arrays["calibration.scores"] = model.calibration_.scores
        arrays["calibration.probabilities"] = model.calibration_.probabilities
    early_stop = getattr(model, "early_stop_", None)
    if early_stop is not None:
        parameters[EARLY_STOP] = {"n_checked": early_stop.n_checked}
        arrays |= early_stop.arrays(f"{EARLY_STOP}.")
    return parameters, arrays


def _json_value(value: Any) -> Any:
    if isinstance(value, Parameters):
        # Label embeddings are left out: they were needed only to build the tree.
        return {name: _json_value(part) for name, part in value.get_params().items() if name != "embeddings"}
    if isinstance(value, Mapping):
        return {name: _json_value(part) for name, part in value.items()}
    if isinstance(value, np.generic):
        return value.item()
    return None if isinstance(value, np.random.RandomState) else value
