"""The way of a search through the tree: which nodes it opened, and where its answers are."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

from labeltrees.models.common.protocol import Model
from labeltrees.search.request import SearchRequest
from labeltrees.serving.answers import OpenedNode, SearchPath
from labeltrees.tree.view import TreeViewer

_MAX_NODES = 400  # of one search that an answer describes
_N_EXAMPLES = 8


class PathFinder:
    """Finds the nodes that searches open; it makes what it needs for that with the first search.

    Parameters
    ----------
    model : Model
    """

    def __init__(self, model: Model) -> None:
        self._model = model

    @cached_property
    def _viewers(self) -> list[TreeViewer]:
        names = self._model.label_names_
        return [TreeViewer(tree, names, n_examples=_N_EXAMPLES) for tree in self._model.trees_]

    def find(self, point: Any, request: SearchRequest, labels: list[int]) -> list[SearchPath]:
        """Return the path of the search of one point in every tree, and where `labels` are."""
        return [self._in_tree(number, viewer, point, request, labels) for number, viewer in enumerate(self._viewers)]

    def _in_tree(
        self, number: int, viewer: TreeViewer, point: Any, request: SearchRequest, labels: list[int]
    ) -> SearchPath:
        searcher, tree = self._model.searcher_, viewer.tree
        trace = searcher.trace(point, request) if number == 0 else searcher.trace(point, request, tree=number)
        opened = []
        for node, score in zip(trace.nodes[:_MAX_NODES].tolist(), trace.scores[:_MAX_NODES].tolist(), strict=True):
            first, end = tree.child_ptr[node : node + 2].tolist()
            opened.append(
                OpenedNode(
                    node=node,
                    parent=int(tree.parent[node]),
                    depth=int(tree.node_depth[node]),
                    score=round(math.exp(score), 6),
                    n_labels=int(tree.n_labels_below[node]),
                    n_children=end - first,
                    labels=viewer.examples(node),  # type: ignore[arg-type]
                )
            )
        answers = [tree.path(label).tolist() if tree.label_parent[label] >= 0 else [] for label in labels]
        return SearchPath(tree.n_nodes, len(trace.nodes), tree.height, opened, answers)
