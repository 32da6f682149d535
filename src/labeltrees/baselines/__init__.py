"""Simple recommenders to compare a model with: a model that does not beat them is not worth its training.

Each function learns from a `Dataset` or a pair (X, Y) and returns an object with ``predict_topk(X, k)``.
"""

from labeltrees.baselines.baseline import Baseline
from labeltrees.baselines.feature_labels import CoOccurrence, co_occurrence
from labeltrees.baselines.label_shares import Popularity, popularity, recent_popularity
from labeltrees.baselines.nearest_points import Neighbours, neighbours

__all__ = [
    "Baseline",
    "CoOccurrence",
    "Neighbours",
    "Popularity",
    "co_occurrence",
    "neighbours",
    "popularity",
    "recent_popularity",
]
