"""The linear model as a folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.errors import FileFormatError
from labeltrees.models.calibration import Calibration
from labeltrees.models.parameters import CHECKS, check_parameters
from labeltrees.search import Searcher
from labeltrees.storage import ChunkStore, LoadedModel, decode_names, encode_names, save_arrays
from labeltrees.tree.arrays import TreeArrays
from labeltrees.tree.label_tree import LabelTree

if TYPE_CHECKING:
    from labeltrees.models.linear import LabelTreeClassifier

KIND = "LabelTreeClassifier"
NOT_KEPT = ("embeddings", "tree")  # what they led to is kept: the trees


def save_classifier(model: LabelTreeClassifier, folder: str | os.PathLike[str]) -> None:
    """Write a fitted model."""
    searcher = model.searcher_
    settings = {name: _plain(value) for name, value in model.get_params(deep=False).items() if name not in NOT_KEPT}
    parameters = {
        "settings": settings,
        "n_labels": searcher.n_labels,
        "n_features": searcher.n_features,
        "n_points": model.n_points_,
        "matrices": searcher.stores[0].matrices,
        "n_trees": len(searcher.stores),
        "stats": model.stats_,
    }
    arrays: dict[str, Any] = {"label_counts": model.label_counts_}
    for number, (store, tree) in enumerate(zip(searcher.stores, model.trees_, strict=True)):
        arrays |= store.arrays(f"tree{number}.")
        if tree.label_weights is not None:
            arrays[f"tree{number}.label_weights"] = tree.label_weights
    for kind, names in (("label", model.label_names_), ("feature", getattr(model, "feature_names_in_", None))):
        if names is not None:
            arrays[f"{kind}_names"], arrays[f"{kind}_names.ends"] = encode_names(names.tolist())
    if model.calibration_ is not None:
        arrays["calibration.scores"] = model.calibration_.scores
        arrays["calibration.probabilities"] = model.calibration_.probabilities
    save_arrays(folder, KIND, parameters, arrays)


def open_classifier(loaded: LoadedModel) -> LabelTreeClassifier:
    """Put a model together from an opened folder."""
    from labeltrees.models.linear import LabelTreeClassifier

    source = loaded.folder
    parameters, arrays = loaded.manifest.parameters, loaded.arrays
    try:
        settings = dict(parameters["settings"])
        unknown = set(settings) - set(CHECKS)
        if unknown:
            message = f"{source}: unknown settings {', '.join(sorted(unknown))}"
            raise FileFormatError(message)
        check_parameters(settings)
        n_labels, n_features = int(parameters["n_labels"]), int(parameters["n_features"])
        n_points = int(parameters["n_points"])
        n_trees, matrices = int(parameters["n_trees"]), bool(parameters["matrices"])
        stats = dict(parameters["stats"])
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, FileFormatError):
            raise
        message = f"{source}: the manifest's parameters are damaged: {error}"
        raise FileFormatError(message) from None
    model = LabelTreeClassifier(**settings)
    stores, trees = [], []
    for number in range(n_trees):
        prefix = f"tree{number}."
        store = ChunkStore.from_arrays(
            arrays,
            n_labels=n_labels,
            n_features=n_features,
            matrices=matrices,
            prefix=prefix,
            source=f"{source}, tree {number}",
        )
        stores.append(store)
        weights = arrays.get(prefix + "label_weights")
        if weights is not None and (weights.shape != (n_labels,) or weights.dtype != np.float64):
            message = f"{source}: {prefix}label_weights is not one number a label"
            raise FileFormatError(message)
        parts = TreeArrays(store.child_ptr, store.children, n_labels, None, weights)
        trees.append(LabelTree._adopt(parts, check=False))
    if not stores:
        message = f"{source}: a model without a tree"
        raise FileFormatError(message)
    model.searcher_ = Searcher(
        stores, loss=model.loss, score_power=float(model.score_power), normalize=bool(model.normalize)
    )
    model.trees_ = trees
    model.stats_ = stats
    model.n_points_, model.n_features_in_ = n_points, n_features
    model.label_counts_ = _label_counts(arrays, n_labels, source)
    model.label_names_ = _names(arrays, "label", n_labels, source)
    model.classes_ = np.arange(n_labels) if model.label_names_ is None else model.label_names_
    feature_names = _names(arrays, "feature", n_features, source)
    if feature_names is not None:
        model.feature_names_in_ = feature_names
    model.calibration_ = _calibration(arrays, source)
    return model


def _label_counts(arrays: dict[str, Any], n_labels: int, source: str) -> Any:
    counts = arrays.get("label_counts")
    if counts is None or counts.shape != (n_labels,) or counts.dtype != np.int64:
        message = f"{source}: label_counts is not one count a label"
        raise FileFormatError(message)
    return counts


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    return None if isinstance(value, np.random.RandomState) else value


def _names(arrays: dict[str, Any], kind: str, count: int, source: str) -> Any:
    if f"{kind}_names" not in arrays:
        return None
    if f"{kind}_names.ends" not in arrays:
        message = f"{source}: the places of the {kind} names are missing"
        raise FileFormatError(message)
    names = decode_names(arrays[f"{kind}_names"], arrays[f"{kind}_names.ends"], source)
    if len(names) != count:
        message = f"{source}: {len(names)} {kind} names for {count} {kind}s"
        raise FileFormatError(message)
    return np.array(names, dtype=object)


def _calibration(arrays: dict[str, Any], source: str) -> Calibration | None:
    if "calibration.scores" not in arrays:
        return None
    scores, probabilities = arrays["calibration.scores"], arrays.get("calibration.probabilities")
    if probabilities is None or scores.shape != probabilities.shape or scores.ndim != 1 or len(scores) == 0:
        message = f"{source}: the calibration is damaged"
        raise FileFormatError(message)
    return Calibration(scores, probabilities)
