"""LabelTreeClassifierCV: `choose` as an estimator."""

from __future__ import annotations

import inspect
import os
from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from labeltrees._matrices import check_sample_weight
from labeltrees._settings import refusing
from labeltrees.data.columns import as_texts
from labeltrees.data.dataset import Dataset
from labeltrees.data.label_sets import read_training_labels
from labeltrees.models.linear.estimator import LabelTreeClassifier
from labeltrees.models.linear.features import check_points
from labeltrees.tuning.choose import GONE_VALUES, choose
from labeltrees.tuning.data import TuningData, as_tuning_data


def _has_probabilities(estimator: LabelTreeClassifierCV) -> bool:
    return hasattr(estimator, "best_estimator_") and hasattr(estimator.best_estimator_, "predict_proba")


@refusing(GONE_VALUES)
@dataclass(eq=False, repr=False)
class LabelTreeClassifierCV(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A label tree classifier whose tradeoff and fanout are chosen when it is fitted.

    Part of the points is held out to compare settings; the chosen model is then trained on all points. `choose`
    explains the search. Predictions are those of `best_estimator_`.

    Four parameters matter most. `max_precision_loss` asks for the fastest model within a loss of precision; None asks
    for the most precise model. `max_latency_us` limits the time of a call. `time_budget` limits the time of the whole
    search. `tune` says which parameters to search over.

    Parameters
    ----------
    estimator : LabelTreeClassifier or another model with a tradeoff, optional
    tune : "tree", "all", list or dict
        As in `choose`; here only tradeoff and fanout by default.
    max_precision_loss : float or None, default 0.005
        As in `choose`, where the default is None.
    max_latency_us, metric, k, time_budget, validation, rules
        As in `choose`.
    random_state, n_jobs, verbose : int, optional
        By default those of the estimator.

    Attributes
    ----------
    best_estimator_ : the chosen model, trained on all points
    best_params_ : dict
    best_score_ : float
        Its `metric` on the held-out points.
    result_ : SweepResult
    explanation_ : str

    Examples
    --------
    >>> import numpy as np, labeltrees as lt
    >>> rng = np.random.default_rng(0)
    >>> Y = rng.random((200, 12)) < 0.3
    >>> X = Y @ rng.random((12, 8))
    >>> search = lt.LabelTreeClassifierCV(tune={"tradeoff": [0, 1]}, max_precision_loss=0.5).fit(X, Y)
    >>> search.best_params_.keys()
    dict_keys(['tradeoff'])
    """

    estimator: Any = None
    tune: Any = "tree"
    max_precision_loss: float | None = 0.005
    max_latency_us: float | None = None
    metric: str = "p1"
    k: int = 5
    time_budget: float | None = None
    validation: Any = 0.2
    random_state: int | None = None
    n_jobs: int | None = None
    verbose: int | None = None
    rules: Any = None

    @refusing(
        {name: f"give one Dataset, fit(lt.Dataset(X, Y, {name}=...))" for name in ("label_names", "feature_names")}
    )
    def fit(self, X: Any, Y: Any = None, sample_weight: Any = None) -> LabelTreeClassifierCV:
        """Choose a setting and train its model; arguments as in `LabelTreeClassifier.fit`, or one Dataset."""
        estimator = LabelTreeClassifier() if self.estimator is None else clone(self.estimator)
        own = {name: getattr(self, name) for name in ("random_state", "n_jobs", "verbose")}
        estimator.set_params(**{name: value for name, value in own.items() if value is not None})
        if isinstance(X, Dataset):
            data = as_tuning_data(X, "X", estimator)
        elif (texts := as_texts(X)) is not None:
            labels = read_training_labels(Y, None, len(texts))
            weights = check_sample_weight(sample_weight, len(texts))
            given = Dataset(texts, labels.Y, label_names=labels.names, sample_weight=weights)
            data = as_tuning_data(given, "X", estimator)
        else:
            points = check_points(self, X, fitting=True)
            labels = read_training_labels(Y, None, points.shape[0])
            weights = check_sample_weight(sample_weight, points.shape[0])
            data = TuningData(points, labels.Y, sample_weight=weights, label_names=labels.names)
        if data.vectorizer is not None and getattr(estimator, "vectorizer", None) is not None:
            estimator.set_params(vectorizer=None)  # it has already made the features
        arguments = {name: value for name, value in vars(self).items() if name in inspect.signature(choose).parameters}
        choice = choose(data, **arguments | {"estimator": estimator})
        self.best_estimator_ = choice.model
        self.best_params_ = choice.parameters
        self.best_score_ = choice.record[self.metric]
        self.result_, self.explanation_ = choice.result, choice.explanation
        return self

    @property
    def classes_(self) -> Any:
        """The names of the labels (L,), or their ids."""
        return self._model.classes_

    @property
    def _model(self) -> Any:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    def predict_topk(self, X: Any, k: int = 5, **options: Any) -> Any:
        """Return the k best labels of each point; options as in `LabelTreeClassifier.predict_topk`."""
        return self._model.predict_topk(X, k, **options)

    def predict(self, X: Any) -> Any:
        """Return the predicted labels as a CSR indicator (n, L)."""
        return self._model.predict(X)

    def predict_scores(self, X: Any, k: int | None = None) -> Any:
        """Return the scores of the k best labels of each point as CSR (n, L)."""
        return self._model.predict_scores(X, k)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, k: int | None = None) -> Any:
        """Return probabilities as CSR (n, L), if the model has them."""
        return self._model.predict_proba(X, k)

    def decision_function(self, X: Any) -> Any:
        """Return the scores of all labels as a dense array (n, L)."""
        return self._model.decision_function(X)

    def score(self, X: Any, Y: Any = None, sample_weight: Any = None) -> float:
        """Return the precision at 1."""
        return float(self._model.score(X, Y, sample_weight))

    def predictor(self, k: int = 5, **options: Any) -> Any:
        """Return a `Predictor` for serving."""
        return self._model.predictor(k, **options)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Save the chosen model; `load` opens it as the estimator that was chosen."""
        self._model.save(folder)

    def __sklearn_tags__(self) -> Any:
        estimator = LabelTreeClassifier() if self.estimator is None else self.estimator
        return estimator.__sklearn_tags__()
