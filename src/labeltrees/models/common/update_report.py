"""UpdateReport: what an update did, and how its tree compares with a new tree."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from labeltrees.storage.chunks import edges_of
from labeltrees.tree.label_tree import LabelTree

TOO_DEEP = 1.1  # a full fit is advised if the mean depth exceeds that of a new tree by this factor
TOO_MANY = 0.3  # or if the labels added since the last fit exceed this share of the labels at that fit
_SHOWN = 5  # labels named in a printed report
TOO_MANY_ALONE = 0.05  # the same for an update without replay


@dataclass
class UpdateReport:
    """What an update did.

    Attributes
    ----------
    n_points, n_replayed : int
        New points, and old points that were given as `replay`.
    new_labels : list
        Names, or ids.
    n_new_features : int
    n_split, n_rebuilt : int
        Nodes that were split because they became too wide, and subtrees that were rebuilt because their weight had
        drifted.
    moved_labels : list
        Old labels that now have another parent node.
    kept, continued, trained : int
        Classifiers that did not change, that were trained further from their old weights, and that were newly trained
        on all points of their node.
    expected_depth, fresh_depth : float
        Mean depth of a label, and an estimate for a new tree: the depth at the last fit, scaled by the change of the
        label entropy.
    similarity, fresh_similarity : float or None
        Mean cosine between new labels and the centre of their node, and the same for the old labels of these nodes,
        as an estimate for a new tree. None without new labels or without replay.
    exact : bool
        Whether the model is identical, to the byte, to a fit on the same tree.
    seconds : float
    notes : list of str
        Parts of the model that the update could not keep up to date.
    full_fit_advised : str or None
        The reason why a full fit is advisable; None if it is not.
    n_forgotten : int or None
        Points that `forget` removed; None for an update.
    retired_labels : list
        Labels that `forget` retired because no point is left: names, or ids.
    """

    n_points: int
    n_replayed: int
    new_labels: list[Any]
    n_new_features: int
    n_split: int
    n_rebuilt: int
    moved_labels: list[Any]
    kept: int
    continued: int
    trained: int
    expected_depth: float
    fresh_depth: float
    similarity: float | None
    fresh_similarity: float | None
    exact: bool
    seconds: float
    notes: list[str] = field(default_factory=list)
    full_fit_advised: str | None = None
    n_forgotten: int | None = None
    retired_labels: list[Any] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes as JSON values."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [
            self._points(),
            f"classifiers: {self.kept:,} kept, {self.continued:,} continued, {self.trained:,} trained",
            f"tree: {count(self.n_split, 'node')} split, {count(self.n_rebuilt, 'subtree')} rebuilt, "
            f"{count(len(self.moved_labels), 'label')} moved; expected depth {self.expected_depth:.2f} "
            f"(estimate for a new tree: {self.fresh_depth:.2f})",
        ]
        lines += self.notes
        if self.full_fit_advised is not None:
            lines.append(f"a full fit is advisable: {self.full_fit_advised}")
        return "\n".join(lines)

    def _points(self) -> str:
        """Return which points and labels came or went."""
        if self.n_forgotten is None:
            parts = ((self.n_points, "point"), (len(self.new_labels), "label"), (self.n_new_features, "feature"))
            return ", ".join(count(n, f"new {noun}") for n, noun in parts)
        labels = count(len(self.retired_labels), "label")
        shown = [*map(str, self.retired_labels[:_SHOWN]), *(["..."] if len(self.retired_labels) > _SHOWN else [])]
        without = f"; {labels} retired because no point is left: {', '.join(shown)}" if shown else ""
        return f"{count(self.n_forgotten, 'point')} forgotten{without}"


def count(n: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{n:,} {noun}" + ("" if n == 1 else "s")


def shown_labels(names: Any, labels: Any) -> list[Any]:
    """Return the names of labels, or their ids if they have no names."""
    ids = np.asarray(labels, np.int64)
    return list(ids.tolist() if names is None else names.take(ids).tolist())


def mean_depth(tree: LabelTree, counts: Any) -> float:
    """Return the mean depth of the labels in the tree, weighted by their counts; 0 if all counts are 0."""
    placed = tree.label_parent >= 0
    weights = np.where(placed, counts[: tree.n_labels], 0).astype(np.float64)
    return float(tree.expected_depth(weights)) if weights.sum() > 0 else 0.0


def entropy_of(counts: Any) -> float:
    """Return the entropy of the label distribution, in nats."""
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum())


def updates_so_far(
    stats: dict[str, Any], tree: LabelTree, counts: Any, n_added: int, exact: bool = False
) -> dict[str, Any]:
    """Return the update history, for later updates; `tree` and `counts` are those before this update."""
    before = stats.get("updates", {})
    fit = {
        "fit_labels": int((tree.label_parent >= 0).sum()),
        "fit_depth": mean_depth(tree, counts),
        "fit_entropy": entropy_of(counts),
    }
    kept = {name: before.get(name, value) for name, value in fit.items()}
    return {**kept, "n": before.get("n", 0) + 1, "exact": exact, "added": before.get("added", 0) + n_added}


def depths(history: dict[str, Any], tree: LabelTree, counts: Any) -> tuple[float, float]:
    """Return the mean depth of a label in the updated tree, and an estimate for a new tree."""
    entropy = history["fit_entropy"]
    return mean_depth(tree, counts), history["fit_depth"] * (entropy_of(counts) / entropy if entropy > 0 else 1.0)


def advice(report: UpdateReport, history: dict[str, Any], with_replay: bool) -> str | None:
    """Return the reason why a full fit is advisable, or None."""
    share = history["added"] / max(history["fit_labels"], 1)
    if report.expected_depth > TOO_DEEP * report.fresh_depth > 0:  # an entropy of 0, of one label, gives no estimate
        return f"labels are {report.expected_depth / report.fresh_depth:.1f} times as deep as in a new tree"
    if share > TOO_MANY or (not with_replay and share > TOO_MANY_ALONE):
        return f"{share:.0%} of the labels were added since the last one"
    return None


def similarity_of(tree: LabelTree, embeddings: Any, new: Any, known: bool) -> tuple[float | None, float | None]:
    """Return the mean cosine between new labels and the centre of their node, and that of the old labels there."""
    if embeddings is None or not known or len(new) == 0:
        return None, None
    parents = np.unique(tree.label_parent[new])
    edges, _ = edges_of(tree.child_ptr, parents.astype(np.int64))
    children = tree.children[edges].astype(np.int64)
    node = np.repeat(np.arange(len(parents)), np.diff(tree.child_ptr)[parents])
    labels, node = ~children[children < 0], node[children < 0]
    is_new = np.isin(labels, new)
    rows = embeddings[labels]
    sums = []
    for some in (np.ones(len(labels), dtype=bool), is_new):
        ones: Any = (np.ones(int(some.sum()), np.float32), (node[some], np.flatnonzero(some)))
        sums.append(sp.csr_array(ones, shape=(len(parents), len(labels))) @ rows)
    # The cosines of some labels with the centre c of their node sum to the dot product of the labels' sum and c.
    squares, products = (np.asarray(sums[0].multiply(own).sum(axis=1)).ravel() for own in sums)
    lengths = np.maximum(np.sqrt(squares), 1e-12)
    n_new = int(is_new.sum())
    of_new = float((products / lengths).sum())
    old = None if n_new == len(labels) else (float(lengths.sum()) - of_new) / (len(labels) - n_new)
    return of_new / max(n_new, 1), old
