"""Label imbalance: the share of the points that the most frequent labels serve. It shows how fast a tree can be."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from labeltrees._matrices import Float64s, Int64s, check_sample_weight, check_Y
from labeltrees.errors import InputError
from labeltrees.labels.frequency import frequency_order, label_weight_sums, ranks_within_points

_POINTS_PER_DECADE = 8


@dataclass(frozen=True)
class Imbalance:
    """Shares of the points that the `q` most frequent labels serve.

    Attributes
    ----------
    q : array of int64
        Increasing numbers of labels, from 1 to `n_labels`; ``ceil(n_labels / 100)`` is one of them.
    at_least_one, at_least_three, all_labels : arrays of float64, one value for each q
        Share (by weight) of the points with at least one of their labels, at least three of them, or all of them,
        among the q most frequent labels. A point with fewer than three labels counts for `at_least_three` if all of
        its labels are among them, so that recall at 3 is complete; all three curves end at 1.
    n_labels : int
        Number of labels with a point of positive weight.
    n_points : int
        Number of points with a label and a positive weight; other points are not counted.
    """

    q: Int64s
    at_least_one: Float64s
    at_least_three: Float64s
    all_labels: Float64s
    n_labels: int
    n_points: int

    def __repr__(self) -> str:
        share = f"the most frequent 1 % of the labels serve {100 * self.top_percent:.1f} % of the points"
        return f"Imbalance({self.n_labels:,} labels on {self.n_points:,} points; {share})"

    @property
    def top_percent(self) -> float:
        """Share of the points with at least one of the 1 % most frequent labels."""
        return float(self.at_least_one[np.searchsorted(self.q, _one_percent(self.n_labels))])

    def table(self) -> list[dict[str, float]]:
        """Return one record for each q, ready for JSON, CSV or pandas."""
        return [
            {
                "q": int(q),
                "share_of_labels": float(q / self.n_labels),
                "at_least_one": float(one),
                "at_least_three": float(three),
                "all_labels": float(all_labels),
            }
            for q, one, three, all_labels in zip(
                self.q, self.at_least_one, self.at_least_three, self.all_labels, strict=True
            )
        ]


def imbalance(Y: Any, sample_weight: Any = None) -> Imbalance:
    """Return the share of the points that the q most frequent labels serve, for increasing q.

    Parameters
    ----------
    Y : sparse or dense matrix of shape (N, L)
        The labels of the points; a positive value is a label, whatever its size.
    sample_weight : array of shape (N,), optional
        Weights of the points; finite, none negative, not all zero.

    Returns
    -------
    Imbalance

    Examples
    --------
    >>> result = imbalance([[1, 1, 0], [1, 0, 0], [1, 0, 1], [0, 1, 0]])
    >>> result.q
    array([1, 2, 3])
    >>> result.at_least_one
    array([0.75, 1.  , 1.  ])
    >>> result.all_labels
    array([0.25, 0.75, 1.  ])
    """
    labels = check_Y(Y).indicator
    weights = check_sample_weight(sample_weight, labels.n_points)
    sums = label_weight_sums(labels, weights)
    n_labels = int(np.count_nonzero(sums))
    if n_labels == 0:
        message = "Y must have at least one label on a point of positive weight, got none"
        raise InputError(message)
    point_weights = np.ones(labels.n_points) if weights is None else weights
    per_point = labels.labels_per_point()
    ranks = ranks_within_points(labels, frequency_order(sums))
    first = labels.indptr[:-1]
    total = float(point_weights[per_point > 0].sum())

    def share(n_wanted: Int64s | int) -> Float64s:
        """Return the share of points with `n_wanted` of their labels (or all, if fewer) in the top 1, 2, ..."""
        labelled = per_point > 0
        position = (first + np.minimum(per_point, n_wanted) - 1)[labelled]
        served = np.bincount(ranks[position], weights=point_weights[labelled], minlength=n_labels)
        return np.minimum(np.cumsum(served) / total, 1.0)  # rounding can exceed 1

    q = _increasing_numbers(n_labels)
    return Imbalance(
        q=q,
        at_least_one=share(1)[q - 1],
        at_least_three=share(3)[q - 1],
        all_labels=share(per_point)[q - 1],
        n_labels=n_labels,
        n_points=int(np.count_nonzero((per_point > 0) & (point_weights > 0))),
    )


def _one_percent(n_labels: int) -> int:
    return -(-n_labels // 100)


def _increasing_numbers(n_labels: int) -> Int64s:
    """Return numbers from 1 to n_labels evenly spaced on a log scale, and one percent of n_labels."""
    n_steps = math.ceil(math.log10(n_labels) * _POINTS_PER_DECADE) + 1
    steps = np.rint(np.geomspace(1, n_labels, n_steps)).astype(np.int64)
    return np.unique(np.append(steps, [_one_percent(n_labels), n_labels]))
