"""Points, labels, costs and a tree, checked and in the form the trainer reads."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from labeltrees import _core
from labeltrees._matrices import (
    Float32s,
    Int32s,
    Int64s,
    SparseRows,
    check_same_points,
    check_sample_weight,
    check_X,
    check_Y,
)
from labeltrees._validation import refuse
from labeltrees.tree.label_tree import LabelTree

LARGEST_VALUE = 1e15  # of X, costs and weights; products of larger values overflow float32


def make_problem(
    X: Any, Y: Any, tree: LabelTree, label_cost: Any = None, sample_weight: Any = None, negatives: Any = None
) -> _core.LinearProblem:
    """Check the arguments of `train_linear` and return them in native form."""
    labels: Any = check_Y(Y, allow_empty=True).matrix
    rows = _rows(X)
    n_points = rows["n_points"]
    check_same_points(n_points, labels.shape[0])
    if not isinstance(tree, LabelTree) or tree.n_labels != labels.shape[1]:
        refuse("tree", f"a LabelTree over the {labels.shape[1]} labels of Y", tree)
    weights = check_sample_weight(sample_weight, n_points)
    extra_indptr, extra_points = _additional_negatives(labels, tree, negatives)
    return _core.LinearProblem(
        **rows,
        n_labels=labels.shape[1],
        y_indptr=labels.indptr.astype(np.int64),
        y_columns=labels.indices.astype(np.int32, copy=False),
        y_values=None if (labels.data == 1).all() else _as_costs("Y", labels.data),
        child_ptr=tree.child_ptr,
        children=tree.children,
        point_weight=None if weights is None else _as_costs("sample_weight", weights),
        label_cost=_check_label_cost(label_cost, labels.shape[1]),
        extra_indptr=extra_indptr,
        extra_points=extra_points,
    )


def _rows(X: Any) -> dict[str, Any]:
    rows = check_X(X).rows
    if isinstance(rows, SparseRows):
        refuse_large("X", rows.values)
        return {
            "n_points": rows.n_points,
            "n_features": rows.n_columns,
            "x_indptr": rows.indptr,
            "x_columns": rows.indices,
            "x_values": rows.values,
        }
    refuse_large("X", rows)
    n_points, n_features = rows.shape
    return {
        "n_points": n_points,
        "n_features": n_features,
        "x_indptr": None,
        "x_columns": None,
        "x_values": rows.reshape(-1),
    }


def _check_label_cost(label_cost: Any, n_labels: int) -> Float32s | None:
    if label_cost is None:
        return None
    costs = np.asarray(label_cost)
    if costs.shape != (n_labels,) or costs.dtype.kind not in "iuf" or not (costs > 0).all():
        refuse("label_cost", f"{n_labels} numbers above 0", label_cost)
    return _as_costs("label_cost", costs)


def _as_costs(name: str, costs: Any) -> Float32s:
    refuse_large(name, costs)
    return np.ascontiguousarray(costs, dtype=np.float32)


def refuse_large(name: str, values: Any) -> None:
    """Raise `InputError` for values whose products would overflow float32."""
    largest = float(max(-values.min(), values.max())) if values.size > 0 else 0.0
    if largest > LARGEST_VALUE:
        refuse(name, f"of values up to {LARGEST_VALUE:g}", largest)


def _additional_negatives(labels: Any, tree: LabelTree, negatives: Any) -> tuple[Int64s | None, Int32s | None]:
    """Return the additional points of every node, node by node: `negatives`, and at the root points without labels."""
    shape = (labels.shape[0], tree.n_nodes)
    if negatives is not None and (not sp.issparse(negatives) or getattr(negatives, "shape", None) != shape):
        refuse("negatives", f"a sparse matrix of shape {shape}", negatives)
    placed = (tree.label_parent >= 0).astype(np.float32)
    without = np.flatnonzero((labels @ placed) == 0).astype(np.int32)
    if negatives is None and len(without) == 0:
        return None, None
    additional: Any = shape if negatives is None else negatives
    by_node: Any = sp.csc_array(additional)
    indptr = by_node.indptr.astype(np.int64)
    points = by_node.indices.astype(np.int32)
    at_root = np.union1d(points[: indptr[1]], without).astype(np.int32)
    points = np.concatenate([at_root, points[indptr[1] :]])
    indptr[1:] += len(at_root) - indptr[1]
    return indptr, points
