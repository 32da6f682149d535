"""Simple recommenders to compare a model with: a useful model must beat them.

Each function learns from a `Dataset` or a pair (X, Y) and returns an object with ``predict_topk(X, k)``.
"""

from labeltrees.baselines.baseline import Baseline
from labeltrees.baselines.items import Ease, OwnMostFrequent, ease, own_most_frequent
from labeltrees.baselines.popularity import Popularity, popularity, recent_popularity
from labeltrees.baselines.similar import CoOccurrence, Neighbours, co_occurrence, neighbours

__all__ = [
    "Baseline",
    "CoOccurrence",
    "Ease",
    "Neighbours",
    "OwnMostFrequent",
    "Popularity",
    "co_occurrence",
    "ease",
    "neighbours",
    "own_most_frequent",
    "popularity",
    "recent_popularity",
]
