"""Fingerprints of data and estimators, to recognise a sweep of the same data and estimator."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from labeltrees import _core
from labeltrees._matrices import is_sparse
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tuning.tuning_data import TuningData

# Parameters that the sweep sets itself, or that do not change a model.
_IGNORED = {"tradeoff", "fanout", "cover", "path", "n_jobs", "verbose"}


def fingerprint(value: Any) -> str:
    """Return a short hash of the content of a value.

    Examples
    --------
    >>> fingerprint([1, "a"]) == fingerprint((1, "a")), fingerprint(1) == fingerprint(1.5)
    (True, False)
    """
    digest = hashlib.sha256()
    _feed(digest, value)
    return digest.hexdigest()[:32]


def data_fingerprint(data: TuningData) -> str:
    """Return the fingerprint of points, labels, weights and groups, without names."""
    return fingerprint([data.points, data.Y, data.sample_weight, *([] if data.groups is None else [data.groups])])


def estimator_fingerprint(estimator: Any) -> str:
    """Return the fingerprint of an estimator's parameters, except those that a sweep sets."""
    parameters = estimator.get_params(deep=False)
    counted = {name: value for name, value in parameters.items() if name not in _IGNORED}
    return fingerprint([type(estimator).__name__, counted])


def _feed(digest: Any, value: Any) -> None:
    if is_sparse(value):
        csr = value.tocsr()
        _feed(digest, ["sparse", csr.shape, csr.indptr.astype(np.int64), csr.indices.astype(np.int64), csr.data])
    elif isinstance(value, LabelTree):
        _feed(digest, ["tree", value.n_labels, value.child_ptr, value.children])
    elif isinstance(value, np.ndarray) and value.dtype != object:
        flat = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
        digest.update(f"array {value.dtype.str} {value.shape} {_core.xxh64(flat)};".encode())
    elif isinstance(value, Mapping):
        _feed(digest, sorted((str(name), part) for name, part in value.items()))
    elif isinstance(value, list | tuple | np.ndarray):
        digest.update(f"list {len(value)};".encode())
        for part in value:
            _feed(digest, part)
    else:
        digest.update(f"{value!r};".encode())
