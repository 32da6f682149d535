"""Early stopping: node discounts that end searches sooner, learned on points the model has not seen.

Exact search continues while an open node could hold a better label. Most open nodes do not hold one, so the search can
discount them: it compares a node by its priority (its score lowered by its discount) and ends when no priority reaches
the score of the k-th label found. Nodes are grouped into classes by depth and by number of labels below (in powers of
two). Each class has one discount per setting, and settings range from cautious to bold. Validation points show how many
lists each setting changes; `agreement` selects the boldest setting that changes few enough.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr

from labeltrees._progress import watch
from labeltrees._validation import check_integer, refuse
from labeltrees.errors import InputError
from labeltrees.models.common.protocol import Searches
from labeltrees.search.request import NodeValues
from labeltrees.search.result import SearchTrace
from labeltrees.tree.label_tree import LabelTree

# The number of saved visits that outweigh the loss of one needed visit, from cautious to bold.
COSTS = np.geomspace(300.0, 0.5, 25)
# Fractions of the most cautious setting come first, for stricter agreements. The mean of every two neighbours is also a
# setting, because the step between two costs can be large: a few points can change many discounts at once.
SHARES = np.arange(1, 16) / 16
_DOUBT = 0.5  # needed visits assumed lost per class, in addition to those observed
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
        The node; after `with_classes`, the class of the node.
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
    def joined(cls, blocks: Sequence[Visits]) -> Visits:
        """Return the visits of all blocks."""
        if not blocks:
            return cls(np.zeros(0, np.int64), np.zeros(0), np.zeros(0, bool))
        return cls(*(np.concatenate(arrays) for arrays in zip(*blocks, strict=True)))


def visits_of(
    tree: LabelTree,
    trace: SearchTrace,
    labels: NDArray[np.int64],
    scores: NDArray[np.float64],
    k: int,
    required_discounts: Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]],
) -> Visits:
    """Return the nodes that exact searches for k labels opened in a tree, with their required discounts.

    When a search chooses a node, it has not found the labels below it yet. So the limit of a node is the score of the
    k-th best label that is not below it.

    Parameters
    ----------
    tree : LabelTree
    trace : SearchTrace
        The trace of the searches for k labels.
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

    For a cost c, the discount of a class maximises (visits skipped) - c * (needed visits lost + 1/2).
    """
    table = np.zeros((len(COSTS), n_classes))
    order = np.lexsort((visits.required, visits.nodes))
    classes, required, needed = visits.nodes[order], visits.required[order], visits.needed[order]
    starts = np.searchsorted(classes, np.arange(n_classes + 1))
    for number in range(n_classes):
        own = slice(starts[number], starts[number + 1])
        table[:, number] = _class_discounts(required[own], needed[own])
    table = np.maximum.accumulate(table, axis=0)
    between = np.empty((2 * len(COSTS) - 1, n_classes))
    between[::2], between[1::2] = table, (table[:-1] + table[1:]) / 2
    settings = np.concatenate([SHARES[:, None] * table[:1], between])
    return np.maximum.accumulate(settings.astype(np.float32), axis=0)


def _class_discounts(required: NDArray[np.float64], needed: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the discount of one class for each cost; its visits are sorted by required discount."""
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


LENGTHS = (1, 3, 5, 10)
CONFIDENCE = 0.99
WORTH = 0.95  # a setting that opens more than this share of exact search's nodes saves no time
MAX_TRAINING_POINTS = 20_000  # more points improve little and need more memory
MAX_VISITS = 20_000_000
_BLOCK = 1000
_MAX_DEPTH = 31  # deeper nodes belong to the classes of this depth


def check_lengths(k: Any, n_labels: int) -> list[int]:
    """Return the list lengths to learn, rising and without duplicates, each at most the number of labels.

    Examples
    --------
    >>> check_lengths((5, 1, 10), 7)
    [1, 5, 7]
    """
    if isinstance(k, str | bytes) or not np.iterable(k) or len(list(k)) == 0:
        refuse("k", "a sequence of integers", k)
    return sorted({min(check_integer("k", length, 1), n_labels) for length in k})


def node_classes(tree: LabelTree) -> NDArray[np.int32]:
    """Return the class of each node: 64 * depth + log2 of the number of labels below it, rounded down.

    Examples
    --------
    >>> import labeltrees as lt
    >>> node_classes(lt.LabelTree([0, 2, 4], [1, ~0, ~1, ~2], 3)).tolist()
    [1, 65]
    """
    size = np.frexp(tree.n_labels_below.astype(np.float64))[1] - 1
    return np.asarray(np.minimum(tree.node_depth, _MAX_DEPTH) * 64 + np.maximum(size, 0), dtype=np.int32)


