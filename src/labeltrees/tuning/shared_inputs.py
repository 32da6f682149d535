"""What all models of a sweep have in common, computed once, and fitting one of them with it."""

from __future__ import annotations

import time
from functools import cached_property
from typing import Any, NamedTuple

from sklearn.base import clone

from labeltrees._matrices import Float64s
from labeltrees.labels.embedding import pifa
from labeltrees.labels.frequency import cover_frequencies, label_frequencies
from labeltrees.models.common.settings import seed_of
from labeltrees.models.linear.points import unit_rows
from labeltrees.tree.builder import build_tree_from
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tuning.settings import Setting
from labeltrees.tuning.tuning_data import TuningData


class Fitted(NamedTuple):
    """A model and what it took."""

    model: Any
    tree_seconds: float  # NaN where the model builds its own tree
    seconds: float


class Shared:
    """Training data, and the embeddings and frequencies of its labels for any number of trees.

    Models of any family go through here: an estimator with scikit-learn's `get_params`, a parameter `tradeoff`, and
    `fit`, `predict_topk`, `predictor`, `save` and `tree_`. Where it has a parameter `embeddings`, its trees are built
    here and given to it (the model is the same as if it had built them); otherwise it builds its own. One that reads
    texts says with `label_embeddings(texts, Y)` what it would build from.
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
        # An ensemble's trees differ in their seeds, which only `fit` knows; it still gets the embeddings.
        self._gives_embeddings = "embeddings" in parameters
        self._gives_trees = self._gives_embeddings and parameters.get("n_trees", 1) == 1

    @cached_property
    def frequencies(self) -> Float64s:
        """How often each label occurs (L,)."""
        return label_frequencies(self.train.Y, self.train.sample_weight)

    @cached_property
    def embeddings(self) -> Any:
        """The labels' embeddings (L, d), those given or PIFA of the points as `fit` scales them."""
        given = self._parameters["embeddings"]
        if given is not None:
            return given
        if self.train.is_text:
            return self.estimator.label_embeddings(self.train.points, self.train.Y)
        X = unit_rows(self.train.points) if self._parameters["normalize"] else self.train.points
        return pifa(X, self.train.Y, n_jobs=self._parameters["n_jobs"])

    def cover(self, method: str) -> Float64s:
        """Return the labels' cover frequencies (L,)."""
        if method not in self._cover:
            softness = self._parameters["cover_softness"]
            self._cover[method] = cover_frequencies(
                self.train.Y, self.train.sample_weight, method=method, softness=softness
            )
        return self._cover[method]

    def fit(self, setting: Setting) -> Fitted:
        """Train the model of a setting; it returns label ids, whatever the labels are called."""
        model = clone(self.estimator).set_params(**setting.parameters)
        if self._gives_embeddings:
            self._count(setting)  # before the clock starts: it is not this model's time
        started = time.perf_counter()
        tree_seconds = float("nan")
        if self._gives_trees:
            tree = self._build_tree(setting)
            tree_seconds = time.perf_counter() - started
            self._fit(model.set_params(tree=tree))
            model.set_params(tree=None)  # as if it had built it
        elif self._gives_embeddings:
            given = model.get_params(deep=False)["embeddings"]
            self._fit(model.set_params(embeddings=self.embeddings))
            model.set_params(embeddings=given)
        else:
            self._fit(model)
        return Fitted(model, tree_seconds, time.perf_counter() - started)

    def _count(self, setting: Setting) -> tuple[Any, Float64s, Float64s]:
        """Return what trees are built from: embeddings, frequencies, cover frequencies."""
        return self.embeddings, self.frequencies, self.cover(setting.cover or "marginal")

    def _fit(self, model: Any) -> None:
        weights = self.train.sample_weight
        if weights is None:
            model.fit(self.train.points, self.train.Y)
        else:
            model.fit(self.train.points, self.train.Y, sample_weight=weights)

    def _build_tree(self, setting: Setting) -> LabelTree:
        parameters = self._parameters
        return build_tree_from(
            *self._count(setting),
            tradeoff=setting.tradeoff,
            fanout=parameters.get("fanout", 2) if setting.fanout is None else setting.fanout,
            leaf_size=parameters.get("leaf_size", 1),
            smoothing=parameters["smoothing"],
            path=setting.path or "weighted",
            random_state=seed_of(parameters["random_state"]),
            n_jobs=parameters["n_jobs"],
        )
