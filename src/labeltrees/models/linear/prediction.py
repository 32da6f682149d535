"""Prediction with linear models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from labeltrees import _core
from labeltrees._losses import LOSSES
from labeltrees.data.dataset import Dataset
from labeltrees.data.encoders import Encoder
from labeltrees.errors import InputError, Phrase
from labeltrees.models.common.early_stop import log_scores
from labeltrees.models.common.explanation import LabelExplanation
from labeltrees.models.common.prediction import PredictionMixin
from labeltrees.models.linear.compact import compact_model
from labeltrees.models.linear.explain import PointExplainer
from labeltrees.models.linear.features import check_points, encode_queries, encoder_of, labels_of_features
from labeltrees.models.linear.settings import label_text_use
from labeltrees.search import NodeValues, Predictor, Searcher, SearchRequest
from labeltrees.search.request import AS_FITTED
from labeltrees.search.result import SearchTrace
from labeltrees.search.searcher import PRIORITY_SCALE
from labeltrees.tree.label_tree import LabelTree


class LinearSearches:
    """The exact, discounted and traced searches of a linear model, over one tree or several, without evidence."""

    def __init__(self, searcher: Searcher, trees: list[LabelTree], n_jobs: int | None = None) -> None:
        self.searcher = searcher
        self.trees = trees
        self.n_jobs = n_jobs

    def lists(self, X: Any, k: int, discounts: NodeValues | None = None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the labels found (n, k), and the number of nodes opened (n,)."""
        request = SearchRequest(k, discounts=discounts, evidence=False)
        result = self.searcher.topk(X, request, n_jobs=self.n_jobs, stats=True)
        assert result.stats is not None
        return result.labels, result.stats.chunks

    def tree_lists(self, X: Any, tree: int, k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the k best labels in one of the trees (n, k), and the logarithms of their scores."""
        result = self.searcher.of_tree(tree).topk(X, k, n_jobs=self.n_jobs)
        return result.labels, log_scores(result.scores)

    def trace(self, X: Any, tree: int, k: int) -> SearchTrace:
        """Return the nodes that an exact search opens in one of the trees."""
        return self.searcher.trace(X, k, tree=tree)

    def required_discounts(self, scores: NDArray[np.float64], limits: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the smallest discount at which nodes with these log scores are skipped for these limits."""
        return (scores - limits) / (PRIORITY_SCALE - scores)


class NotCalibratedError(InputError, AttributeError):
    """The model has no probabilities. It is an AttributeError, so that ``hasattr(model, "predict_proba")`` is False."""


class LinearPredictionMixin(PredictionMixin):
    """Prediction for an estimator that has a `Searcher`, and perhaps an encoder or a vectorizer for texts."""

    KIND: ClassVar[str] = "LabelTreeClassifier"
    READS_TEXTS: ClassVar[bool] = False

    searcher_: Searcher
    trees_: list[LabelTree]
    label_counts_: Any
    vectorizer_: Any
    stats_: dict[str, Any]
    search: str
    beam: int | None
    evidence: str | None
    label_texts: Any

    @property
    def takes_texts(self) -> bool:
        """Whether the model was fitted on texts, so that it takes texts as input."""
        return getattr(self, "vectorizer_", None) is not None

    @property
    def encoder_(self) -> Encoder | None:
        """The encoder of texts or lists of items; None if the model was fitted on a matrix without one."""
        return encoder_of(self)

    def queries(self, dataset: Dataset) -> Any:
        """Return the features of a dataset, or its texts if the model's vectorizer did not make its features."""
        if dataset.texts is None or not self.takes_texts:
            return dataset.X
        is_foreign = dataset.vectorizer is not None and dataset.vectorizer is not self.vectorizer_
        return dataset.texts if is_foreign or dataset.n_features == 0 else dataset.X

    def check_queries(self, X: Any, n_jobs: int | None = None) -> Any:
        """Return points in the form that `searcher_` takes; contexts become features."""
        check_is_fitted(self, "searcher_")
        n_jobs = self.n_jobs if n_jobs is None else n_jobs
        return check_points(self, encode_queries(self, X, n_jobs), fitting=False, n_jobs=n_jobs)

    def sizes(self) -> dict[str, int | None]:
        """Return the numbers of features and of weights."""
        return {"n_features": self.searcher_.n_features, "n_weights": self.stats_.get("n_weights")}

    def searches(self) -> LinearSearches:
        """Return the searches that early stopping and profiling need."""
        return LinearSearches(self.searcher_, self.trees_, self.n_jobs)

    @property
    def trend_(self) -> Any:
        """The factor of each label's score from its trend (L,); None without a trend."""
        return self.searcher_.trend

    def complete_request(self, request: SearchRequest) -> SearchRequest:
        """Return the request in the form for `searcher_`: with the trend, the fitted defaults, and discounts."""
        request = self._with_calibration(request)
        if self.searcher_.trend is not None:
            if (
                self.search == "paths"
                and not request.has_rules
                and request.search is None
                and request.beam == AS_FITTED
            ):
                request = replace(request, search="paths", beam=self.beam)  # the user chose it: faster, but not exact
            request = replace(request, label_weight=self.searcher_.with_trend(request.label_weight))
        return super().complete_request(request)

    def label_weights(self, weights: Any) -> _core.LabelWeights:
        """Return weights of labels prepared for many searches, with the trend of the model."""
        check_is_fitted(self, "searcher_")
        return super().label_weights(self.searcher_.with_trend(self._label_weight_array(weights)))

    def _explainer(self, x: Any, points: Any) -> Callable[[int, Any], LabelExplanation]:
        return PointExplainer(self, points, x if isinstance(x, str) else None).explain

    def _n_proposed(self, k: int) -> int:
        # `agreement` applies to the trees' lists, before evidence.
        evidence = self.searcher_.evidence
        return k if evidence is None else min(max(k, evidence.n_searched), self.searcher_.n_labels)

    def _fill_fitted(self, request: SearchRequest) -> SearchRequest:
        if not self._uses_evidence():
            request = replace(request, evidence=False)
        as_fitted = request.search is None and request.beam == AS_FITTED
        if request.has_rules and as_fitted:
            return replace(request, search="best_first", beam=None)
        return replace(
            request,
            search=self.search if request.search is None else request.search,
            beam=self.beam if request.beam == AS_FITTED else request.beam,
            keep_beam=not as_fitted,
        )

    def _uses_evidence(self) -> bool:
        """Return whether the evidence is on: parameters can turn it off after `fit`."""
        evidence = self.searcher_.evidence
        if evidence is None:
            return False
        if set(evidence.weights) == {"names"} and self.evidence in (None, "default"):
            return label_text_use(self.label_texts).points == "auto"
        return self.evidence is not None

    def _compact(self, kept: NDArray[np.bool_]) -> None:
        compact_model(self, kept)  # type: ignore[arg-type]

    def _has_classifier(self) -> NDArray[np.bool_]:
        return np.asarray(self.trees_[0].label_parent >= 0)

    def _make_predictor(self, request: SearchRequest, names: bool, exclude_seen: bool) -> Predictor:
        encoder = self.encoder_
        return self.searcher_.predictor(
            request,
            encoder=None if encoder is None else encoder.native,
            names=self._native_names(),
            with_names=names,
            label_of_feature=labels_of_features(self) if exclude_seen else None,
        )

    def _check_probabilities(self) -> None:
        check_is_fitted(self, "searcher_")
        scores_are_probabilities = LOSSES[self.searcher_.loss].scores_are_probabilities
        is_adjusted = self.searcher_.evidence is not None or self.searcher_.trend is not None
        if self.calibration_ is None and (not scores_are_probabilities or is_adjusted):
            raise NotCalibratedError(Phrase.NO_PROBABILITIES)
