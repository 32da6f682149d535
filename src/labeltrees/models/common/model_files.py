"""Saving and loading the parts shared by all families: settings, label names and counts, calibration, early stopping.

Everything read from files is checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from labeltrees._settings import Parameters, check_settings, check_values, checks_of
from labeltrees._validation import check_integer
from labeltrees.data.label_sets import CLASSES, NUMBERS, SETS
from labeltrees.data.label_texts import LabelTexts
from labeltrees.errors import FileFormatError
from labeltrees.models.common.early_stop import EarlyStop
from labeltrees.models.common.label_names import LabelNames, StoredNames
from labeltrees.models.common.scores import Calibration
from labeltrees.storage import LoadedModel
from labeltrees.tree.arrays import TreeArrays
from labeltrees.tree.label_tree import LabelTree

# Settings of version 0.1 that later became part of another setting, with the defaults of that version.
_TREE = {"smoothing": 0.1, "cover": "marginal", "cover_softness": 0.0, "path": "weighted", "weights_of": "root"}
_SOLVER = {"score_power": 3, "eps": 0.1, "max_iter": 100, "prune_below": 0.1}
_LABEL_TEXTS = {"label_text_points": "missing", "label_text_weight": 1.0, "label_text_embedding": 0.5}
# Settings missing from the oldest models, with the values that keep their behaviour.
_ADDED_TO_ALL = {"weights_of": "root"}
_ADDED_TO_LINEAR = {
    "evidence": None,
    "label_text_embedding": 0.0,
    "label_text_points": "none",
    "label_text_weight": 1.0,
    "trend": None,
}
_ADDED_TO_TEXT = {"shuffle": False}


def current_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a manifest under their current names; current settings are returned unchanged.

    Examples
    --------
    >>> old = {"tree": None, "smoothing": 0.5, "cover": "marginal", "cover_softness": 0.0, "path": "weighted"}
    >>> current_settings(old)["tree"]["smoothing"]
    0.5
    """
    if "smoothing" not in settings:
        return settings
    is_linear = "loss" in settings
    old = _ADDED_TO_ALL | (_ADDED_TO_LINEAR if is_linear else _ADDED_TO_TEXT) | settings
    gone = _TREE | (_SOLVER | _LABEL_TEXTS if is_linear else {})
    if not old.keys() >= gone.keys() | {"tree"}:
        return settings  # damaged: the reader reports the missing names
    new = {name: value for name, value in old.items() if name not in gone and name != "negatives"}
    tree = {name: old[name] for name in _TREE}
    if old["tree"] is None and tree != _TREE:
        new["tree"] = tree | {"tolerance": 1e-4}
    if not is_linear:
        return new
    solver = {name: old[name] for name in _SOLVER}
    if solver != _SOLVER:
        new["loss"] = {"loss": old["loss"]} | solver
    texts = {name: old[name] for name in _LABEL_TEXTS}
    new["label_texts"] = texts["label_text_points"]
    if texts != _LABEL_TEXTS | {"label_text_points": new["label_texts"]}:
        new["label_texts"] = {name.removeprefix("label_text_"): value for name, value in texts.items()}
    if old.get("search") == "beam":  # it found the same labels
        new["search"] = "best_first"
    return new


# Replaces a LabelTree passed as `tree`: it is also the trained tree, so `load` takes it from the arrays.
GIVEN_TREE = "given"
LABEL_TEXTS = "label_texts."  # the prefix of the arrays
LABELS = "labels"  # the manifest key of the kind of labels, if each point has exactly one label
RETIRED = "retired"  # the manifest key, and the name of the array
EARLY_STOP = "agreement"  # the manifest key, and the prefix of the arrays


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
        if model._label_names.kind != SETS:
            parameters[LABELS] = model._label_names.kind
    if getattr(model, "label_texts_", None) is not None:
        arrays |= model.label_texts_.arrays(LABEL_TEXTS)
    if model.calibration_ is not None:
        arrays["calibration.scores"] = model.calibration_.scores
        arrays["calibration.probabilities"] = model.calibration_.probabilities
    if len(model.searcher_.retired):
        # Also a parameter, so that releases without retired labels refuse the file instead of returning these labels.
        parameters[RETIRED] = len(model.searcher_.retired)
        arrays[RETIRED] = model.searcher_.retired
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


