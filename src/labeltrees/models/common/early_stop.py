"""Stopping searches early with a promise: what a search may expect below a node, learnt on points it has not seen.

Exact search goes on while a node could hold a better label. Most nodes never do, so a search may hope for less: a node
counts for less than its score by its loss, and the search ends when no hope reaches the k-th label found. Losses are
learnt for classes of nodes (their depth, and the power of two of the labels below them), in settings from cautious to
bold. How many lists each setting changes is counted on other points, which gives the promise.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr

from labeltrees._progress import watch
from labeltrees._validation import check_integer, refuse
from labeltrees.errors import InputError
from labeltrees.models.common.early_stop_tables import Visits, learn_tables, visits_of
from labeltrees.models.common.protocol import Searches
from labeltrees.tree.label_tree import LabelTree

LENGTHS = (1, 3, 5, 10)
CONFIDENCE = 0.99
WORTH = 0.95  # a setting that opens more nodes than this, relative to exact search, costs what it saves
MOST_LEARNT = 20_000  # points that teach; what more would add is not worth its memory
MOST_VISITS = 20_000_000
_BLOCK = 1000
_DEEPEST = 31  # deeper nodes are of the classes of this depth


def check_lengths(k: Any, n_labels: int) -> list[int]:
    """Return the lengths of lists to learn, rising, none longer than there are labels.

    Examples
    --------
    >>> check_lengths((5, 1, 10), 7)
    [1, 5, 7]
    """
    if isinstance(k, str | bytes) or not np.iterable(k) or len(list(k)) == 0:
        refuse("k", "a sequence of integers", k)
    return sorted({min(check_integer("k", length, 1), n_labels) for length in k})


def node_classes(tree: LabelTree) -> NDArray[np.int32]:
    """Return the class of each node: its depth * 64 + the logarithm of the labels below it.

    Examples
    --------
    >>> import labeltrees as lt
    >>> node_classes(lt.LabelTree([0, 2, 4], [1, ~0, ~1, ~2], 3)).tolist()
    [1, 65]
    """
    size = np.frexp(tree.n_labels_below.astype(np.float64))[1] - 1
    return np.asarray(np.minimum(tree.node_depth, _DEEPEST) * 64 + np.maximum(size, 0), dtype=np.int32)


@dataclass(frozen=True, eq=False)
class EarlyStop:
    """Losses of the classes of nodes for several k, from cautious to bold settings, and what each setting breaks.

    Parameters
    ----------
    k : int64 (n_k,), rising
        The lengths of lists that were learnt.
    classes : int32 (n_classes,), rising
    losses : float32 (n_k, n_settings, n_classes)
        At least 0, and rising from setting to setting.
    broken : int64 (n_k, n_settings)
        Of the points that checked: how many have another list with this setting, or with one before it.
    chunks : float64 (n_k, n_settings)
        Nodes opened, relative to exact search.
    n_checked : int
        Points that checked.
    """

    k: NDArray[np.int64]
    classes: NDArray[np.int32]
    losses: NDArray[np.float32]
    broken: NDArray[np.int64]
    chunks: NDArray[np.float64]
    n_checked: int
    _made: dict[tuple[int, int], Any] = field(default_factory=dict, init=False, repr=False)

    ARRAYS = (
        ("k", np.int64),
        ("classes", np.int32),
        ("losses", np.float32),
        ("broken", np.int64),
        ("chunks", np.float64),
    )

    def is_sound(self) -> bool:
        """Tell whether all is as `learn_early_stop` makes it; what comes from a file may be anything."""
        for name, dtype in self.ARRAYS:
            array = getattr(self, name)
            if array.dtype != dtype or not np.isfinite(array).all():
                return False
        n_k, n_settings = self.losses.shape[:2] if self.losses.ndim == 3 else (0, 0)
        if n_k == 0 or n_settings == 0 or self.losses.shape[2:] != self.classes.shape or self.k.shape != (n_k,):
            return False
        if self.broken.shape != (n_k, n_settings) or self.chunks.shape != (n_k, n_settings):
            return False
        if type(self.n_checked) is not int or not 0 <= self.n_checked < 2**62:
            return False
        return bool(
            self.k[0] >= 1
            and (np.diff(self.k) > 0).all()
            and (np.diff(self.classes) > 0).all()
            and (self.losses >= 0).all()
            and (np.diff(self.losses, axis=1) >= 0).all()
            and (self.broken[:, 0] >= 0).all()
            and (self.broken <= self.n_checked).all()
            and (np.diff(self.broken, axis=1) >= 0).all()
            and (self.chunks >= 0).all()
        )

    def arrays(self, prefix: str) -> dict[str, Any]:
        """Return the arrays to be saved, by name."""
        return {prefix + name: getattr(self, name) for name, _ in self.ARRAYS}

    def place(self, k: int) -> int:
        """Return the place of the smallest k learnt that is at least `k`: an unchanged list has an unchanged start."""
        place = int(np.searchsorted(self.k, k))
        if place == len(self.k):
            learnt = ", ".join(map(str, self.k))
            refuse("k", f"at most {self.k[-1]} with agreement: calibrate learnt the bounds for k = {learnt}", k)
        return place

    def setting(self, place: int, agreement: float) -> int:
        """Return the boldest setting that keeps the promise for the k in that place, -1 where exact search is as good.

        A setting that changes more lists than it may would have changed so few of those that checked with a chance of
        0.01 at the most. As settings only break more and more lists, that holds for the boldest of those that pass too.
        """
        chances = bdtr(self.broken[place], self.n_checked, 1 - agreement)  # of so few or fewer
        boldest = int(np.count_nonzero(chances <= 1 - CONFIDENCE + 1e-12)) - 1
        return boldest if boldest >= 0 and self.chunks[place, boldest] <= WORTH else -1

    def kept(self, place: int, agreement: float) -> tuple[float, float]:
        """Return the shares of lists unchanged and of nodes opened under a promise, among the points that checked."""
        setting = self.setting(place, agreement)
        if setting < 0:
            return 1.0, 1.0
        return 1 - int(self.broken[place, setting]) / self.n_checked, float(self.chunks[place, setting])

    def node_losses(self, searches: Searches, place: int, agreement: float) -> Any:
        """Return the losses of all nodes for the promise, as the native search takes them; None for exact search."""
        setting = self.setting(place, agreement)
        if setting < 0 or not self.losses[place, setting].any():
            return None
        if (place, setting) not in self._made:
            self._made[place, setting] = spread(searches, self.classes, self.losses[place, setting])
        return self._made[place, setting]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_made"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _made={})


def spread(searches: Searches, classes: NDArray[np.int32], losses: NDArray[np.float32]) -> Any:
    """Return the losses of classes as those of nodes, in the form of the native search."""
    padded = np.append(losses, np.float32(0))  # a class that was not met has no loss
    parts = []
    for tree in searches.trees:
        own = node_classes(tree)
        at = np.minimum(np.searchsorted(classes, own), len(classes) - 1)
        parts.append(padded[np.where(classes[at] == own, at, len(classes))])
    return searches.node_losses(np.concatenate(parts))


def learn_early_stop(searches: Searches, X: Any, n: int, k: Any, *, progress: bool = False) -> EarlyStop:
    """Learn losses on a third of `n` points, and count on the others what they change.

    Parameters
    ----------
    searches : Searches
    X : n points
    n : int
    k : sequence of int
        Lengths of lists, rising.
    progress : bool
    """
    if n < 2:
        message = f"calibrate needs at least 2 points, got {n}"
        raise InputError(message)
    order = np.random.default_rng(0).permutation(n)  # X may be in an order that means something
    n_learnt = min(n // 3, MOST_LEARNT)
    classes = np.unique(np.concatenate([node_classes(tree) for tree in searches.trees]))
    checked = searches.take(X, np.sort(order[n_learnt:]))
    tables, counts, chunks = [], [], []
    with watch("Calibrating", len(k), progress) as advance:
        for done, length in enumerate(k, start=1):
            visits = _learning_visits(searches, X, np.sort(order[:n_learnt]), length, classes)
            table = learn_tables(visits, len(classes))
            broken, opened = _count_broken(searches, checked, length, classes, table)
            tables.append(table)
            counts.append(broken)
            chunks.append(opened)
            if advance is not None:
                advance(done)
    return EarlyStop(
        np.asarray(k, np.int64), classes, np.stack(tables), np.stack(counts), np.stack(chunks), int(n - n_learnt)
    )


def _learning_visits(searches: Searches, X: Any, rows: NDArray[np.int64], k: int, classes: NDArray[np.int32]) -> Visits:
    found: list[Visits] = []
    n_visits = 0
    for first in range(0, len(rows), _BLOCK):
        block = searches.take(X, rows[first : first + _BLOCK])
        for number, tree in enumerate(searches.trees):
            labels, scores = searches.tree_lists(block, number, min(2 * k, tree.n_labels))
            visits = visits_of(tree, searches.trace(block, number, k), labels, scores, k, searches.slack)
            found.append(visits.with_classes(np.searchsorted(classes, node_classes(tree))))
            n_visits += len(visits.slack)
        if n_visits > MOST_VISITS:
            break
    return Visits.joined(found)


def _count_broken(
    searches: Searches, X: Any, k: int, classes: NDArray[np.int32], table: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return how many lists each setting, or one before it, changes, and the nodes it opens relative to exact search.

    Once half of the lists have changed, the settings that follow count as changing all.
    """
    exact, work = searches.lists(X, k)
    n, total = len(exact), max(int(work.sum()), 1)
    changed = np.zeros(n, bool)
    broken, chunks = np.full(len(table), n, np.int64), np.ones(len(table))
    before = np.zeros(len(classes), np.float32)
    opened = 1.0
    for setting, losses in enumerate(table):
        if not np.array_equal(losses, before):
            labels, work = searches.lists(X, k, spread(searches, classes, losses))
            changed |= (labels != exact).any(axis=1)
            opened, before = float(work.sum()) / total, losses
        broken[setting], chunks[setting:] = changed.sum(), opened
        if 2 * broken[setting] > n:
            break
    return broken, chunks
