"""The linear model as a folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from labeltrees._settings import check_settings, check_values, checks_of
from labeltrees._validation import check_integer
from labeltrees.data.tfidf_files import tfidf_from_files, tfidf_to_files, verify_tfidf
from labeltrees.errors import InputError
from labeltrees.models.common.error_costs import label_costs
from labeltrees.models.common.model_reader import EARLY_STOP, Opener, early_stop_to_files
from labeltrees.search import Searcher
from labeltrees.storage import ChunkStore, LoadedModel, decode_names, encode_names, save_arrays
from labeltrees.tree.arrays import TreeArrays
from labeltrees.tree.label_tree import LabelTree

if TYPE_CHECKING:
    from labeltrees.models.linear.estimator import LabelTreeClassifier

KIND = "LabelTreeClassifier"
# A tree that was given is what was trained, and is found again in its place. Embeddings only led to the tree.
GIVEN_TREE = "given"
_KEYS = {"settings", "scoring", "n_labels", "n_features", "n_points", "matrices", "n_trees", "stats"}


def save_classifier(model: LabelTreeClassifier, folder: str | os.PathLike[str]) -> None:
    """Write a fitted model."""
    searcher = model.searcher_
    settings = model.get_params(deep=False)
    check_settings(model)
    arrays: dict[str, Any] = {"label_counts": model.label_counts_}
    if not isinstance(settings["class_weight"], str | None):
        # As many numbers as labels do not belong in the manifest, nor do the keys of a mapping.
        arrays["class_weight"] = label_costs(settings["class_weight"], searcher.n_labels, model._label_names)
        settings["class_weight"] = None
    if isinstance(settings["tree"], LabelTree):
        settings["tree"] = GIVEN_TREE
    del settings["embeddings"]
    given_vectorizer = settings.pop("vectorizer") is not None
    parameters = {
        "settings": {name: plain(value) for name, value in settings.items()},
        # What the classifiers were trained for, whatever `set_params` has changed since.
        "scoring": {"loss": searcher.loss, "score_power": searcher.score_power, "normalize": searcher.normalize},
        "n_labels": searcher.n_labels,
        "n_features": searcher.n_features,
        "n_points": model.n_points_,
        "matrices": searcher.stores[0].matrices,
        "n_trees": len(searcher.stores),
        "stats": model.stats_,
    }
    for number, (store, tree) in enumerate(zip(searcher.stores, model.trees_, strict=True)):
        arrays |= store.arrays(f"tree{number}.")
        if tree.label_weights is not None:
            arrays[f"tree{number}.label_weights"] = tree.label_weights
    if model._label_names is not None:
        arrays["label_names"], arrays["label_names.ends"] = model._label_names.to_arrays()
    if hasattr(model, "feature_names_in_"):
        arrays["feature_names"], arrays["feature_names.ends"] = encode_names(model.feature_names_in_.tolist())
    if model.calibration_ is not None:
        arrays["calibration.scores"] = model.calibration_.scores
        arrays["calibration.probabilities"] = model.calibration_.probabilities
    of_early_stop, its_arrays = early_stop_to_files(getattr(model, "early_stop_", None))
    parameters |= of_early_stop
    arrays |= its_arrays
    if getattr(model, "vectorizer_", None) is not None:
        of_vectorizer, its_arrays = tfidf_to_files(model.vectorizer_, "vectorizer.")
        parameters["vectorizer"] = {"settings": of_vectorizer, "given": given_vectorizer}
        arrays |= its_arrays
    save_arrays(folder, KIND, parameters, arrays)


def plain(value: Any) -> Any:
    """Return a parameter as a JSON value."""
    if isinstance(value, np.generic):
        return value.item()
    return None if isinstance(value, np.random.RandomState) else value


def open_classifier(loaded: LoadedModel, *, verify: bool = False) -> LabelTreeClassifier:
    """Put a model together from an opened folder; `verify` reads and checks all of it."""
    return _LinearOpener(loaded).open(verify)


class _LinearOpener(Opener):
    def open(self, verify: bool) -> LabelTreeClassifier:
        try:
            model, scoring = self.read_parameters()
        except InputError as error:
            self.fail(f"the manifest's parameters are damaged: {error}")
        stores = [self.store(number) for number in range(self.parameters["n_trees"])]
        model.trees_ = [self.tree(number, store) for number, store in enumerate(stores)]
        try:
            model.searcher_ = Searcher(stores, **scoring)
        except InputError as error:
            self.fail(str(error))
        if model.tree == GIVEN_TREE:
            model.tree = model.trees_[0]
        model.n_points_, model.n_features_in_ = self.parameters["n_points"], self.parameters["n_features"]
        model.label_counts_ = self.label_counts()
        model.stats_ = self.parameters["stats"]
        model._label_names = self.label_names()
        if "feature_names" in self.arrays:
            model.feature_names_in_ = self.feature_names()
        model.calibration_ = self.calibration()
        model.early_stop_ = self.early_stop()
        self.set_vectorizer(model)
        if verify:
            self.verify(model)
        return model

    def read_parameters(self) -> tuple[LabelTreeClassifier, dict[str, Any]]:
        from labeltrees.models.linear.estimator import LabelTreeClassifier

        parameters = self.parameters
        self.check_keys("parameters", parameters, _KEYS | ({"vectorizer", EARLY_STOP} & parameters.keys()))
        settings, scoring = parameters["settings"], parameters["scoring"]
        checks = checks_of(LabelTreeClassifier)
        self.check_keys("settings", settings, checks.keys() - {"embeddings", "vectorizer"})
        self.check_keys("scoring", scoring, {"loss", "score_power", "normalize"})
        check_values({**settings, "tree": None} if settings["tree"] == GIVEN_TREE else settings, checks)
        check_values(scoring, checks)
        for name in ("n_labels", "n_features", "n_points", "n_trees"):
            check_integer(name, parameters[name], 1, 2**31 - 1)
        if not isinstance(parameters["matrices"], bool) or not isinstance(parameters["stats"], dict):
            self.fail("matrices must be true or false and stats an object")
        if settings["class_weight"] not in (None, "balanced"):
            self.fail(f"class_weight must be null or 'balanced', got {settings['class_weight']!r}"[:200])
        if "class_weight" in self.arrays:
            label_costs(self.arrays["class_weight"], parameters["n_labels"])
            settings = {**settings, "class_weight": self.arrays["class_weight"]}
        return LabelTreeClassifier(**settings), scoring

    def store(self, number: int) -> ChunkStore:
        return ChunkStore.from_arrays(
            self.arrays,
            n_labels=self.parameters["n_labels"],
            n_features=self.parameters["n_features"],
            matrices=self.parameters["matrices"],
            prefix=f"tree{number}.",
            source=f"{self.source}, tree {number}",
        )

    def tree(self, number: int, store: ChunkStore) -> LabelTree:
        name = f"tree{number}.label_weights"
        weights = self.arrays.get(name)
        self.check_label_weights(name, weights, store.n_labels)
        parts = TreeArrays(store.child_ptr, store.children, store.n_labels, None, weights)
        return LabelTree._adopt(parts, check=False)

    def feature_names(self) -> Any:
        names = decode_names(*self.name_arrays("feature"), self.source)
        if len(names) != self.parameters["n_features"]:
            self.fail(f"{len(names)} feature names for {self.parameters['n_features']} features")
        return np.array(names, dtype=object)

    def set_vectorizer(self, model: LabelTreeClassifier) -> None:
        model.vectorizer_ = None
        if "vectorizer" not in self.parameters:
            return
        entry = self.parameters["vectorizer"]
        self.check_keys("vectorizer", entry, {"settings", "given"})
        model.vectorizer_ = tfidf_from_files(entry["settings"], self.arrays, "vectorizer.", self.source)
        n_features = model.vectorizer_.get_state().n_features
        if n_features != self.parameters["n_features"]:
            self.fail(f"a vectorizer of {n_features} features for a model of {self.parameters['n_features']}")
        if entry["given"] is True:
            model.vectorizer = clone(model.vectorizer_)

    def verify(self, model: LabelTreeClassifier) -> None:
        model.searcher_.check()
        if model.vectorizer_ is not None:
            verify_tfidf(model.vectorizer_)
        for number, tree in enumerate(model.trees_):
            try:
                tree.label_parent  # noqa: B018  checks the tree
            except InputError as error:
                self.fail(f"tree {number}: {error}")
        self.check_names_differ(model.classes_)
