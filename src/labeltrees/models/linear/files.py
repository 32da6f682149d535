"""Saving a linear model as a folder, and loading it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from labeltrees._settings import check_values, checks_of
from labeltrees.data.encoders import encoder_from_files
from labeltrees.data.tfidf_files import tfidf_from_files, tfidf_to_files, verify_tfidf
from labeltrees.errors import InputError
from labeltrees.models.common.error_costs import label_costs
from labeltrees.models.common.model_files import ModelReader, shared_to_files
from labeltrees.models.linear.settings import Solver
from labeltrees.search import Searcher
from labeltrees.search.evidence import Evidence
from labeltrees.storage import ChunkStore, LoadedModel, decode_names, encode_names, save_arrays
from labeltrees.tree.settings import TreeBuilder

if TYPE_CHECKING:
    from labeltrees.models.linear.estimator import LabelTreeClassifier

_KEYS = {"scoring", "n_features", "matrices", "n_trees"}
_TREND = "trend"
_EVIDENCE = "evidence"  # the key in the manifest, and the prefix of the arrays


def save_classifier(model: LabelTreeClassifier, folder: str | os.PathLike[str]) -> None:
    """Save a fitted model as a folder."""
    searcher = model.searcher_
    parameters, arrays = shared_to_files(model)
    # Timings differ from run to run; without them the same training gives the same files.
    parameters["stats"] = {name: value for name, value in model.stats_.items() if not name.endswith("seconds")}
    settings = parameters["settings"]
    if not isinstance(settings["class_weight"], str | None):
        # One number per label is too much for the manifest, and JSON does not support all keys of a mapping.
        arrays["class_weight"] = label_costs(settings["class_weight"], searcher.n_labels, model._label_names)
        settings["class_weight"] = None
    given_vectorizer = settings.pop("vectorizer") is not None
    parameters |= {
        # As in training: `set_params` may have changed the parameters since.
        "scoring": {"loss": searcher.loss, "score_power": searcher.score_power, "normalize": searcher.normalize},
        "n_features": searcher.n_features,
        "matrices": searcher.stores[0].matrices,
        "n_trees": len(searcher.stores),
    }
    if searcher.evidence is not None:
        parameters[_EVIDENCE] = searcher.evidence.parameters()
        arrays |= searcher.evidence.arrays(f"{_EVIDENCE}.")
    for number, (store, tree) in enumerate(zip(searcher.stores, model.trees_, strict=True)):
        arrays |= store.arrays(f"tree{number}.")
        if tree.label_weights is not None:
            arrays[f"tree{number}.label_weights"] = tree.label_weights
    if searcher.trend is not None:
        arrays[_TREND] = searcher.trend
    if hasattr(model, "feature_names_in_"):
        arrays["feature_names"], arrays["feature_names.ends"] = encode_names(model.feature_names_in_.tolist())
    if getattr(model, "_encoder", None) is not None:
        parameters["encoder"], encoder_arrays = model._encoder.to_files("encoder.")
        arrays |= encoder_arrays
    if getattr(model, "vectorizer_", None) is not None:
        vectorizer_settings, vectorizer_arrays = tfidf_to_files(model.vectorizer_, "vectorizer.")
        parameters["vectorizer"] = {"settings": vectorizer_settings, "given": given_vectorizer}
        arrays |= vectorizer_arrays
    save_arrays(folder, model.KIND, parameters, arrays)


def open_classifier(loaded: LoadedModel, *, verify: bool = False) -> LabelTreeClassifier:
    """Make a model from an opened folder; `verify` reads and checks all of it."""
    return _LinearReader(loaded).read(verify)


class _LinearReader(ModelReader):
    def read(self, verify: bool) -> LabelTreeClassifier:
        try:
            model, scoring = self.read_parameters()
        except InputError as error:
            self.fail(f"the manifest's parameters are damaged: {error}")
        stores = [self.store(number) for number in range(self.parameters["n_trees"])]
        model.trees_ = [
            self.tree(store.child_ptr, store.children, f"tree{number}.") for number, store in enumerate(stores)
        ]
        try:
            model.searcher_ = Searcher(stores, **scoring, evidence=self.evidence(scoring))
        except InputError as error:
            self.fail(str(error))
        self.set_shared(model)
        self.set_trend(model)
        model.n_features_in_ = self.parameters["n_features"]
        if "feature_names" in self.arrays:
            model.feature_names_in_ = self.feature_names()
        self.set_vectorizer(model)
        self.set_encoder(model)
        if verify:
            self.verify(model)
        return model

    def read_parameters(self) -> tuple[LabelTreeClassifier, dict[str, Any]]:
        from labeltrees.models.linear.estimator import LabelTreeClassifier

        parameters = self.parameters
        self.check_parameters(_KEYS, optional=frozenset({"vectorizer", "encoder", _EVIDENCE}))
        parts = {"tree": TreeBuilder, "loss": Solver}
        settings = self.read_settings(LabelTreeClassifier, parts, not_saved=frozenset({"vectorizer"}))
        scoring = parameters["scoring"]
        self.check_keys("scoring", scoring, {"loss", "score_power", "normalize"})
        check_values(scoring, {**checks_of(LabelTreeClassifier), **checks_of(Solver)})
        self.check_counts(("n_labels", "n_features", "n_points", "n_trees"), 2**31 - 1)
        if not isinstance(parameters["matrices"], bool):
            self.fail("matrices must be true or false")
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

    def evidence(self, scoring: dict[str, Any]) -> Evidence | None:
        if _EVIDENCE not in self.parameters:
            return None
        n_labels, n_features = self.parameters["n_labels"], self.parameters["n_features"]
        return Evidence.from_files(
            self.parameters[_EVIDENCE], self.arrays, f"{_EVIDENCE}.", n_labels, n_features, str(self.source), scoring
        )

    def set_trend(self, model: LabelTreeClassifier) -> None:
        try:
            model.searcher_.set_trend(self.arrays.get(_TREND))
        except InputError as error:
            self.fail(f"the trend of the labels is damaged: {error}")

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

    def set_encoder(self, model: LabelTreeClassifier) -> None:
        model._encoder = None
        if "encoder" not in self.parameters:
            return
        if model.vectorizer_ is not None:
            self.fail("a model must not have both an encoder and a vectorizer")
        encoder = encoder_from_files(self.parameters["encoder"], self.arrays, "encoder.", self.source)
        if encoder.n_features != self.parameters["n_features"]:
            self.fail(f"an encoder of {encoder.n_features} features for a model of {self.parameters['n_features']}")
        model._encoder = encoder

    def verify(self, model: LabelTreeClassifier) -> None:
        model.searcher_.check()
        if model.vectorizer_ is not None:
            verify_tfidf(model.vectorizer_)
        if getattr(model, "_encoder", None) is not None:
            model._encoder.verify()
        for number, tree in enumerate(model.trees_):
            try:
                tree.label_parent  # noqa: B018  checks the tree
            except InputError as error:
                self.fail(f"tree {number}: {error}")
        self.check_names_differ(model.classes_)
        if model.label_texts_ is not None:
            model.label_texts_.verify()
