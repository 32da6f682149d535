"""The table of baselines that sweeps, choices and ``labeltrees baselines`` measure.

To add one, write a subclass of `Baseline` and a function that returns it, add an entry here, and add both names to
``baselines/__init__.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from labeltrees.baselines.baseline import Baseline, BaselinePoints
from labeltrees.baselines.items import MAX_COMPARED, Ease, OwnMostFrequent
from labeltrees.baselines.popularity import Popularity, recent_popularity_of
from labeltrees.baselines.similar import CoOccurrence, Neighbours

_LABELS_PER_FEATURE, _N_NEIGHBOURS = 100, 50


class Entry(NamedTuple):
    """A baseline: a description of its predictions, and the function that makes it.

    `needs` is "", "times", "features", "items" (features are items) or "repeats" (labels can be a point's own items).
    """

    meaning: str
    make: Callable[[BaselinePoints], Baseline]
    needs: str = ""


BASELINES = {
    "popularity": Entry(
        "the most frequent labels, the same for every point",
        lambda points: Popularity(points, points.weights, "popularity"),
    ),
    "recent popularity": Entry(
        "the most frequent labels of the most recent training points",
        lambda points: recent_popularity_of(points, points.times),
        "times",
    ),
    "own most frequent": Entry("the items that the point has most of", OwnMostFrequent, "repeats"),
    "co-occurrence": Entry(
        "labels that occur with the features of the point",
        lambda points: CoOccurrence(points, _LABELS_PER_FEATURE),
        "features",
    ),
    "neighbours": Entry(
        f"labels of the {_N_NEIGHBOURS} most similar training points",
        lambda points: Neighbours(points, _N_NEIGHBOURS),
        "features",
    ),
    "EASE": Entry(
        "a ridge regression of each item on the others", lambda points: Ease(points, None, MAX_COMPARED), "items"
    ),
}


def make_baselines(points: BaselinePoints) -> Iterator[Baseline]:
    """Yield every baseline that the training points allow."""
    has = {"": True, "times": points.times is not None, "features": points.X.shape[1] > 0}
    has |= {"items": points.items is not None, "repeats": points.repeats}
    for entry in BASELINES.values():
        if has[entry.needs]:
            yield entry.make(points)
