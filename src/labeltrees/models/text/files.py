"""The text model as a folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from labeltrees.errors import InputError
from labeltrees.models.common.model_files import ModelReader, shared_to_files
from labeltrees.models.text.searcher import TextSearcher
from labeltrees.models.text.store import TextStore
from labeltrees.storage import LoadedModel, save_arrays
from labeltrees.tree.settings import TreeBuilder

if TYPE_CHECKING:
    from labeltrees.models.text.estimator import TextLabelTreeClassifier


def save_text_model(model: TextLabelTreeClassifier, folder: str | os.PathLike[str]) -> None:
    """Write a fitted model."""
    store = model.searcher_.store
    parameters, arrays = shared_to_files(model)
    # What was trained, whatever `set_params` has changed since.
    parameters["shape"] = {name: getattr(store, name) for name in TextStore.NUMBERS}
    arrays |= {name: getattr(store, name) for name, _ in TextStore.ARRAYS}
    if model.tree_.label_weights is not None:
        arrays["label_weights"] = model.tree_.label_weights
    save_arrays(folder, model.KIND, parameters, arrays)


def open_text_model(loaded: LoadedModel, *, verify: bool = False) -> TextLabelTreeClassifier:
    """Make a model from an opened folder; `verify` reads and checks all of it."""
    return _TextReader(loaded).read(verify)


class _TextReader(ModelReader):
    def read(self, verify: bool) -> TextLabelTreeClassifier:
        try:
            model = self.read_parameters()
        except InputError as error:
            self.fail(f"the manifest's parameters are damaged: {error}")
        store = self.read_store()
        model.searcher_ = TextSearcher(store)
        model.tree_ = self.tree(store.child_ptr, store.children)
        if self.parameters["n_points"] == 1 and "seconds" not in self.parameters["stats"]:
            self.parameters["n_points"] = None  # imported from fastText by an old release, which saved 1 for "unknown"
        self.set_shared(model)
        if verify:
            store.check_all()
            self.check_names_differ(model.classes_)
        return model

    def read_parameters(self) -> TextLabelTreeClassifier:
        from labeltrees.models.text.estimator import TextLabelTreeClassifier

        parameters = self.parameters
        self.check_parameters({"shape"})
        settings = self.read_settings(TextLabelTreeClassifier, {"tree": TreeBuilder})
        self.check_keys("shape", parameters["shape"], set(TextStore.NUMBERS))
        self.check_counts(("n_labels",) if parameters["n_points"] is None else ("n_labels", "n_points"), 2**62)
        if parameters["shape"]["n_labels"] != parameters["n_labels"]:
            self.fail("n_labels occurs twice in the manifest, with different values")
        return TextLabelTreeClassifier(**settings)

    def read_store(self) -> TextStore:
        for name, _ in TextStore.ARRAYS:
            if name not in self.arrays:
                self.fail(f"the array {name} is missing")
        arrays: dict[str, Any] = {name: self.arrays[name] for name, _ in TextStore.ARRAYS}
        return TextStore(**arrays, **self.parameters["shape"], source=self.source)
