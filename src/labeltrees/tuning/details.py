"""Contents of a report besides measurements: facts about data and machine, shapes of trees, example searches."""

from __future__ import annotations

import os
import platform
import re
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from labeltrees import _core
from labeltrees._matrices import Float64s
from labeltrees.labels.imbalance import imbalance
from labeltrees.search.request import SearchRequest
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.view import TreeViewer
from labeltrees.tuning.data import TuningData
from labeltrees.tuning.rules import NO_RULES, Rules

_CURVE_POINTS = 60  # per curve in a chart of frequencies
_TOP_WIDTHS = (12, 5, 4)  # children shown per node of the top of a tree, by depth
_N_EXAMPLES, _MAX_TEXT, _MAX_LABELS, _MAX_VISITS, _MAX_FEATURES = 5, 400, 12, 40, 12


def data_facts(train: TuningData, validation: TuningData) -> dict[str, Any]:
    """Return the shapes of the data."""
    n_features = None if train.is_text else int(train.points.shape[1])
    return {
        "n_points": train.n_points,
        "n_validation_points": validation.n_points,
        "n_features": n_features,
        "n_labels": int(train.Y.shape[1]),
        "n_labels_with_points": len(np.unique(train.Y.indices)),
        "labels_per_point": train.Y.nnz / max(train.n_points, 1),
    }


def machine_facts() -> dict[str, Any]:
    """Return the processor, cores, memory and versions, which times depend on."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": platform.system(),
        "vector_instructions": _core.active_kernels(),
        "python": platform.python_version(),
        "labeltrees": version("labeltrees"),
        "date": datetime.now(UTC).date().isoformat(),
    }


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.machine()
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found.group(1).strip() if found else platform.machine()


def frequency_facts(train: TuningData, frequencies: Float64s, covers: dict[str, Float64s]) -> dict[str, Any]:
    """Return the label frequencies by rank, and the share of points that the most frequent labels serve.

    Parameters
    ----------
    train : TuningData
    frequencies : array (L,)
    covers : dict of arrays (L,)
        Cover frequencies by method.
    """
    curves = {"f": frequencies} | {f"f~ {method}": cover for method, cover in covers.items()}
    by_rank = [
        {"curve": name, "rank": int(rank), "frequency": float(falling[rank - 1])}
        for name, values in curves.items()
        for falling in [np.sort(values)[::-1]]
        for rank in _ranks(int(np.count_nonzero(falling)))
    ]
    return {"by_rank": by_rank, "served": imbalance(train.Y, train.sample_weight).table()}


def _ranks(count: int) -> Any:
    return np.unique(np.rint(np.geomspace(1, max(count, 1), _CURVE_POINTS)).astype(np.int64))


def tree_shape(tree: LabelTree, frequencies: Float64s, label_names: Any = None) -> dict[str, Any]:
    """Return labels and mass (share of label occurrences) at each depth, and the top of the tree, as plain records.

    Examples
    --------
    >>> import numpy as np
    >>> shape = tree_shape(LabelTree([0, 2, 4], [~0, 1, ~1, ~2], n_labels=3), np.array([0.5, 0.25, 0.25]))
    >>> shape["labels_per_depth"], shape["mass_per_depth"]
    ([0, 1, 2], [0.0, 0.5, 0.5])
    """
    placed = tree.label_depth >= 0
    depth = tree.label_depth[placed]
    return {
        "height": tree.height,
        "n_nodes": tree.n_nodes,
        "labels_per_depth": np.bincount(depth).tolist(),
        "mass_per_depth": np.bincount(depth, weights=frequencies[placed]).tolist(),
        "top": TreeViewer(tree, label_names).top(len(_TOP_WIDTHS), _TOP_WIDTHS).record(),
    }


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

    def search(self, model: Any, validation: TuningData, rules: Rules = NO_RULES) -> list[dict[str, Any]]:
        """Return for each point the labels that the model finds, where they are in the tree, and the nodes visited.

        `validation` has all validation points with the features of the model.
        """
        points = validation.points[self.rows]
        labels, scores, stats = model.predict_topk(points, self.k, return_stats=True, **rules.topk(points))
        tree = model.tree_
        viewer = TreeViewer(tree, self.data.label_names)
        visits = self._visits(model, points, rules)
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

    def _visits(self, model: Any, points: Any, rules: Rules) -> list[list[tuple[int, float]]]:
        """Return for each point the first nodes that its search opens in the first tree, with their scores."""
        if not hasattr(model, "searcher_"):
            return [[] for _ in self.rows]
        request = model.complete_request(SearchRequest(self.k, **rules.topk(points)))
        trace = model.searcher_.trace(model.check_queries(points), request)
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