@dataclass(frozen=True, eq=False)
class EarlyStop:
    """Discounts of node classes for several k, from cautious to bold settings, and how many lists each setting changes.

    Parameters
    ----------
    k : int64 (n_k,), rising
        The list lengths that were learned.
    classes : int32 (n_classes,), rising
    discounts : float32 (n_k, n_settings, n_classes)
        At least 0, and rising from setting to setting.
    broken : int64 (n_k, n_settings)
        The number of validation points whose list changes with this setting or a more cautious one.
    chunks : float64 (n_k, n_settings)
        Nodes opened, relative to exact search.
    n_checked : int
        The number of validation points.
    """

    k: NDArray[np.int64]
    classes: NDArray[np.int32]
    discounts: NDArray[np.float32]
    broken: NDArray[np.int64]
    chunks: NDArray[np.float64]
    n_checked: int
    _node_discounts: dict[tuple[int, int], NodeValues] = field(default_factory=dict, init=False, repr=False)

    # Attribute, its name in saved models, and its type.
    ARRAYS = (
        ("k", "k", np.int64),
        ("classes", "classes", np.int32),
        ("discounts", "losses", np.float32),
        ("broken", "broken", np.int64),
        ("chunks", "chunks", np.float64),
    )

    def __repr__(self) -> str:
        lengths = ", ".join(map(str, self.k.tolist()))
        return f"EarlyStop(lists of {lengths} labels, checked on {self.n_checked:,} points)"

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], prefix: str, n_checked: int) -> EarlyStop:
        """Return the object saved by `arrays`; raise KeyError for a missing array."""
        return cls(**{name: arrays[prefix + saved] for name, saved, _ in cls.ARRAYS}, n_checked=n_checked)

    def arrays(self, prefix: str) -> dict[str, Any]:
        """Return the arrays to save, by name."""
        return {prefix + saved: getattr(self, name) for name, saved, _ in self.ARRAYS}

    def is_sound(self) -> bool:
        """Return whether the arrays are valid: a file may contain anything."""
        for name, _, dtype in self.ARRAYS:
            array = getattr(self, name)
            if array.dtype != dtype or not np.isfinite(array).all():
                return False
        n_k, n_settings = self.discounts.shape[:2] if self.discounts.ndim == 3 else (0, 0)
        if n_k == 0 or n_settings == 0 or self.discounts.shape[2:] != self.classes.shape or self.k.shape != (n_k,):
            return False
        if self.broken.shape != (n_k, n_settings) or self.chunks.shape != (n_k, n_settings):
            return False
        if type(self.n_checked) is not int or not 0 <= self.n_checked < 2**62:
            return False
        return bool(
            self.k[0] >= 1
            and (np.diff(self.k) > 0).all()
            and (np.diff(self.classes) > 0).all()
            and (self.discounts >= 0).all()
            and (np.diff(self.discounts, axis=1) >= 0).all()
            and (self.broken[:, 0] >= 0).all()
            and (self.broken <= self.n_checked).all()
            and (np.diff(self.broken, axis=1) >= 0).all()
            and (self.chunks >= 0).all()
        )

    def place(self, k: int) -> int:
        """Return the index of the smallest learned length of at least `k`.

        If a list of that length does not change, neither do its first `k` labels.
        """
        place = int(np.searchsorted(self.k, k))
        if place == len(self.k):
            lengths = ", ".join(map(str, self.k))
            refuse("k", f"at most {self.k[-1]} with agreement, because calibrate learned k = {lengths}", k)
        return place

    def setting(self, place: int, agreement: float) -> int:
        """Return the boldest setting that keeps the agreement for ``self.k[place]``, or -1 for exact search.

        A setting passes a one-sided binomial test: if it changed more lists than allowed, the probability of at most
        this many changed validation lists would be at most 0.01. Bolder settings never change fewer lists, so the
        tests need no correction for the number of settings.
        """
        chances = bdtr(self.broken[place], self.n_checked, 1 - agreement)  # P(at most this many changed lists)
        boldest = int(np.count_nonzero(chances <= 1 - CONFIDENCE + 1e-12)) - 1
        return boldest if boldest >= 0 and self.chunks[place, boldest] <= WORTH else -1

    def kept(self, place: int, agreement: float) -> tuple[float, float]:
        """Return the share of unchanged lists, and the share of exact search's nodes opened, on validation points."""
        setting = self.setting(place, agreement)
        if setting < 0:
            return 1.0, 1.0
        return 1 - int(self.broken[place, setting]) / self.n_checked, float(self.chunks[place, setting])

    def node_discounts(self, trees: Sequence[LabelTree], place: int, agreement: float) -> NodeValues | None:
        """Return the discounts of all nodes for an agreement, or None for exact search."""
        setting = self.setting(place, agreement)
        if setting < 0 or not self.discounts[place, setting].any():
            return None
        if (place, setting) not in self._node_discounts:
            spread = spread_discounts(trees, self.classes, self.discounts[place, setting])
            self._node_discounts[place, setting] = spread
        return self._node_discounts[place, setting]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_node_discounts"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _node_discounts={})


