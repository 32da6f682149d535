"""The text model as a folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from labeltrees._settings import check_settings, check_values, checks_of
from labeltrees._validation import check_integer
from labeltrees.errors import InputError
from labeltrees.models.common.model_reader import EARLY_STOP, Opener, early_stop_to_files
from labeltrees.models.linear.files import GIVEN_TREE, plain
from labeltrees.models.text.searcher import TextSearcher
from labeltrees.models.text.store import TextStore
from labeltrees.storage import LoadedModel, save_arrays
from labeltrees.tree.arrays import TreeArrays
from labeltrees.tree.label_tree import LabelTree

if TYPE_CHECKING:
    from labeltrees.models.text.estimator import TextLabelTreeClassifier

KIND = "TextLabelTreeClassifier"
_KEYS = {"settings", "shape", "n_labels", "n_points", "stats"}


def save_text_model(model: TextLabelTreeClassifier, folder: str | os.PathLike[str]) -> None:
    """Write a fitted model."""
    store = model.searcher_.store
    settings = model.get_params(deep=False)
    check_settings(model)
    if isinstance(settings["tree"], LabelTree):
        settings["tree"] = GIVEN_TREE
    del settings["embeddings"]
    parameters = {
        "settings": {name: plain(value) for name, value in settings.items()},
        # What was trained, whatever `set_params` has changed since.
        "shape": {name: getattr(store, name) for name in TextStore.NUMBERS},
        "n_labels": store.n_labels,
        "n_points": model.n_points_,
        "stats": model.stats_,
    }
    arrays: dict[str, Any] = {name: getattr(store, name) for name, _ in TextStore.ARRAYS}
    arrays["label_counts"] = model.label_counts_
    if model.tree_.label_weights is not None:
        arrays["label_weights"] = model.tree_.label_weights
    if model._label_names is not None:
        arrays["label_names"], arrays["label_names.ends"] = model._label_names.to_arrays()
    if model.calibration_ is not None:
        arrays["calibration.scores"] = model.calibration_.scores
        arrays["calibration.probabilities"] = model.calibration_.probabilities
    of_early_stop, its_arrays = early_stop_to_files(getattr(model, "early_stop_", None))
    save_arrays(folder, KIND, parameters | of_early_stop, arrays | its_arrays)


def open_text_model(loaded: LoadedModel, *, verify: bool = False) -> TextLabelTreeClassifier:
    """Put a model together from an opened folder; `verify` reads and checks all of it."""
    return _TextOpener(loaded).open(verify)


class _TextOpener(Opener):
    def open(self, verify: bool) -> TextLabelTreeClassifier:
        try:
            model = self.read_parameters()
        except InputError as error:
            self.fail(f"the manifest's parameters are damaged: {error}")
        store = self.read_store()
        model.searcher_ = TextSearcher(store)
        weights = self.arrays.get("label_weights")
        self.check_label_weights("label_weights", weights, store.n_labels)
        parts = TreeArrays(store.child_ptr, store.children, store.n_labels, None, weights)
        model.tree_ = LabelTree._adopt(parts, check=False)
        if model.tree == GIVEN_TREE:
            model.tree = model.tree_
        model.n_points_ = self.parameters["n_points"]
        model.label_counts_ = self.label_counts()
        model.stats_ = self.parameters["stats"]
        model._label_names = self.label_names()
        model.calibration_ = self.calibration()
        model.early_stop_ = self.early_stop()
        if verify:
            store.check_all()
            self.check_names_differ(model.classes_)
        return model

    def read_parameters(self) -> TextLabelTreeClassifier:
        from labeltrees.models.text.estimator import TextLabelTreeClassifier

        parameters = self.parameters
        self.check_keys("parameters", parameters, _KEYS | ({EARLY_STOP} & parameters.keys()))
        settings = parameters["settings"]
        checks = checks_of(TextLabelTreeClassifier)
        self.check_keys("settings", settings, checks.keys() - {"embeddings"})
        self.check_keys("shape", parameters["shape"], set(TextStore.NUMBERS))
        check_values({**settings, "tree": None} if settings["tree"] == GIVEN_TREE else settings, checks)
        for name in ("n_labels", "n_points"):
            check_integer(name, parameters[name], 1, 2**62)
        if not isinstance(parameters["stats"], dict):
            self.fail("stats must be an object")
        if parameters["shape"]["n_labels"] != parameters["n_labels"]:
            self.fail("n_labels stands there twice and differs")
        return TextLabelTreeClassifier(**settings)

    def read_store(self) -> TextStore:
        for name, _ in TextStore.ARRAYS:
            if name not in self.arrays:
                self.fail(f"the array {name} is missing")
        arrays: dict[str, Any] = {name: self.arrays[name] for name, _ in TextStore.ARRAYS}
        return TextStore(**arrays, **self.parameters["shape"], source=self.source)
