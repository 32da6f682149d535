"""The parameters of the text model: what each may be, checked on entry to `fit`."""

from __future__ import annotations

from typing import Any

from labeltrees._validation import check_integer, check_number, refuse
from labeltrees.models.common.parameters import CHECKS, Check
from labeltrees.models.text.trees import NAMES
from labeltrees.tree.label_tree import LabelTree

_SHARED = (
    "tradeoff",
    "smoothing",
    "cover",
    "cover_softness",
    "path",
    "embeddings",
    "k",
    "threshold",
    "random_state",
    "n_jobs",
    "verbose",
)


def _integer(low: int, high: int) -> Check:
    return lambda name, value: check_integer(name, value, low, high)


def _tree(name: str, value: Any) -> None:
    named = isinstance(value, str) and value in NAMES
    if value is not None and not named and not isinstance(value, LabelTree):
        refuse(name, f"None, a LabelTree or one of {', '.join(map(repr, NAMES))}", value)


TEXT_CHECKS: dict[str, Check] = {name: CHECKS[name] for name in _SHARED} | {
    "tree": _tree,
    "dim": _integer(1, 2**16),
    "lr": lambda name, value: check_number(name, value, 0, 1e6, low_open=True),
    "epochs": _integer(0, 2**31 - 1),
    "min_count": _integer(0, 2**62),
    "word_ngrams": _integer(1, 1000),
    "min_n": _integer(0, 1000),
    "max_n": _integer(0, 1000),
    "buckets": _integer(0, 2**31 - 1),
}
