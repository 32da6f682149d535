"""The final training of a choice, on all data."""

from __future__ import annotations

import inspect
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
    known = inspect.signature(model.fit).parameters
    keeps_vectorizer = "vectorizer" in parameters and isinstance(data.vectorizer, TfidfVectorizer)
    others = {
        name: getattr(data, name)
        for name in ("sample_weight", "label_names", "feature_names", "encoder")
        if name in known and getattr(data, name) is not None and not (keeps_vectorizer and name == "feature_names")
    }
    model.fit(data.points, data.Y, **others)
    model.set_params(**{name: parameters[name] for name in ("n_jobs", "verbose") if name in parameters})
    if keeps_vectorizer:
        model.vectorizer_ = data.vectorizer  # the model takes texts, as if it had been fitted on them
    return model
