"""Frequencies of labels from blocks of points, with the same bytes as from all points at once.

The order of summation is defined: a label's weights are added one by one, in the order of its points, in double
precision. `np.bincount` sums in this order; `np.add.at` continues such a sum with the next block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from labeltrees._matrices import Float64s, Indicator
from labeltrees.labels.frequency import (
    blend_cover,
    frequency_order,
    greedy_cover_sums,
    normalised,
    places,
)

Blocks = Callable[[], Iterable[tuple[Indicator, Float64s | None]]]


def label_sums(blocks: Blocks, n_labels: int) -> Float64s:
    """Return the total weight of each label's points."""
    sums = np.zeros(n_labels)
    for labels, weights in blocks():
        if weights is None:
            sums += np.bincount(labels.indices, minlength=n_labels)  # whole numbers: exact in any order
        else:
            np.add.at(sums, labels.indices, np.repeat(weights, labels.labels_per_point()))
    return sums


def cover_sums(blocks: Blocks, sums: Float64s, method: str) -> Float64s:
    """Return the weight that each label takes when the labels cover the points."""
    if method == "greedy":
        return greedy_cover_sums(*_joined(blocks, len(sums)))
    order = frequency_order(sums)
    place = places(order)
    given = np.zeros(len(sums))
    for labels, weights in blocks():
        labelled = np.flatnonzero(labels.labels_per_point())
        if len(labelled) == 0:
            continue
        best = np.minimum.reduceat(place[labels.indices], labels.indptr[labelled])
        if weights is None:
            given += np.bincount(best, minlength=len(sums))
        else:
            np.add.at(given, best, weights[labelled])
    cover = np.empty(len(sums))
    cover[order] = given
    return cover


def frequencies_of_blocks(blocks: Blocks, n_labels: int, method: str, softness: float) -> tuple[Float64s, Float64s]:
    """Return what `label_frequencies` and `cover_frequencies` return for all points."""
    sums = label_sums(blocks, n_labels)
    return normalised(sums), blend_cover(cover_sums(blocks, sums, method), sums, softness)


def _joined(blocks: Blocks, n_labels: int) -> tuple[Indicator, Float64s | None]:
    """Return all points at once: the greedy cover needs them again and again."""
    every = list(blocks())
    counts = np.concatenate([labels.labels_per_point() for labels, _ in every])
    indices = np.concatenate([labels.indices for labels, _ in every])
    weights = [weights for _, weights in every if weights is not None]
    joined = Indicator(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), indices, n_labels)
    return joined, np.concatenate(weights) if weights else None