def spread_discounts(
    trees: Sequence[LabelTree], classes: NDArray[np.int32], discounts: NDArray[np.float32]
) -> NodeValues:
    """Return the discount of each node of all trees, from the discounts of node classes."""
    padded = np.append(discounts, np.float32(0))  # an unknown class has no discount
    of_trees = []
    for tree in trees:
        own = node_classes(tree)
        at = np.minimum(np.searchsorted(classes, own), len(classes) - 1)
        of_trees.append(padded[np.where(classes[at] == own, at, len(classes))])
    return NodeValues(np.concatenate(of_trees))


def learn_early_stop(searches: Searches, X: Any, n: int, k: Any, *, progress: bool = False) -> EarlyStop:
    """Learn discounts on a third of `n` points (at most 20,000), and count on the others how many lists they change.

    Parameters
    ----------
    searches : Searches
    X : n points
    n : int
    k : sequence of int
        List lengths, rising.
    progress : bool
    """
    if n < 2:
        message = f"calibrate needs at least 2 points, got {n}"
        raise InputError(message)
    order = np.random.default_rng(0).permutation(n)  # the points of X may be sorted
    n_training = min(n // 3, MAX_TRAINING_POINTS)
    training, validation = np.sort(order[:n_training]), X[np.sort(order[n_training:])]
    classes = np.unique(np.concatenate([node_classes(tree) for tree in searches.trees]))
    tables, counts, chunks = [], [], []
    with watch("Calibrating", len(k), progress) as advance:
        for done, length in enumerate(k, start=1):
            visits = _training_visits(searches, X, training, length, classes)
            table = learn_tables(visits, len(classes))
            broken, opened = _count_broken(searches, validation, length, classes, table)
            tables.append(table)
            counts.append(broken)
            chunks.append(opened)
            if advance is not None:
                advance(done)
    return EarlyStop(
        np.asarray(k, np.int64), classes, np.stack(tables), np.stack(counts), np.stack(chunks), int(n - n_training)
    )


def _training_visits(searches: Searches, X: Any, rows: NDArray[np.int64], k: int, classes: NDArray[np.int32]) -> Visits:
    found: list[Visits] = []
    n_visits = 0
    for first in range(0, len(rows), _BLOCK):
        block = X[rows[first : first + _BLOCK]]
        for number, tree in enumerate(searches.trees):
            labels, scores = searches.tree_lists(block, number, min(2 * k, tree.n_labels))
            trace = searches.trace(block, number, k)
            visits = visits_of(tree, trace, labels, scores, k, searches.required_discounts)
            found.append(visits.with_classes(np.searchsorted(classes, node_classes(tree))))
            n_visits += len(visits.nodes)
        if n_visits > MAX_VISITS:
            break
    return Visits.joined(found)


def _count_broken(
    searches: Searches, X: Any, k: int, classes: NDArray[np.int32], table: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return how many lists change up to each setting, and the nodes the setting opens relative to exact search.

    Once half of the lists have changed, all later settings count as changing every list.
    """
    exact, work = searches.lists(X, k)
    n, total = len(exact), max(int(work.sum()), 1)
    changed = np.zeros(n, bool)
    broken, chunks = np.full(len(table), n, np.int64), np.ones(len(table))
    before = np.zeros(len(classes), np.float32)
    opened = 1.0
    for setting, discounts in enumerate(table):
        if not np.array_equal(discounts, before):
            labels, work = searches.lists(X, k, spread_discounts(searches.trees, classes, discounts))
            changed |= (labels != exact).any(axis=1)
            opened, before = float(work.sum()) / total, discounts
        broken[setting], chunks[setting:] = changed.sum(), opened
        if 2 * broken[setting] > n:
            break
    return broken, chunks
