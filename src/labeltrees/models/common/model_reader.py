"""What opening any saved model has to check: keys, label names and counts, calibration."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from labeltrees.errors import FileFormatError
from labeltrees.models.common.calibration import Calibration
from labeltrees.models.common.early_stop import EarlyStop
from labeltrees.models.common.label_names import LabelNames, StoredNames
from labeltrees.storage import LoadedModel

EARLY_STOP = "agreement"  # the key in the parameters, and what the names of the arrays start with


def early_stop_to_files(learnt: EarlyStop | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what is saved of when searches may stop: parameters and arrays, none where nothing has been learnt."""
    if learnt is None:
        return {}, {}
    return {EARLY_STOP: {"n_checked": learnt.n_checked}}, learnt.arrays(f"{EARLY_STOP}.")


class Opener:
    """An opened folder, read piece by piece; what is wrong is a `FileFormatError` that names the folder."""

    def __init__(self, loaded: LoadedModel) -> None:
        self.source = loaded.folder
        self.arrays = loaded.arrays
        self.parameters = loaded.manifest.parameters

    def fail(self, fault: str) -> NoReturn:
        """Raise the error for a fault."""
        message = f"{self.source}: {fault}"
        raise FileFormatError(message)

    def check_keys(self, what: str, mapping: Any, keys: set[str]) -> None:
        """Refuse an object that has other keys."""
        if not isinstance(mapping, dict) or set(mapping) != keys:
            odd = set(mapping) ^ keys if isinstance(mapping, dict) else {repr(mapping)}
            self.fail(f"{what} must have the keys {sorted(keys)}; missing or unknown: {sorted(odd)}"[:600])

    def label_counts(self) -> Any:
        """Return how many training points each label has."""
        counts = self.arrays.get("label_counts")
        if counts is None or counts.shape != (self.parameters["n_labels"],) or counts.dtype != np.int64:
            self.fail("label_counts is not one count a label")
        return counts

    def label_names(self) -> LabelNames | None:
        """Return the names, where labels have them."""
        if "label_names" not in self.arrays:
            return None
        names = StoredNames(*self.name_arrays("label"), self.source)
        if len(names) != self.parameters["n_labels"]:
            self.fail(f"{len(names)} label names for {self.parameters['n_labels']} labels")
        return names

    def name_arrays(self, kind: str) -> tuple[Any, Any]:
        """Return the two arrays of label or feature names."""
        text, ends = self.arrays[f"{kind}_names"], self.arrays.get(f"{kind}_names.ends")
        if ends is None or text.dtype != np.uint8 or ends.dtype != np.int64 or text.ndim != 1 or ends.ndim != 1:
            self.fail(f"the {kind} names are damaged")
        return text, ends

    def calibration(self) -> Calibration | None:
        """Return the calibration, where there is one."""
        if "calibration.scores" not in self.arrays:
            return None
        scores, probabilities = self.arrays["calibration.scores"], self.arrays.get("calibration.probabilities")
        if probabilities is None or not (calibration := Calibration(scores, probabilities)).is_sound():
            self.fail("the calibration is damaged")
        return calibration

    def early_stop(self) -> EarlyStop | None:
        """Return when searches may stop, where that has been learnt."""
        if EARLY_STOP not in self.parameters:
            return None
        self.check_keys(EARLY_STOP, self.parameters[EARLY_STOP], {"n_checked"})
        try:
            learnt = EarlyStop.from_arrays(self.arrays, f"{EARLY_STOP}.", self.parameters[EARLY_STOP]["n_checked"])
        except KeyError as missing:
            self.fail(f"the array {missing} of the bounds for agreement is missing")
        if not learnt.is_sound() or learnt.k[-1] > self.parameters["n_labels"]:
            self.fail("the bounds for agreement are damaged")
        return learnt

    def check_label_weights(self, name: str, weights: Any, n_labels: int) -> None:
        """Refuse weights that are there and are not one number a label."""
        if weights is not None and (weights.shape != (n_labels,) or weights.dtype != np.float64):
            self.fail(f"{name} is not one number a label")

    def check_names_differ(self, names: Any) -> None:
        """Refuse label names of which two are the same."""
        if len(set(names.tolist())) < len(names):
            self.fail("a label name stands twice")
