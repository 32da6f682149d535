"""Placing new labels in a tree: with the criterion of the paper's split, at the tradeoff t of the tree.

A split orders labels by (2 - t)/2 v.(m+ - m-) + (t - 1)+ f. Here v is the embedding of a label, m+ and m- are the
centres of the two sides, and f is the label's share of the weight of the set. So a new label goes to the child whose
labels are closest to it in this order: the child c with the highest (2 - t)/2 v.m_c - (t - 1)+ |f - f_c|, where m_c is
the centre of the labels below c and f_c is their mean share. A label goes down from the root; where the best child is a
label, it becomes a sibling of that label. Up to t = 1 only similarity counts, at t = 2 only frequency.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from labeltrees import _core
from labeltrees._validation import check_n_jobs
from labeltrees.tree.arrays import Float64s, Int64s, TreeArrays
from labeltrees.tree.builder import build_tree_from
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.settings import TreeSettings
from labeltrees.tree.splits import coefficients, split_labels

DRIFT = 2.0  # a subtree is rebuilt if its share of the weight or its number of labels has grown by this factor
SMALLEST_DRIFT = 8  # subtrees with fewer labels are not rebuilt
WIDEST = 256  # maximum number of children per node if the fanout is "auto"
SLACK = 1.25  # a node is split if it has more than this times the children that a new tree would give it


@dataclass(frozen=True, eq=False)
class PlacedTree:
    """A tree with new labels.

    Parameters
    ----------
    tree : LabelTree
    old_edge : int64 (n_edges,)
        The edge of the old tree with the same classifier: to the same child, which may have more labels below it now;
        -1 for a new edge.
    old_node : int64 (n_nodes,)
        The node of the old tree, or -1.
    n_placed, n_split, n_rebuilt : int
        Number of labels placed, of nodes split because they were too wide, and of subtrees rebuilt.
    moved : int64
        Old labels whose parent has changed.
    """

    tree: LabelTree
    old_edge: Int64s
    old_node: Int64s
    n_placed: int = 0
    n_split: int = 0
    n_rebuilt: int = 0
    moved: Int64s = field(default_factory=lambda: np.zeros(0, np.int64))


def unchanged(tree: LabelTree) -> PlacedTree:
    """Return the `PlacedTree` of a tree without new labels."""
    return PlacedTree(tree, np.arange(len(tree.children)), np.arange(tree.n_nodes))


def place_new_labels(
    tree: LabelTree,
    labels: Int64s,
    embeddings: Any,
    weights: Float64s,
    settings: TreeSettings,
    *,
    rebuild: bool = True,
    anew: bool = False,
    frequencies: tuple[Any, Any] = (None, None),
    random_state: int = 0,
    n_jobs: int | None = 1,
) -> PlacedTree:
    """Place new labels in a tree.

    Parameters
    ----------
    tree : LabelTree
        Over the first ``tree.n_labels`` labels.
    labels : int64
        The labels to place, which are not in the tree.
    embeddings : sparse matrix (L, d)
        Unit rows. Old labels with a row of zeros do not change the centres.
    weights : float64 (L,)
        The labels' weights in a split, f(tradeoff).
    settings : TreeSettings
    rebuild : bool
        Rebuild subtrees that have grown too much; needs `frequencies` and embeddings of all labels.
    anew : bool
        Rebuild the whole tree, which needs the same.
    frequencies : (array (L,), array (L,) or None)
        The frequencies of the labels, and their cover frequencies if these matter.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> tree = LabelTree([0, 2, 4, 6], [1, 2, ~0, ~1, ~2, ~3], n_labels=4)
    >>> rows = sp.csr_array([[1, 0], [1, 0], [0, 1], [0, 1], [0, 1.0]])
    >>> placed = place_new_labels(tree, np.array([4]), rows, np.full(5, 0.2), TreeSettings(fanout=3))
    >>> placed.tree.children.tolist()
    [1, 2, -1, -2, -3, -4, -5]
    """
    n_labels = len(weights)
    whole = LabelTree._adopt(TreeArrays(tree.child_ptr, tree.children, n_labels, None, weights), check=False)
    if len(labels) == 0 and not anew:
        return PlacedTree(whole, np.arange(len(tree.children)), np.arange(tree.n_nodes))
    if anew:
        homes = np.zeros(len(labels), np.int64)
    else:
        homes = find_homes(tree, labels, embeddings, weights, settings, n_jobs)
    growing = _Growing(tree, embeddings, weights, settings, random_state)
    order = np.lexsort((labels, -weights[labels]))  # frequent labels first, as in a tree
    for label, home in zip(labels[order].tolist(), homes[order].tolist(), strict=True):
        growing.children[home].append(~label)
    if anew:
        growing.rebuild_below(0, frequencies)
        return growing.finish(len(labels))
    growing.split_wide(np.unique(homes))
    if rebuild and frequencies[0] is not None:
        growing.rebuild(whole, frequencies)
    return growing.finish(len(labels))


def find_homes(
    tree: LabelTree, labels: Int64s, embeddings: Any, weights: Float64s, settings: TreeSettings, n_jobs: int | None = 1
) -> Int64s:
    """Return the node to place each of the labels in."""
    similarity, frequency = coefficients(settings.tradeoff, settings.path)
    known = np.asarray(weights, np.float64).copy()
    known[: tree.n_labels][tree.label_parent < 0] = 0
    known[labels] = weights[labels]
    order, start = tree._leaf_layout
    rows = sp.csr_array(embeddings, dtype=np.float32)
    return _core.find_homes(
        child_ptr=tree.child_ptr,
        children=tree.children,
        order=order,
        start=start,
        n_below=tree.n_labels_below,
        indptr=rows.indptr.astype(np.int64),
        columns=rows.indices.astype(np.int32),
        values=rows.data,
        n_columns=rows.shape[1],
        weights=known,
        similarity=similarity / 2,
        frequency=frequency,
        labels=np.ascontiguousarray(labels, np.int32),
        n_threads=check_n_jobs(n_jobs),
    )


class _Growing:
    """A tree while it changes: the children of each node in lists."""

    def __init__(self, tree: LabelTree, embeddings: Any, weights: Float64s, settings: TreeSettings, seed: int) -> None:
        self.tree, self.embeddings, self.weights, self.settings, self.seed = tree, embeddings, weights, settings, seed
        ends = tree.child_ptr.tolist()
        flat = tree.children.tolist()
        self.children: list[list[int]] = [flat[ends[i] : ends[i + 1]] for i in range(tree.n_nodes)]
        self.widths = np.diff(tree.child_ptr)
        self.n_split = self.n_rebuilt = 0
        self.gone: set[int] = set()

    @property
    def fanout(self) -> int:
        """The largest number of children of a node with nodes below it."""
        return max(self.settings.fanout, 2) if isinstance(self.settings.fanout, int) else WIDEST

    def limit(self, node: int) -> int:
        """Return the maximum number of children of a node; a node that was already wider keeps its width."""
        before = int(self.widths[node]) if node < self.tree.n_nodes else 0
        is_leaf = all(child < 0 for child in self.children[node])
        return max(int(SLACK * max(self.fanout, self.settings.leaf_size if is_leaf else 0)), before)

    def split_wide(self, nodes: Any) -> None:
        """Move some labels of nodes that are too wide into new nodes below them."""
        waiting = nodes.tolist()
        while waiting:
            node = waiting.pop()
            own = [child for child in self.children[node] if child < 0]
            others = [child for child in self.children[node] if child >= 0]
            if len(own) + len(others) <= self.limit(node) or len(own) < 2:
                continue
            below, stay = self._halves(own) if others or len(own) > 3 else (own[1:], own[:1])
            self.n_split += 1
            if len(others) + len(stay) + 1 > self.fanout and len(stay) > 1:  # a leaf of a narrow tree gets two nodes
                others.append(self._add(stay))
                stay = []
            self.children[node] = [*others, *stay, self._add(below)]
            waiting += [node, len(self.children) - 1]

    def _add(self, children: list[int]) -> int:
        self.children.append(children)
        return len(self.children) - 1

    def _halves(self, own: list[int]) -> tuple[list[int], list[int]]:
        """Split labels into those to move down and those to keep; at most 3 labels all move down."""
        ids = np.array([~child for child in own])
        if len(own) <= 3:
            return own, []
        weights = np.maximum(self.weights[ids], 1e-300)
        sides, _ = split_labels(
            self.embeddings[ids], weights / weights.sum(), self.settings.tradeoff, random_state=self.seed
        )
        plus = sides > 0
        if plus.all() or not plus.any():
            plus = np.arange(len(own)) < len(own) // 2
        down = plus if plus.sum() > (~plus).sum() else ~plus  # the side with more, rarer labels
        return [own[i] for i in np.flatnonzero(down)], [own[i] for i in np.flatnonzero(~down)]

    def rebuild(self, whole: LabelTree, frequencies: tuple[Any, Any]) -> None:
        """Rebuild subtrees whose share of the weight or number of labels has grown too much."""
        old, new = self._sizes()
        before: Any = whole.label_weights if self.tree.label_weights is None else self.tree.label_weights
        mass_before = self.tree.mass(np.maximum(before[: self.tree.n_labels], 0))
        mass_now = self._sums(self.weights)
        waiting = [child for child in self.children[0] if child >= 0]
        while waiting:
            node = waiting.pop()
            if node >= self.tree.n_nodes or new[node] <= old[node]:  # without a new label below
                continue
            inner = [child for child in self.children[node] if child >= 0]
            if not inner:
                continue
            share_before = mass_before[node] / max(mass_before[0], 1e-300)
            share_now = mass_now[node] / max(mass_now[0], 1e-300)
            has_drifted = new[node] >= DRIFT * old[node] or share_now >= DRIFT * max(share_before, 1e-12)
            if has_drifted and new[node] >= SMALLEST_DRIFT:
                self.rebuild_below(node, frequencies)
            else:
                waiting += inner

    def rebuild_below(self, node: int, frequencies: tuple[Any, Any]) -> None:
        """Rebuild the subtree of a node."""
        ids = np.sort(np.array(self._labels_below(node), dtype=np.int64))
        settings = self.settings
        built = build_tree_from(
            self.embeddings[ids],
            *(None if own is None else np.maximum(own[ids], 1e-12) for own in frequencies),
            tradeoff=settings.tradeoff,
            fanout=settings.fanout,
            leaf_size=settings.leaf_size,
            smoothing=settings.smoothing,
            path=settings.path,
            random_state=self.seed,
        )
        self.gone |= set(self._nodes_below(node))
        first = len(self.children) - 1  # added to the ids of the nodes below its root
        for number in range(built.n_nodes):
            own = built.children[built.child_ptr[number] : built.child_ptr[number + 1]].tolist()
            mapped = [child + first if child >= 0 else ~int(ids[~child]) for child in own]
            if number == 0:
                self.children[node] = mapped
            else:
                self.children.append(mapped)
        self.n_rebuilt += 1

    def _labels_below(self, node: int) -> list[int]:
        labels, waiting = [], [node]
        while waiting:
            for child in self.children[waiting.pop()]:
                if child >= 0:
                    waiting.append(child)
                else:
                    labels.append(~child)
        return labels

    def _nodes_below(self, node: int) -> list[int]:
        nodes, waiting = [], [node]
        while waiting:
            for child in self.children[waiting.pop()]:
                if child >= 0:
                    nodes.append(child)
                    waiting.append(child)
        return nodes

    def _sums(self, values: Any) -> Float64s:
        """Return the sum of the values (L,) of the labels below each node."""
        flat = np.fromiter(itertools.chain.from_iterable(self.children), np.int64)
        owner = np.repeat(np.arange(len(self.children)), [len(own) for own in self.children])
        is_label = flat < 0
        sums: Float64s = np.asarray(
            np.bincount(owner[is_label], values[~flat[is_label]], minlength=len(self.children)), np.float64
        )
        inner = zip(owner[~is_label].tolist(), flat[~is_label].tolist(), strict=True)
        for node, child in reversed(list(inner)):  # children have larger numbers than their node
            sums[node] += sums[child]
        return sums

    def _sizes(self) -> tuple[Int64s, Float64s]:
        """Return the numbers of labels below each node, before and now."""
        return self.tree.n_labels_below, self._sums(np.ones(len(self.weights)))

    def finish(self, n_placed: int) -> PlacedTree:
        """Return the tree: old nodes in their order, then new ones."""
        kept = [node for node in range(len(self.children)) if node not in self.gone]
        number = np.full(len(self.children), -1, np.int64)
        number[kept] = np.arange(len(kept))
        lists = [self.children[node] for node in kept]
        flat = np.array([child for own in lists for child in own], dtype=np.int64)
        child_ptr = np.concatenate([[0], np.cumsum([len(own) for own in lists])]).astype(np.int64)
        children = np.where(flat >= 0, number[np.maximum(flat, 0)], flat).astype(np.int32)
        arrays = TreeArrays(child_ptr, children, len(self.weights), None, self.weights)
        tree = LabelTree._adopt(arrays)
        n_old = self.tree.n_nodes
        old_node = np.array([node if node < n_old else -1 for node in kept], dtype=np.int64)
        old_edge = self._old_edges(child_ptr, flat, old_node)
        before, now = self.tree.label_parent, tree.label_parent[: self.tree.n_labels].astype(np.int64)
        placed = before >= 0
        then = np.where(now >= 0, old_node[np.maximum(now, 0)], -1)
        moved = np.flatnonzero(placed & (then != before))
        return PlacedTree(tree, old_edge, old_node, n_placed, self.n_split, self.n_rebuilt, moved)

    def _old_edges(self, child_ptr: Int64s, flat: Int64s, old_node: Int64s) -> Int64s:
        """Return the old edge of every edge whose child was already a child of the same node, -1 for the others."""
        tree, n_children = self.tree, len(self.children)
        # A child's place in one array: nodes first, then labels.
        place_of = np.where(flat >= 0, flat, n_children + ~flat)
        before = tree.children.astype(np.int64)
        edge_of = np.full(n_children + len(self.weights), -1, np.int64)
        edge_of[np.where(before >= 0, before, n_children + ~before)] = np.arange(len(before))
        owner = np.append(np.repeat(np.arange(tree.n_nodes), np.diff(tree.child_ptr)), -2)  # the last: of no edge
        old_edge = edge_of[place_of]
        return np.where(owner[old_edge] == np.repeat(old_node, np.diff(child_ptr)), old_edge, -1)
