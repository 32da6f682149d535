"""The path to one label in a model: the classifiers on it and their strongest features."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.text import Text

from labeltrees._files import naming_file
from labeltrees.cli.output import plural, printable
from labeltrees.cli.tree_view import find_label
from labeltrees.models.common.protocol import Model
from labeltrees.models.linear.contexts import feature_names_of
from labeltrees.storage.chunks import ChunkStore
from labeltrees.storage.unpack import unpack_node
from labeltrees.tree.arrays import TreeArrays
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.view import NodeView, TreeViewer


class LabelInspector:
    """Shows single labels of a model that was loaded from `folder`."""

    def __init__(self, model: Model, folder: str) -> None:
        self.model = model
        with naming_file(folder):  # a mapped tree is checked here
            self._trees = [_named(tree, model.label_names_) for tree in model.trees_]
        # Only linear models have weights of features; for the others, the steps are shown alone.
        self._stores: list[ChunkStore | None] = list(getattr(model.searcher_, "stores", [None] * len(self._trees)))

    def inspect(self, label_or_id: str, n_features: int) -> dict[str, Any]:
        """Return the path of a label in each tree, with the `n_features` strongest features of each step."""
        label = find_label(self._trees[0], label_or_id)
        pairs = zip(self._trees, self._stores, strict=True)
        trees = [self._path(tree, store, label, n_features) for tree, store in pairs]
        return {
            "label": label,
            "name": TreeViewer(self._trees[0]).name(label),
            "n_points": int(self.model.label_counts_[label]),
            "trees": trees,
        }

    def _path(self, tree: LabelTree, store: ChunkStore | None, label: int, n_features: int) -> dict[str, Any]:
        viewer = TreeViewer(tree)
        nodes, found = viewer.path_to(label)
        steps = []
        for depth, node in enumerate(nodes):
            below = nodes[depth + 1] if depth + 1 < len(nodes) else None
            child = ~label if below is None else below.node
            shown = {} if store is None else self._classifier(store, node.node, child, n_features)
            steps.append({**_step(node, below, found.name), **shown})
        return {"depth": found.depth, "path": steps}

    def _classifier(self, store: ChunkStore, node: int, child: int, n_features: int) -> dict[str, Any]:
        classifiers = unpack_node(store, node)
        place = int(np.flatnonzero(classifiers.children == child)[0])
        row: Any = classifiers.weights[[place]]
        # The strongest first; ties go to the smaller feature.
        order = np.lexsort((row.indices, -np.abs(row.data)))[:n_features]
        strongest = [
            {"feature": feature, "name": self._feature_name(feature), "weight": weight}
            for feature, weight in zip(row.indices[order].tolist(), row.data[order].tolist(), strict=True)
        ]
        return {"bias": float(classifiers.bias[place]), "n_weights": int(row.nnz), "features": strongest}

    def _feature_name(self, feature: int) -> str:
        names = feature_names_of(self.model)
        return f"feature {feature}" if names is None else str(names[feature])


def _named(tree: LabelTree, names: Any) -> LabelTree:
    return LabelTree._adopt(TreeArrays(tree.child_ptr, tree.children, tree.n_labels, names, tree.label_weights))


def _step(node: NodeView, below: NodeView | None, label_name: str) -> dict[str, Any]:
    if below is None:
        return {"node": node.node, "to": "label", "name": label_name}
    return {"node": node.node, "to": below.node, "n_labels": below.n_labels, "examples": below.examples}


def label_text(record: dict[str, Any]) -> Text:
    """Return the record of a label as text."""
    text = Text()
    text.append(printable(record["name"]), "bold")
    text.append(f"  label {record['label']}, {plural(record['n_points'], 'training point')}\n")
    several = len(record["trees"]) > 1
    for number, tree in enumerate(record["trees"]):
        text.append(f"\ntree {number}, depth {tree['depth']}\n" if several else f"depth {tree['depth']}\n")
        for step in tree["path"]:
            text.append_text(_step_text(step))
    text.rstrip()
    return text


def _step_text(step: dict[str, Any]) -> Text:
    start = "root" if step["node"] == 0 else f"node {step['node']}"
    text = Text(f"{start} -> ", "cyan")
    if step["to"] == "label":
        text.append(printable(step["name"]), "bold")
    else:
        more = ", ..." if step["n_labels"] > len(step["examples"]) else ""
        text.append(f"node {step['to']}", "cyan")
        text.append(
            f" ({plural(step['n_labels'], 'label')}: {', '.join(map(printable, step['examples']))}{more})", "dim"
        )
    if "bias" not in step:
        return text.append("\n")
    text.append(f"  bias {step['bias']:.2f}, {plural(step['n_weights'], 'weight')}\n")
    shown = ", ".join(f"{printable(feature['name'])} {feature['weight']:+.2f}" for feature in step["features"])
    text.append(f"    {shown}\n")
    return text
