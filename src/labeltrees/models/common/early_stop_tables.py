"""Discounts for classes of nodes, learned from the nodes that exact searches visit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labeltrees.search.result import SearchTrace
from labeltrees.tree.label_tree import LabelTree

# How many skipped visits outweigh one needed visit that is skipped too: from cautious to bold.
COSTS = np.geomspace(300.0, 0.5, 25)
# The settings begin with shares of the most cautious one, for stricter agreements, and have a mean between any two:
# few points can change many discounts at once.
SHARES = np.arange(1, 16) / 16
_DOUBT = 0.5  # needed visits that a class is assumed to lose in addition to those seen
_NOTHING = -80.0  # the log score of the k-th label where there are fewer than k labels
_MIN_SCORE = 1e-37  # scores are float32


def log_scores(scores: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the logarithms of scores, finite even where a score is 0."""
    return np.asarray(np.log(np.maximum(scores.astype(np.float64), _MIN_SCORE)))


class Visits(NamedTuple):
    """Nodes that exact searches opened, without the root.

    Parameters
    ----------
    nodes : int64 (n,)
        The node, or, after `with_classes`, its class.
    required : float64 (n,)
        The required discount: the smallest one at which the node is skipped.
    needed : bool (n,)
        Whether a label of the list is below the node.
    """

    nodes: NDArray[np.int64]
    required: NDArray[np.float64]
    needed: NDArray[np.bool_]

    def with_classes(self, class_of_node: NDArray[Any]) -> Visits:
        """Return the visits with the class of each node in place of the node."""
        return self._replace(nodes=class_of_node[self.nodes])

    @classmethod
    def joined(cls, parts: Sequence[Visits]) -> Visits:
        """Return the visits of all parts."""
        if not parts:
            return cls(np.zeros(0, np.int64), np.zeros(0), np.zeros(0, bool))
        return cls(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def visits_of(
    tree: LabelTree,
    trace: SearchTrace,
    labels: NDArray[np.int64],
    scores: NDArray[np.float64],
    k: int,
    required_discounts: Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]],
) -> Visits:
    """Return the nodes that exact searches for k labels opened in a tree, with their required discounts.

    A node is compared with the k-th best label at the time when the node is chosen, that is, without the labels below
    it: for a node above some of the k best labels, with the k-th best of the other labels.

    Parameters
    ----------
    tree : LabelTree
    trace : SearchTrace
        Of the searches for k labels.
    labels, scores : int64 and float64 (n, up to 2k)
        The best labels of each query, padded with -1, and the logarithms of their scores.
    k : int
    required_discounts : function of scores and limits
        See `Searches.required_discounts`.
    """
    query = np.repeat(np.arange(len(labels)), np.diff(trace.ends))
    inner = trace.nodes > 0
    query, nodes, at = query[inner], trace.nodes[inner].astype(np.int64), trace.scores[inner].astype(np.float64)
    place = _label_places(tree)[labels]  # (n, 2k), -1 for no label; the labels below a node are adjacent
    first = tree._leaf_layout[1][nodes]
    last = first + tree.n_labels_below[nodes]
    n_elsewhere, limit = np.zeros(len(nodes), np.int64), np.full(len(nodes), _NOTHING)
    needed = np.zeros(len(nodes), bool)
    for rank in range(labels.shape[1]):
        own = place[query, rank]
        below = (own >= first) & (own < last)
        if rank < k:
            needed |= below
        elsewhere = (own >= 0) & ~below
        n_elsewhere += elsewhere
        is_limit = elsewhere & (n_elsewhere == k)
        limit[is_limit] = scores[query[is_limit], rank]
    return Visits(nodes, required_discounts(at, limit), needed)


def _label_places(tree: LabelTree) -> NDArray[np.int64]:
    """Return the position of each label from left to right (n_labels + 1,), -1 for unplaced ones and for label -1."""
    places = np.full(tree.n_labels + 1, -1, np.int64)
    order = tree.leaf_order()
    places[order] = np.arange(len(order))
    return places


def learn_tables(visits: Visits, n_classes: int) -> NDArray[np.float32]:
    """Return the discount of each class in each setting (n_settings, n_classes), rising from cautious to bold.

    For a cost c the discount of a class maximises (visits skipped) - c * (needed visits lost + 1/2).
    """
    table = np.zeros((len(COSTS), n_classes))
    order = np.lexsort((visits.required, visits.nodes))
    classes, required, needed = visits.nodes[order], visits.required[order], visits.needed[order]
    starts = np.searchsorted(classes, np.arange(n_classes + 1))
    for number in range(n_classes):
        part = slice(starts[number], starts[number + 1])
        table[:, number] = _class_discounts(required[part], needed[part])
    table = np.maximum.accumulate(table, axis=0)
    between = np.empty((2 * len(COSTS) - 1, n_classes))
    between[::2], between[1::2] = table, (table[:-1] + table[1:]) / 2
    settings = np.concatenate([SHARES[:, None] * table[:1], between])
    return np.maximum.accumulate(settings.astype(np.float32), axis=0)


def _class_discounts(required: NDArray[np.float64], needed: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the discount of one class for each cost, from its visits by rising required discount."""
    discounts = np.zeros(len(COSTS))
    if len(required) == 0:
        return discounts
    # A discount skips all visits with the same required discount or none of them.
    last = np.append(np.flatnonzero(np.diff(required) > 0), len(required) - 1)
    skipped, lost = last + 1.0, np.cumsum(needed)[last]
    for number, cost in enumerate(COSTS):
        gain = skipped - cost * (lost + _DOUBT)
        best = int(np.argmax(gain))
        if gain[best] > 0:
            discounts[number] = max(np.nextafter(np.float32(required[last[best]]), np.float32(np.inf)), 0.0)
    return discounts
