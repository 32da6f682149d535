"""The final training of a choice, on all data."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from labeltrees.data import TfidfVectorizer
from labeltrees.tuning.tuning_data import TuningData


def fit_on_all(estimator: Any, data: TuningData, n_jobs: int | None) -> Any:
    """Return a copy of the estimator, fitted on all of the data with its names, weights and encoder."""
    model = clone(estimator)
    parameters = model.get_params(deep=False)
    if n_jobs is not None:
        model.set_params(n_jobs=n_jobs)
    model.set_params(verbose=0)
    keeps_vectorizer = "vectorizer" in parameters and isinstance(data.vectorizer, TfidfVectorizer)
    kept = ("label_names", "encoder") if keeps_vectorizer else ("label_names", "encoder", "feature_names")
    model.fit(data.points, data.Y, **data.fit_arguments(model, *kept))
    model.set_params(**{name: parameters[name] for name in ("n_jobs", "verbose") if name in parameters})
    if keeps_vectorizer:
        model.vectorizer_ = data.vectorizer  # the model takes texts, as if it had been fitted on them
    return model
