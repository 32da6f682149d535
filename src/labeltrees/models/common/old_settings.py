"""The settings in manifests that version 0.1 wrote, in today's form."""

from __future__ import annotations

from typing import Any

# The settings of version 0.1 that are now part of another one, with their defaults then.
_TREE = {"smoothing": 0.1, "cover": "marginal", "cover_softness": 0.0, "path": "weighted", "weights_of": "root"}
_SOLVER = {"score_power": 3, "eps": 0.1, "max_iter": 100, "prune_below": 0.1}
_LABEL_TEXTS = {"label_text_points": "missing", "label_text_weight": 1.0, "label_text_embedding": 0.5}
# Settings that the first models lack, with the values that stand for their absence.
_ADDED_TO_ALL = {"weights_of": "root"}
_ADDED_TO_LINEAR = {
    "evidence": None,
    "label_text_embedding": 0.0,
    "label_text_points": "none",
    "label_text_weight": 1.0,
    "trend": None,
}
_ADDED_TO_TEXT = {"shuffle": False}


def current_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings of a manifest under today's names; those of this version are returned unchanged.

    Examples
    --------
    >>> old = {"tree": None, "smoothing": 0.5, "cover": "marginal", "cover_softness": 0.0, "path": "weighted"}
    >>> current_settings(old)["tree"]["smoothing"]
    0.5
    """
    if "smoothing" not in settings:
        return settings
    is_linear = "loss" in settings
    old = _ADDED_TO_ALL | (_ADDED_TO_LINEAR if is_linear else _ADDED_TO_TEXT) | settings
    gone = _TREE | (_SOLVER | _LABEL_TEXTS if is_linear else {})
    if not old.keys() >= gone.keys() | {"tree"}:
        return settings  # damaged: the reader says which names are missing
    new = {name: value for name, value in old.items() if name not in gone and name != "negatives"}
    tree = {name: old[name] for name in _TREE}
    if old["tree"] is None and tree != _TREE:
        new["tree"] = tree | {"tolerance": 1e-4}
    if not is_linear:
        return new
    solver = {name: old[name] for name in _SOLVER}
    if solver != _SOLVER:
        new["loss"] = {"loss": old["loss"]} | solver
    texts = {name: old[name] for name in _LABEL_TEXTS}
    new["label_texts"] = texts["label_text_points"]
    if texts != _LABEL_TEXTS | {"label_text_points": new["label_texts"]}:
        new["label_texts"] = {name.removeprefix("label_text_"): value for name, value in texts.items()}
    if old.get("search") == "beam":  # found the same labels
        new["search"] = "best_first"
    return new
