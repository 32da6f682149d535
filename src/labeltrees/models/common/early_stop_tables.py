"""Losses for classes of nodes, from the visits of exact searches: what may be skipped, and what that would lose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labeltrees.search.result import SearchTrace
from labeltrees.tree.label_tree import LabelTree

# A visit that was needed and is skipped costs as much as so many that are saved: from cautious to bold.
COSTS = np.geomspace(300.0, 0.5, 25)
# Before the most cautious of these come shares of it, for promises stricter than it keeps, and between any two comes
# their mean: few points may change many losses at once.
SHARES = np.arange(1, 16) / 16
N_SETTINGS = len(SHARES) + 2 * len(COSTS) - 1
_DOUBT = 0.5  # needed visits that a class is taken to lose beside those seen
_NOTHING = -80.0  # a log score below all that counts: no label stands in a list for lack of others


class Visits(NamedTuple):
    """Nodes that exact searches opened, the root left out.

    Parameters
    ----------
    nodes : int64 (n,)
        The node, or, after `with_classes`, its class.
    slack : float64 (n,)
        The loss above which the node is not opened.
    needed : bool (n,)
        Whether a label of the list is below it.
    """

    nodes: NDArray[np.int64]
    slack: NDArray[np.float64]
    needed: NDArray[np.bool_]

    def with_classes(self, class_of_node: NDArray[Any]) -> Visits:
        """Return the visits with their nodes' classes in the place of nodes."""
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
    slack: Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]],
) -> Visits:
    """Return what exact searches for k labels in a tree opened, and with how much to spare.

    A node is compared with the k-th best label as it stands when the node is chosen: without the labels below it. For a
    node that holds some of the k best, that is the k-th best of the labels elsewhere.

    Parameters
    ----------
    tree : LabelTree
    trace : SearchTrace
        Of the searches for k labels.
    labels, scores : int64 and float64 (n, up to 2k)
        The best labels of each query, padded with -1, and the logs of their scores.
    k : int
    slack : function of scores and limits
    """
    query = np.repeat(np.arange(len(labels)), np.diff(trace.ends))
    inner = trace.nodes > 0
    query, nodes, at = query[inner], trace.nodes[inner].astype(np.int64), trace.scores[inner].astype(np.float64)
    place = _label_places(tree)[labels]  # (n, 2k), -1 where there is no label; a node's labels are side by side
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
    return Visits(nodes, slack(at, limit), needed)


def _label_places(tree: LabelTree) -> NDArray[np.int64]:
    """Return where each label stands from left to right (n_labels + 1,), -1 for unplaced ones and for label -1."""
    places = np.full(tree.n_labels + 1, -1, np.int64)
    order = tree.leaf_order()
    places[order] = np.arange(len(order))
    return places


def learn_tables(visits: Visits, n_classes: int) -> NDArray[np.float32]:
    """Return the loss of each class in each setting (N_SETTINGS, n_classes), rising from cautious to bold.

    For a cost c the loss of a class is the one that maximises (visits skipped) - c * (needed visits lost + 1/2).
    """
    table = np.zeros((len(COSTS), n_classes))
    order = np.lexsort((visits.slack, visits.nodes))
    classes, slack, needed = visits.nodes[order], visits.slack[order], visits.needed[order]
    starts = np.searchsorted(classes, np.arange(n_classes + 1))
    for number in range(n_classes):
        part = slice(starts[number], starts[number + 1])
        table[:, number] = _class_losses(slack[part], needed[part])
    table = np.maximum.accumulate(table, axis=0)
    between = np.empty((2 * len(COSTS) - 1, n_classes))
    between[::2], between[1::2] = table, (table[:-1] + table[1:]) / 2
    settings = np.concatenate([SHARES[:, None] * table[:1], between])
    return np.maximum.accumulate(settings.astype(np.float32), axis=0)


def _class_losses(slack: NDArray[np.float64], needed: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the loss of one class for each of the costs, from its visits by rising slack."""
    losses = np.zeros(len(COSTS))
    if len(slack) == 0:
        return losses
    # A loss skips all visits of the same slack or none.
    last = np.append(np.flatnonzero(np.diff(slack) > 0), len(slack) - 1)
    skipped, lost = last + 1.0, np.cumsum(needed)[last]
    for number, cost in enumerate(COSTS):
        gain = skipped - cost * (lost + _DOUBT)
        best = int(np.argmax(gain))
        if gain[best] > 0:
            losses[number] = max(np.nextafter(np.float32(slack[last[best]]), np.float32(np.inf)), 0.0)
    return losses
