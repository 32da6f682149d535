"""Hypothesis strategies and plain twins that several test files share."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from labeltrees import LabelTree


@st.composite
def label_trees(draw, max_labels=24, *, unplaced=True, unary=True, weights=False):
    """Random valid trees: nodes and labels mixed, unequal depths, ids scattered, some labels unplaced."""
    n_labels = draw(st.integers(1, max_labels))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_placed = draw(st.integers(1, n_labels)) if unplaced else n_labels
    shape = draw(st.sampled_from(["bushy", "deep", "flat"]))
    tree = random_label_tree(rng, n_labels, n_placed, shape=shape, unary=unary)
    if not weights:
        return tree
    return LabelTree(tree.child_ptr, tree.children, n_labels, label_weights=rng.random(n_labels) + 0.01)


def random_label_tree(rng, n_labels, n_placed=None, *, shape="bushy", unary=True):
    """Merge random groups of labels and nodes until one root is left; number nodes by a random order that fits."""
    heads = [~int(label) for label in rng.permutation(n_labels)[: n_placed or n_labels]]
    groups = []
    if shape == "flat":
        groups.append(heads)
        heads = [0]
    while len(heads) > 1 or heads[0] < 0:
        width = min(len(heads), int(rng.integers(2, 5)))
        chosen = rng.permutation(len(heads))[:width] if shape == "bushy" else np.arange(width)
        group = [heads[i] for i in chosen]
        heads = [head for i, head in enumerate(heads) if i not in set(chosen.tolist())]
        groups.append(group)
        heads.insert(0, len(groups) - 1)
        if unary and rng.random() < 0.2:
            groups.append([len(groups) - 1])
            heads[0] = len(groups) - 1
    return _number(rng, groups, n_labels)


def _number(rng, groups, n_labels):
    """Give the nodes ids in a random order in which parents come before their children."""
    new_id, order, ready = {}, [], [len(groups) - 1]
    while ready:
        node = ready.pop(int(rng.integers(len(ready))))
        new_id[node] = len(order)
        order.append(node)
        ready.extend(child for child in groups[node] if child >= 0)
    children = [[new_id[child] if child >= 0 else child for child in groups[node]] for node in order]
    child_ptr = np.cumsum([0, *map(len, children)])
    return LabelTree(child_ptr, [child for group in children for child in group], n_labels)


def children_of(tree, node):
    """The children of a node as a list of ints."""
    return tree.children[tree.child_ptr[node] : tree.child_ptr[node + 1]].tolist()


def labels_below(tree):
    """The set of labels below each node, by plain recursion's twin: from the last node up."""
    below = [set() for _ in range(tree.n_nodes)]
    for node in reversed(range(tree.n_nodes)):
        for child in children_of(tree, node):
            below[node] |= {~child} if child < 0 else below[child]
    return below


def clusters(tree):
    """The label sets of nodes with more than one child: what stays whatever the order and the pass-through nodes."""
    below = labels_below(tree)
    return {frozenset(below[node]) for node in range(tree.n_nodes) if len(children_of(tree, node)) > 1}


@st.composite
def binary_trees(draw):
    """Random binary trees, some nodes with one child, some labels unplaced."""
    n_labels = draw(st.integers(1, 20))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    heads = [~int(label) for label in rng.permutation(n_labels)[: draw(st.integers(1, n_labels))]]
    groups = []
    while len(heads) > 1 or heads[0] < 0:
        width = 1 if len(heads) == 1 or rng.random() < 0.15 else 2
        chosen = rng.permutation(len(heads))[:width]
        groups.append([heads[i] for i in chosen])
        heads = [len(groups) - 1] + [head for i, head in enumerate(heads) if i not in chosen]
    last = len(groups) - 1
    children = [[child if child < 0 else last - child for child in group] for group in reversed(groups)]
    child_ptr = np.cumsum([0, *map(len, children)])
    return LabelTree(child_ptr, [child for group in children for child in group], n_labels)
