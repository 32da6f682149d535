"""Example searches for a report: the answers for a few points, and the nodes that were visited."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from labeltrees.search.request import SearchRequest
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.view import TreeViewer
from labeltrees.tuning.tuning_data import TuningData

_N_EXAMPLES, _MAX_TEXT, _MAX_LABELS, _MAX_VISITS, _MAX_FEATURES = 5, 400, 12, 40, 12


class Examples:
    """A few points of the validation data, the same for every setting.

    Parameters
    ----------
    validation : TuningData
    k : int
        The number of labels to search for.
    random_state : int
    """

    def __init__(self, validation: TuningData, k: int, random_state: int) -> None:
        labelled = np.flatnonzero(np.diff(validation.Y.indptr))
        rng = np.random.default_rng(random_state)
        self.rows = np.sort(rng.permutation(labelled)[:_N_EXAMPLES])
        self.data = validation.take(self.rows)
        self.k = k

    def describe(self) -> list[dict[str, Any]]:
        """Return the row, the text (or the strongest features) and the label names of each point."""
        return [
            {"row": int(row), "text": self._text(place), "labels": [self._name(label) for label in self._true(place)]}
            for place, row in enumerate(self.rows)
        ]

    def search(self, model: Any) -> list[dict[str, Any]]:
        """Return for each point the labels that the model finds, where they are in the tree, and the nodes visited."""
        labels, scores, stats = model.predict_topk(self.data.points, self.k, return_stats=True)
        tree = model.tree_
        viewer = TreeViewer(tree, self.data.label_names)
        visits = self._visits(model)
        records = []
        for place in range(len(self.rows)):
            true = self._true(place)
            answers = [
                {
                    "name": self._name(label),
                    "score": round(float(score), 4),
                    "right": label in true,
                    **_place_in_tree(tree, label),
                }
                for label, score in zip(labels[place].tolist(), scores[place].tolist(), strict=True)
                if label >= 0
            ]
            records.append(
                {
                    "answers": answers,
                    "labels": [{"name": self._name(label), **_place_in_tree(tree, label)} for label in true],
                    "visits": [[node, round(score, 4)] for node, score in visits[place]],
                    "nodes": self._nodes(viewer, [node for node, _ in visits[place]], true + labels[place].tolist()),
                    "chunks": int(np.asarray(getattr(stats, "chunks", np.zeros(len(labels))))[place]),
                    "classifiers": int(np.asarray(getattr(stats, "classifiers", np.zeros(len(labels))))[place]),
                }
            )
        return records

    def _visits(self, model: Any) -> list[list[tuple[int, float]]]:
        """Return for each point the first nodes that its search opens in the first tree, with their scores."""
        if not hasattr(model, "searcher_"):
            return [[] for _ in self.rows]
        request = model.complete_request(SearchRequest(self.k))
        trace = model.searcher_.trace(model.check_queries(self.data.points), request)
        nodes, scores = trace.nodes.tolist(), np.exp(trace.scores.astype(np.float64)).tolist()
        return [
            list(zip(nodes[first:end], scores[first:end], strict=True))[:_MAX_VISITS]
            for first, end in pairwise(trace.ends.tolist())
        ]

    def _nodes(self, viewer: TreeViewer, visited: list[int], labels: list[int]) -> dict[str, Any]:
        """Return the parent, the number of labels and some labels of each visited node and each ancestor of a label."""
        nodes = set(visited)
        for label in labels:
            if label >= 0:
                nodes.update(_place_in_tree(viewer.tree, label)["path"])
        return {
            str(node): {
                "parent": int(viewer.tree.parent[node]),
                "n_labels": int(viewer.tree.n_labels_below[node]),
                "examples": viewer.examples(node),
            }
            for node in sorted(nodes)
        }

    def _true(self, place: int) -> list[int]:
        return self.data.Y[[place]].indices[:_MAX_LABELS].tolist()  # type: ignore[no-any-return]

    def _name(self, label: int) -> str:
        names = self.data.label_names
        return f"label {label}" if names is None else str(names[label])

    def _text(self, place: int) -> str:
        if self.data.texts is not None:
            text = " ".join(str(self.data.texts[place]).split())
            return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 1] + "…"
        row = self.data.points[[place]]
        if not hasattr(row, "indices"):
            return ""
        names = self.data.feature_names
        strongest = row.indices[np.argsort(-row.data, kind="stable")[:_MAX_FEATURES]].tolist()
        return ", ".join(f"feature {feature}" if names is None else str(names[feature]) for feature in strongest)


def _place_in_tree(tree: LabelTree, label: int) -> dict[str, Any]:
    """Return the depth of a label and its ancestors; None and no node if it is not in the tree."""
    if tree.label_parent[label] < 0:
        return {"depth": None, "path": []}
    return {"depth": int(tree.label_depth[label]), "path": tree.path(label).tolist()}
