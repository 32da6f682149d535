"""What the splits of a tree depend on: the objective, and the weights of labels in each node."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from labeltrees._matrices import Float64s, Int32s
from labeltrees.labels.weights import label_weights, weight_terms
from labeltrees.tree.objective import coefficients
from labeltrees.tree.settings import TreeSettings


class NodeWeights(NamedTuple):
    """How each node computes the weights of its labels: frequencies (L,), cover frequencies (L,), and `WeightTerms`."""

    frequencies: Float64s
    covers: Float64s
    frequency: float
    power: float
    cover: float
    uniform: float


class SplitRules(NamedTuple):
    """What the splits of a tree depend on, beside embeddings and seeds.

    Parameters
    ----------
    objective : (float, float)
        The coefficients of similarity and frequency (`coefficients`).
    labels : int32 (n,)
        The labels of the tree, ascending.
    weights : float64 (L,)
        f(tradeoff) of all labels.
    root_weights : float64 (n,)
        What the root uses.
    node_weights : NodeWeights, optional
        What the other nodes use, if not `weights`.
    """

    objective: tuple[float, float]
    labels: Int32s
    weights: Float64s
    root_weights: Float64s
    node_weights: NodeWeights | None = None


def split_rules(frequencies: Float64s, covers: Any, settings: TreeSettings) -> SplitRules:
    """Return the rules for labels with checked `frequencies` (L,)."""
    covers = frequencies if covers is None else np.ascontiguousarray(covers, dtype=np.float64)
    how = (settings.tradeoff, settings.smoothing, settings.path)
    weights = label_weights(frequencies, covers, *how)
    labels = np.flatnonzero(frequencies > 0).astype(np.int32)
    rules = SplitRules(coefficients(settings.tradeoff, settings.path), labels, weights, weights[labels])
    if settings.weights_of == "root":
        return rules
    return rules._replace(
        # The root's own labels are those that are placed.
        root_weights=label_weights(frequencies[labels], covers[labels], *how),
        node_weights=NodeWeights(frequencies, covers, *weight_terms(*how)),
    )
