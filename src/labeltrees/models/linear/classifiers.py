"""A second classifier per label, trained against its hardest negatives.

In a tree, a classifier is trained only on the points of its node. The second one is trained on the points for which a
model ranks the label high although they do not have it. That model must not have seen these points: two models are
trained, each on one half of the points, and each ranks labels for the other half.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from labeltrees import _core
from labeltrees._holding_out import draw_held_out
from labeltrees._matrices import Float64s, Int32s, Int64s
from labeltrees._validation import check_n_jobs
from labeltrees.data.label_sets import has_label
from labeltrees.models.common.error_costs import check_finite
from labeltrees.models.linear.pieces import NodeTasks
from labeltrees.models.linear.settings import LinearSettings
from labeltrees.models.linear.train import train_tasks
from labeltrees.search.evidence import ABSENT, Classifiers
from labeltrees.search.evidence_arrays import strongest_entries
from labeltrees.search.request import SearchRequest
from labeltrees.storage import LinearWeights

if TYPE_CHECKING:
    from labeltrees.models.linear.estimator import LabelTreeClassifier

N_RANKED = 20  # a wrong label among this many is a hard one
_POINTS_AT_ONCE = 1 << 17  # ranked per batch, to bound the memory
# A classifier keeps this many of its largest weights, plus a multiple of the mean number of features per point. On
# EURLex-4K, a multiple of 2 loses 0.1 points of held-out precision to 4, most of it at the lower ranks. With 8, that is
# nearly all weights, a query takes 20 % longer and gains nothing.
LEAST_KEPT, KEPT_PER_FEATURE = 32, 4


@dataclass(frozen=True)
class KnownPoints:
    """Points in memory from which evidence is made, and a model that was fitted on them.

    Parameters
    ----------
    X : csr_array or dense array (N, d)
        Scaled to unit length if the model normalizes points.
    Y : csr_array (N, L)
    weights : float64 (N,), optional
    groups : int64 (N,), optional
        Points with the same number stay together in a split.
    model : LabelTreeClassifier
        Its tree and costs of errors are used for models of parts of the points.
    settings : LinearSettings
        Those of the model.
    seed : int
    items : int64 (d,), optional
        The label of each feature that is an item of the same catalogue, -1 for others; None if none is.
    """

    X: Any
    Y: Any
    weights: Float64s | None
    groups: Int64s | None
    model: LabelTreeClassifier
    settings: LinearSettings
    seed: int
    items: Int64s | None = None

    def take(self, rows: Any, model: LabelTreeClassifier) -> KnownPoints:
        """Return some of the points, and a model that was fitted on them."""
        weights, groups = (None if values is None else values[rows] for values in (self.weights, self.groups))
        return KnownPoints(self.X[rows], self.Y[rows], weights, groups, model, self.settings, self.seed, self.items)

    def fit(self, rows: Any, **changes: Any) -> LabelTreeClassifier:
        """Return a model with the parameters and costs of `model`, without evidence, fitted on some of the points."""
        from labeltrees.models.linear.fit import fit_here

        model: LabelTreeClassifier = clone(self.model)
        class_weight = "balanced" if self.settings.balanced else self.settings.label_cost
        plain = {"evidence": None, "trend": None, "vectorizer": None, "label_texts": "none", "verbose": 0}
        model.set_params(**{**plain, "class_weight": class_weight, "random_state": self.seed, **changes})
        by_depth: Any = tuple(self.model.stats_["C"])
        model.C = by_depth  # choosing C again would take a fifth of the time
        weights, groups = (None if values is None else values[rows] for values in (self.weights, self.groups))
        fit_here(model, self.X[rows], self.Y[rows], sample_weight=weights, groups=groups)
        return model

    @cached_property
    def hard_negatives(self) -> HardNegatives:
        """For each label, the points without it for which a model of the other half of the points ranks it high."""
        n_points = self.Y.shape[0]
        order, n_half = draw_held_out(n_points, n_points // 2, np.random.default_rng([self.seed, 2]), self.groups)
        halves = np.sort(order[:n_half]), np.sort(order[n_half:])
        found = []
        for own, other in (halves, halves[::-1]):
            if len(own) == 0 or len(other) == 0 or self.Y[own].nnz == 0:
                continue
            model = self.fit(own, tree=self.model.trees_[0], n_trees=1)
            blocks = range(_POINTS_AT_ONCE, len(other), _POINTS_AT_ONCE)
            found += [self._wrong(model, rows) for rows in np.split(other, blocks)]
        points, labels = (np.concatenate(parts) for parts in zip(*found, strict=True)) if found else (_NONE, _NONE)
        by_label = np.lexsort((points, labels))
        counts = np.bincount(labels, minlength=self.Y.shape[1])
        return HardNegatives(np.concatenate([[0], np.cumsum(counts)]), points[by_label])

    def _wrong(self, model: LabelTreeClassifier, rows: Any) -> tuple[Int32s, Int32s]:
        """Return pairs of a point and a label that a model ranks high, although the point does not have it."""
        n_ranked = min(N_RANKED, self.Y.shape[1])
        request = model.complete_request(SearchRequest(n_ranked, evidence=False))
        labels = model.searcher_.topk(self.X[rows], request, n_jobs=self.model.n_jobs).labels
        own, place = np.nonzero(labels >= 0)
        found = labels[own, place]
        wrong = ~has_label(self.Y[rows], own, found)
        return rows[own[wrong]].astype(np.int32), found[wrong].astype(np.int32)


_NONE: Any = np.zeros(0, np.int32)


class HardNegatives(NamedTuple):
    """For each label the points from ``indptr[label]`` to ``indptr[label + 1]``, ascending."""

    indptr: Int64s
    points: Int32s


def train_classifiers(known: KnownPoints, C: float) -> Classifiers:
    """Return a classifier for each label, trained on its points and its hard negatives, with the cost of errors C.

    It is the problem of a tree whose root has one node per label, each with that label as its only child and the hard
    negatives as additional points.
    """
    Y, negatives = known.Y, known.hard_negatives
    X = sp.csr_array(known.X)
    n_labels = Y.shape[1]
    first = n_labels + np.arange(n_labels + 1)
    all_ones = bool((Y.data == 1).all())
    problem = _core.LinearProblem(
        n_points=X.shape[0],
        n_features=X.shape[1],
        n_labels=n_labels,
        x_indptr=X.indptr.astype(np.int64),
        x_columns=X.indices.astype(np.int32, copy=False),
        x_values=X.data.astype(np.float32, copy=False),
        y_indptr=Y.indptr.astype(np.int64),
        y_columns=Y.indices.astype(np.int32, copy=False),
        y_values=None if all_ones else np.ascontiguousarray(Y.data, dtype=np.float32),
        child_ptr=np.concatenate([[0], first]).astype(np.int64),
        children=np.concatenate([1 + np.arange(n_labels), ~np.arange(n_labels)]).astype(np.int32),
        point_weight=None if known.weights is None else known.weights.astype(np.float32),
        label_cost=known.settings.label_cost,
        extra_indptr=np.concatenate([[0], negatives.indptr]).astype(np.int64),
        extra_points=negatives.points,
    )
    is_known = np.bincount(Y.indices, minlength=n_labels) > 0
    labels = np.flatnonzero(is_known)
    tasks = NodeTasks(labels + 1, first[labels], np.ones(len(labels), np.int64))
    costs = np.full(len(labels), C, np.float32)
    weights = train_tasks(problem, tasks, known.settings, known.seed, check_n_jobs(known.model.n_jobs), costs)
    assert isinstance(weights, LinearWeights)
    check_finite(weights)
    lengths, bias = np.zeros(n_labels, np.int64), np.full(n_labels, ABSENT, np.float32)
    lengths[labels], bias[labels] = np.diff(weights.indptr), weights.bias
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    n_kept = LEAST_KEPT + int(KEPT_PER_FEATURE * X.nnz / max(X.shape[0], 1))
    rows = strongest_entries(indptr, weights.features, weights.values, n_kept)
    solver = known.settings
    return Classifiers(rows, bias, bool(known.model.normalize), solver.loss, float(solver.score_power))
