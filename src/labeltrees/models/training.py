"""Training the linear classifiers of a tree: settings, checks, and the call into the core."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from labeltrees import _core
from labeltrees._matrices import Float32s, Int32s, Int64s
from labeltrees._progress import watch
from labeltrees._validation import check_n_jobs
from labeltrees.storage import LinearWeights
from labeltrees.tree.label_tree import LabelTree


@dataclass(frozen=True)
class LinearSettings:
    """How every classifier is trained."""

    loss: str = "squared_hinge"
    C: float = 1.0
    eps: float = 0.1
    max_iter: int = 100
    prune_below: float = 0.1
    bias: float = 1.0
    balanced: bool = False
    label_cost: Float32s | None = None


def train_linear(
    X: Any,
    Y: Any,
    tree: LabelTree,
    settings: LinearSettings,
    *,
    sample_weight: Any = None,
    negatives: Any = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: bool | Callable[[int, int], object] | None = None,
) -> LinearWeights:
    """Train a classifier for every child of every node of `tree`, on the points of the node.

    Parameters
    ----------
    X : csr_array (N, d) or array (N, d), float32
    Y : csr_array (N, L), float32
        Values other than 1 weigh a point as a positive of the label. A point without labels is a negative at the root.
    tree : LabelTree
    settings : LinearSettings
    sample_weight : array (N,), optional
    negatives : sparse (N, n_nodes), optional
        Further points on which the children of a node are trained as negatives.
    random_state : int
    n_jobs : int, optional
        Threads; the weights do not depend on it.
    progress : bool or callable(done, total), optional

    Returns
    -------
    LinearWeights
        One row for every entry of ``tree.children``.
    """
    is_sparse = bool(sp.issparse(X))
    if is_sparse:
        rows = X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data
    else:
        rows = None, None, np.ascontiguousarray(X, dtype=np.float32).reshape(-1)
    labels: Any = sp.csr_array(Y)
    relevance = None if (labels.data == 1).all() else np.ascontiguousarray(labels.data, dtype=np.float32)
    extra_ptr, extra_points = _further_negatives(labels, tree, negatives)
    with watch("Training the classifiers", len(tree.children), progress) as advance:
        arrays = _core.train_linear(
            *rows,
            X.shape[0],
            X.shape[1],
            labels.indptr.astype(np.int64),
            labels.indices.astype(np.int32),
            relevance,
            Y.shape[1],
            tree.child_ptr,
            tree.children,
            None if sample_weight is None else np.ascontiguousarray(sample_weight, dtype=np.float32),
            settings.label_cost,
            extra_ptr,
            extra_points,
            cost=settings.C,
            eps=settings.eps,
            max_iter=settings.max_iter,
            bias_value=settings.bias,
            prune_below=settings.prune_below,
            balanced=settings.balanced,
            logistic=settings.loss == "logistic",
            seed=random_state,
            n_threads=check_n_jobs(n_jobs),
            progress=advance,
        )
    return LinearWeights(*arrays)


def _further_negatives(labels: Any, tree: LabelTree, negatives: Any) -> tuple[Int64s | None, Int32s | None]:
    """Return the further points of every node, node by node: `negatives`, and at the root the points without labels."""
    placed = (tree.label_parent >= 0).astype(np.float32)
    without = np.flatnonzero((labels @ placed) == 0).astype(np.int32)
    if negatives is None and len(without) == 0:
        return None, None
    by_node: Any = sp.csc_array((labels.shape[0], tree.n_nodes) if negatives is None else negatives)
    indptr = by_node.indptr.astype(np.int64)
    points = by_node.indices.astype(np.int32)
    at_root = np.union1d(points[: indptr[1]], without).astype(np.int32)
    points = np.concatenate([at_root, points[indptr[1] :]])
    indptr[1:] += len(at_root) - indptr[1]
    return indptr, points
