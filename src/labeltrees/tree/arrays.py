"""The flat arrays of a label tree, and their checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labeltrees import _core
from labeltrees._validation import check_integer, refuse
from labeltrees.errors import InputError

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Float64s = NDArray[np.float64]
Names = NDArray[np.object_]

# Ids are int32 and a label is stored as ~label.
MAX_LABELS = 2**31 - 1


class TreeArrays(NamedTuple):
    """The arguments of `LabelTree`, as readers of files return them."""

    child_ptr: Int64s
    children: Int32s
    n_labels: int
    label_names: Names | None = None
    label_weights: Float64s | None = None


def check_shape(child_ptr: ArrayLike, children: ArrayLike, n_labels: Any) -> tuple[Int64s, Int32s, int]:
    """Return the arrays in their dtypes, with sizes checked; `find_parents` checks the contents."""
    n_labels = check_integer("n_labels", n_labels, 1, MAX_LABELS)
    starts: Int64s = as_integers("child_ptr", child_ptr, np.int64)
    entries: Int32s = as_integers("children", children, np.int32)
    if len(starts) < 2:
        refuse("child_ptr", "one entry longer than the number of nodes, which is at least 1", starts.tolist())
    if len(starts) > MAX_LABELS:
        refuse("child_ptr", f"of at most {MAX_LABELS} entries", len(starts))
    if starts[0] != 0:
        refuse("child_ptr", "0 at its start", int(starts[0]))
    if starts[-1] != len(entries):
        refuse("child_ptr", f"the number of children, {len(entries)}, at its end", int(starts[-1]))
    return starts, entries, n_labels


def as_integers(name: str, values: ArrayLike, dtype: type[Any]) -> Any:
    """Return `values` as a vector of `dtype`, without a copy if possible; refuse values that do not fit."""
    array = np.asarray(values)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size > 0):
        refuse(name, "a vector of integers", f"{array.dtype} of shape {array.shape}")
    limits = np.iinfo(dtype)
    if (
        array.size > 0
        and not np.can_cast(array.dtype, dtype)
        and (array.min() < limits.min or array.max() > limits.max)
    ):
        refuse(name, f"within [{limits.min}, {limits.max}]", f"{array.min()} to {array.max()}")
    return np.ascontiguousarray(array, dtype=dtype)


def find_parents(child_ptr: Int64s, children: Int32s, n_labels: int) -> tuple[Int32s, Int32s]:
    """Check the invariants of a tree and return the parents of its nodes and labels, -1 for none."""
    parent = np.empty(len(child_ptr) - 1, dtype=np.int32)
    label_parent = np.empty(n_labels, dtype=np.int32)
    fault, node, position = _core.tree_parents(child_ptr, children, parent, label_parent)
    if fault != 0:
        _raise_fault(fault, node, position, child_ptr, children, n_labels)
    return freeze(parent), freeze(label_parent)


def _raise_fault(fault: int, node: int, position: int, child_ptr: Int64s, children: Int32s, n_labels: int) -> NoReturn:
    child = int(children[position]) if 0 <= position < len(children) else 0
    where = f"child {position - int(child_ptr[node])} of node {node} (position {position} of children)"
    message = {
        1: f"node {node} must have at least one child: child_ptr goes from {child_ptr[node]} to {child_ptr[node + 1]}",
        2: f"{where} is node {child}, but the tree has {len(child_ptr) - 1} nodes",
        3: f"{where} is node {child}: a child's id must be larger than its parent's",
        4: f"{where} is node {child}, which is already the child of another node or position",
        5: f"{where} is label {~child}, but there are {n_labels} labels",
        6: f"{where} is label {~child}, which is already elsewhere in the tree",
        7: f"node {node} is not the child of any node",
    }[fault]
    raise InputError(message)


def renumber(child_ptr: Int64s, children: Int32s, mass: Float64s) -> tuple[Int64s, Int32s, Int32s]:
    """Give the nodes of a tree new ids: breadth-first, within a level by descending mass, ties in their old order.

    The children of a node keep their order. In the input a child may have a smaller id than its parent. The arrays are
    trusted: every node except the root, 0, is the child of exactly one node.

    Parameters
    ----------
    child_ptr, children : array of int64 (n_nodes + 1,), array of int32
        The tree, as in `LabelTree`.
    mass : array of float64 (n_nodes,)
        The mass of each node; finite.

    Returns
    -------
    child_ptr, children : array of int64 (n_nodes + 1,), array of int32
        The tree with its new ids.
    old_ids : array of int32 (n_nodes,)
        The old id of each node.

    Examples
    --------
    >>> import numpy as np
    >>> child_ptr, children = np.array([0, 2, 4, 6]), np.array([1, 2, ~0, ~1, ~2, ~3], dtype=np.int32)
    >>> renumber(child_ptr, children, np.array([1.0, 0.25, 0.75]))[1]
    array([ 2,  1, -3, -4, -1, -2], dtype=int32)
    """
    new_child_ptr, new_children = np.empty_like(child_ptr), np.empty_like(children)
    old_ids = np.empty(len(child_ptr) - 1, dtype=np.int32)
    reached = _core.tree_renumber(child_ptr, children, mass, new_child_ptr, new_children, old_ids)
    if reached != len(old_ids):
        message = f"{len(old_ids) - reached} nodes form a cycle that the root does not reach"
        raise InputError(message)
    return new_child_ptr, new_children, old_ids


def check_weights(name: str, weights: ArrayLike, n: int | None = None, each: str = "label") -> Float64s:
    """Return `weights` as `n` finite, non-negative float64 values, one per `each`; any number of them if n is None."""
    array = np.asarray(weights)
    wrong = array.ndim != 1 or array.size == 0 if n is None else array.shape != (n,)
    if wrong or array.dtype.kind not in "iuf":
        many = "" if n is None else f"{n} "
        refuse(name, f"a vector of {many}numbers, one per {each}", f"{array.dtype} of shape {array.shape}")
    array = np.ascontiguousarray(array, dtype=np.float64)
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if bad.size > 0:
        refuse(f"{name}[{bad[0]}]", "a finite number of at least 0", float(array[bad[0]]))
    return array


def check_names(names: Sequence[str] | Names, n_labels: int) -> Names:
    """Return one string per label as an array of objects."""
    if isinstance(names, str) or not hasattr(names, "__len__"):
        refuse("label_names", f"a sequence of {n_labels} strings, one per label", names)
    if len(names) != n_labels:
        refuse("label_names", f"a sequence of {n_labels} strings, one per label", f"{len(names)} of them")
    array = np.fromiter(names.tolist() if isinstance(names, np.ndarray) else names, dtype=object, count=n_labels)
    # A set of types first: one isinstance per name would take seconds for ten million names.
    if set(map(type, array)) != {str}:
        for position, name in enumerate(array):
            if not isinstance(name, str):
                refuse(f"label_names[{position}]", "a string", name)
            array[position] = str(name)
    return array


def freeze(array: Any) -> Any:
    """Make `array` read-only and return it."""
    array.flags.writeable = False
    return array


def frozen(array: Any, source: Any) -> Any:
    """Return `array` read-only; copy it if the owner of `source` could still write to it."""
    if array is source:
        fresh = array.flags.owndata and not array.flags.writeable
    else:
        fresh = isinstance(source, list | tuple) or (
            isinstance(source, np.ndarray) and not np.may_share_memory(array, source)
        )
    return freeze(array if fresh else array.copy())