_SHARED_KEYS = {"settings", "n_labels", "n_points", "stats"}


class ModelReader:
    """Reads the parts of an opened folder. Every fault raises a `FileFormatError` that names the folder."""

    def __init__(self, loaded: LoadedModel) -> None:
        self.source = loaded.folder
        self.arrays = loaded.arrays
        self.parameters = loaded.manifest.parameters

    def fail(self, fault: str) -> NoReturn:
        """Raise `FileFormatError` for a fault."""
        message = f"{self.source}: {fault}"
        raise FileFormatError(message)

    def check_keys(self, what: str, mapping: Any, keys: set[str]) -> None:
        """Refuse an object whose keys are not exactly `keys`."""
        if not isinstance(mapping, dict) or set(mapping) != keys:
            different = set(mapping) ^ keys if isinstance(mapping, dict) else {repr(mapping)}
            self.fail(f"{what} must have the keys {sorted(keys)}; missing or unknown: {sorted(different)}"[:600])

    def check_parameters(self, keys: set[str], optional: frozenset[str] = frozenset()) -> None:
        """Check the keys of the manifest's parameters: the shared ones, the family's `keys`, and `optional` ones."""
        present = (optional | {EARLY_STOP, LABELS, RETIRED}) & self.parameters.keys()
        self.check_keys("parameters", self.parameters, _SHARED_KEYS | keys | present)
        if self.parameters.get(LABELS, CLASSES) not in (CLASSES, NUMBERS):
            self.fail(f"{LABELS} must be one of {CLASSES}, {NUMBERS}")
        if not isinstance(self.parameters["stats"], dict):
            self.fail("stats must be an object")
        renamed = self.parameters["stats"].get("renamed", {})
        if not isinstance(renamed, dict) or not all(isinstance(name, str) for name in renamed.values()):
            self.fail("renamed must be an object of names")

    def check_counts(self, names: tuple[str, ...], largest: int) -> None:
        """Refuse counts that are not integers from 1 to `largest`."""
        for name in names:
            check_integer(name, self.parameters[name], 1, largest)

    def read_settings(self, cls: Any, parts: dict[str, Any], not_saved: frozenset[str] = frozenset()) -> dict[str, Any]:
        """Return the parameters of the estimator `cls`, after the checks of its settings.

        Parameters
        ----------
        cls : class
        parts : dict
            The classes of the parameters that may be objects, such as `TreeBuilder` for ``"tree"``.
        not_saved : set of str
            Parameters that are not in files.
        """
        settings: dict[str, Any] = self.parameters["settings"]
        checks = checks_of(cls)
        if isinstance(settings, dict):
            settings = dict(current_settings(settings))
        self.check_keys("settings", settings, checks.keys() - not_saved)
        for name, part in parts.items():
            if isinstance(settings[name], dict):
                self.check_keys(name, settings[name], checks_of(part).keys() - {"embeddings"})
                settings[name] = part(**settings[name])
        check_values({**settings, "tree": None} if settings["tree"] == GIVEN_TREE else settings, checks)
        return settings

    def set_shared(self, model: Any) -> None:
        """Set the fitted attributes that all families share; `searcher_` and the trees must already be set."""
        if model.tree == GIVEN_TREE:
            model.tree = model.tree_
        model.n_points_ = self.parameters["n_points"]
        model.stats_ = self.parameters["stats"]
        model.label_counts_ = self.label_counts()
        model.searcher_.set_prior(model.label_counts_, model.n_points_)
        model.searcher_.set_retired(self.retired())
        model._label_names = self.label_names()
        model.label_texts_ = LabelTexts.from_arrays(
            self.arrays, LABEL_TEXTS, self.parameters["n_labels"], str(self.source)
        )
        model.calibration_ = self.calibration()
        model.early_stop_ = self.early_stop()

    def tree(self, child_ptr: Any, children: Any, prefix: str = "") -> LabelTree:
        """Return a tree with its saved label weights, if any; the tree is checked on first use."""
        name, n_labels = f"{prefix}label_weights", self.parameters["n_labels"]
        weights = self.arrays.get(name)
        if weights is not None and (weights.shape != (n_labels,) or weights.dtype != np.float64):
            self.fail(f"{name} does not have one number per label")
        return LabelTree._adopt(TreeArrays(child_ptr, children, n_labels, None, weights), check=False)

    def label_counts(self) -> Any:
        """Return the number of training points of each label."""
        counts = self.arrays.get("label_counts")
        if counts is None or counts.shape != (self.parameters["n_labels"],) or counts.dtype != np.int64:
            self.fail("label_counts does not have one count per label")
        return counts

    def retired(self) -> Any:
        """Return the ids of the labels that no search returns."""
        if RETIRED not in self.parameters:
            return np.zeros(0, np.int32)
        labels, n_labels = self.arrays.get(RETIRED), self.parameters["n_labels"]
        if labels is None or labels.dtype != np.int32 or labels.shape != (self.parameters[RETIRED],) or not len(labels):
            self.fail("the retired labels are damaged")
        if not (np.diff(labels) > 0).all() or labels[0] < 0 or labels[-1] >= n_labels:
            self.fail("the retired labels must be ids of labels in rising order")
        return labels

    def label_names(self) -> LabelNames | None:
        """Return the names of the labels, if they have names."""
        if "label_names" not in self.arrays:
            return None
        names = StoredNames(*self.name_arrays("label"), self.source)
        if len(names) != self.parameters["n_labels"]:
            self.fail(f"{len(names)} label names for {self.parameters['n_labels']} labels")
        names.kind = self.parameters.get(LABELS, SETS)
        return names

    def name_arrays(self, kind: str) -> tuple[Any, Any]:
        """Return the two arrays of label or feature names."""
        text, ends = self.arrays[f"{kind}_names"], self.arrays.get(f"{kind}_names.ends")
        if ends is None or text.dtype != np.uint8 or ends.dtype != np.int64 or text.ndim != 1 or ends.ndim != 1:
            self.fail(f"the {kind} names are damaged")
        return text, ends

    def calibration(self) -> Calibration | None:
        """Return the calibration, if there is one."""
        if "calibration.scores" not in self.arrays:
            return None
        scores, probabilities = self.arrays["calibration.scores"], self.arrays.get("calibration.probabilities")
        if probabilities is None or not (calibration := Calibration(scores, probabilities)).is_sound():
            self.fail("the calibration is damaged")
        return calibration

    def early_stop(self) -> EarlyStop | None:
        """Return the discounts for stopping searches early, if they were learned."""
        if EARLY_STOP not in self.parameters:
            return None
        self.check_keys(EARLY_STOP, self.parameters[EARLY_STOP], {"n_checked"})
        try:
            early_stop = EarlyStop.from_arrays(self.arrays, f"{EARLY_STOP}.", self.parameters[EARLY_STOP]["n_checked"])
        except KeyError as missing:
            self.fail(f"the array {missing} of the bounds for agreement is missing")
        if not early_stop.is_sound() or early_stop.k[-1] > self.parameters["n_labels"]:
            self.fail("the bounds for agreement are damaged")
        return early_stop

    def check_names_differ(self, names: Any) -> None:
        """Refuse duplicate label names."""
        if len(set(names.tolist())) < len(names):
            self.fail("a label name occurs twice")
