"""Where new labels go in a tree."""

import numpy as np
import pytest
import scipy.sparse as sp

from labeltrees.tree.builder import build_tree_from
from labeltrees.tree.placement import find_homes
from labeltrees.tree.settings import TreeSettings
from labeltrees.tree.splits import coefficients


def homes_by_definition(tree, labels, rows, weights, settings):
    """Go down from the root to the child that is closest in the order of a split, with dense rows."""
    similarity, frequency = coefficients(settings.tradeoff, settings.path)

    def below(child):
        if child < 0:
            return [~child]
        return [
            label for own in tree.children[tree.child_ptr[child] : tree.child_ptr[child + 1]] for label in below(own)
        ]

    homes = []
    for label in labels:
        node = 0
        while True:
            children = tree.children[tree.child_ptr[node] : tree.child_ptr[node + 1]]
            total, scores = weights[below(node)].sum(), []
            for child in children:
                own = below(child)
                centre = rows[own[0]] if len(own) == 1 else weights[own] @ rows[own]
                cosine = rows[label] @ centre / max(np.linalg.norm(centre), 1e-300)
                away = abs(weights[label] - weights[own].mean()) / total
                scores.append(similarity / 2 * cosine - frequency * away)
            best = children[np.argmax(scores)]
            if best < 0:
                break
            node = best
        homes.append(node)
    return np.array(homes)


@pytest.mark.parametrize("tradeoff", [0.0, 1.0, 1.5, 2.0])
@pytest.mark.parametrize("fanout", [3, 40])
def test_labels_go_to_the_closest_child(tradeoff, fanout):
    rng = np.random.default_rng(int(10 * tradeoff) + fanout)
    n_old, n_new = 150, 40
    rows = rng.random((n_old + n_new, 30)) * (rng.random((n_old + n_new, 30)) < 0.3)
    rows[:, 0] += 0.01
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    weights = rng.random(n_old + n_new) ** 3 + 1e-3
    settings = TreeSettings(tradeoff=tradeoff, fanout=fanout)
    tree = build_tree_from(sp.csr_array(rows[:n_old]), weights[:n_old], None, tradeoff=tradeoff, fanout=fanout)
    labels = np.arange(n_old, n_old + n_new)
    wanted = homes_by_definition(tree, labels, rows.astype(np.float64), weights, settings)
    for n_jobs in (1, 3):
        found = find_homes(tree, labels, sp.csr_array(rows), weights, settings, n_jobs)
        np.testing.assert_array_equal(found, wanted)
