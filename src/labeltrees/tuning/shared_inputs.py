"""Inputs that all models of a sweep share, computed once, and the training of one model with them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple

from sklearn.base import clone

from labeltrees._matrices import Float64s
from labeltrees._settings import check_settings, settings_from
from labeltrees.labels.embedding import pifa
from labeltrees.labels.frequency import cover_frequencies, label_frequencies
from labeltrees.models.common.settings import seed_of
from labeltrees.models.linear.points import unit_rows
from labeltrees.tree.builder import grow_tree_from
from labeltrees.tree.embedding_rows import embedding_rows
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.settings import TreeSettings
from labeltrees.tuning.settings import Setting
from labeltrees.tuning.tuning_data import TuningData


class Fitted(NamedTuple):
    """A model and the time of its training."""

    model: Any
    tree_seconds: float  # NaN if the model builds its own tree
    seconds: float


class SharedInputs:
    """Training data, and the embeddings and frequencies of its labels, from which any number of trees are built.

    The estimator may be of any model family with a parameter `tradeoff`. If it has a parameter `embeddings`, its trees
    are built here and given to it; the model is the same as if it had built them. Otherwise it builds its own. The
    label embeddings of a model that reads texts come from its `label_embeddings(texts, Y)`.
    """

    def __init__(self, estimator: Any, train: TuningData, n_jobs: int | None) -> None:
        self.estimator = clone(estimator)
        if n_jobs is not None:
            self.estimator.set_params(n_jobs=n_jobs)
        self.estimator.set_params(verbose=0)
        self.train = train
        self._cover: dict[str, Float64s] = {}
        parameters = self.estimator.get_params(deep=False)
        self._parameters = parameters
        # The trees of an ensemble have different seeds, which only `fit` knows. It gets the embeddings instead.
        self._gives_embeddings = "embeddings" in parameters
        self._gives_trees = self._gives_embeddings and parameters.get("n_trees", 1) == 1

    @cached_property
    def frequencies(self) -> Float64s:
        """The frequency of each label (L,)."""
        return label_frequencies(self.train.Y, self.train.sample_weight)

    @cached_property
    def embeddings(self) -> Any:
        """The label embeddings (L, d): the given ones, or PIFA of the points scaled as in `fit`."""
        given = self._parameters["embeddings"]
        if given is not None:
            return given
        if self.train.is_text:
            return self.estimator.label_embeddings(self.train.points, self.train.Y)
        X = unit_rows(self.train.points) if self._parameters["normalize"] else self.train.points
        return pifa(X, self.train.Y, n_jobs=self._parameters["n_jobs"])

    def cover(self, method: str) -> Float64s:
        """Return the cover frequencies of the labels (L,)."""
        if method not in self._cover:
            softness = self._parameters["cover_softness"]
            self._cover[method] = cover_frequencies(
                self.train.Y, self.train.sample_weight, method=method, softness=softness
            )
        return self._cover[method]

    def fit(self, setting: Setting) -> Fitted:
        """Train the model of a setting, without label names, so that it returns label ids."""
        model = clone(self.estimator).set_params(**setting.parameters)
        if self._gives_embeddings:
            self._tree_inputs(setting)  # before the clock starts, because all models share them
        started = time.perf_counter()
        tree_seconds = float("nan")
        if self._gives_trees:
            tree = self.build_tree(setting)
            tree_seconds = time.perf_counter() - started
            self._fit(model.set_params(tree=tree))
            model.set_params(tree=None)  # as if the model had built the tree
        elif self._gives_embeddings:
            given = model.get_params(deep=False)["embeddings"]
            self._fit(model.set_params(embeddings=self.embeddings))
            model.set_params(embeddings=given)
        else:
            self._fit(model)
        return Fitted(model, tree_seconds, time.perf_counter() - started)

    def prepare(self, settings: Iterable[Setting]) -> None:
        """Compute what trees are built from, so that copies of these inputs have it."""
        for setting in settings if self._gives_embeddings else ():
            self._tree_inputs(setting)

    def _tree_inputs(self, setting: Setting) -> tuple[Any, Float64s, Float64s]:
        """Return the embeddings, frequencies and cover frequencies that a tree is built from."""
        return self.embeddings, self.frequencies, self.cover(setting.cover or "marginal")

    def _fit(self, model: Any) -> None:
        model.fit(self.train.points, self.train.Y, **self.train.fit_arguments(model))

    def build_tree(self, setting: Setting) -> LabelTree:
        """Return the tree of a setting."""
        embeddings, frequencies, cover = self._tree_inputs(setting)
        parameters = {"fanout": 2, **self._parameters, **setting.parameters}  # models without a fanout are binary
        settings = settings_from(TreeSettings, parameters)
        check_settings(settings)
        return grow_tree_from(
            embedding_rows(embeddings).unit(),
            frequencies,
            cover,
            settings,
            random_state=seed_of(parameters["random_state"]),
            n_jobs=parameters["n_jobs"],
        )
