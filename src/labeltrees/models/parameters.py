"""The parameters of the linear model: what each may be, checked on entry to `fit`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from labeltrees._validation import check_choice, check_integer, check_n_jobs, check_number, refuse
from labeltrees.tree.label_tree import LabelTree

Check = Callable[[str, Any], object]


def _number(low: float, high: float = np.inf, *, low_open: bool = False) -> Check:
    return lambda name, value: check_number(name, value, low, high, low_open=low_open)


def _integer(low: int) -> Check:
    return lambda name, value: check_integer(name, value, low)


def _choice(*choices: str) -> Check:
    return lambda name, value: check_choice(name, value, choices)


def _optional(check: Check) -> Check:
    return lambda name, value: None if value is None else check(name, value)


def _flag(name: str, value: Any) -> None:
    if not isinstance(value, bool | np.bool_):
        refuse(name, "True or False", value)


def _tree(name: str, value: Any) -> None:
    is_flat = isinstance(value, str) and value == "flat"
    if value is not None and not is_flat and not isinstance(value, LabelTree):
        refuse(name, "None, a LabelTree or 'flat'", value)


def _class_weight(name: str, value: Any) -> None:
    if value is None or isinstance(value, Mapping) or np.ndim(value) == 1:
        return
    if not isinstance(value, str) or value != "balanced":
        refuse(name, "None, 'balanced', a mapping from labels to numbers, or one number a label", value)


CHECKS: dict[str, Check] = {
    "tradeoff": _number(0, 2),
    "fanout": _integer(2),
    "leaf_size": _integer(1),
    "smoothing": _number(0),
    "cover": _choice("marginal", "greedy"),
    "cover_softness": _number(0, 1),
    "path": _choice("weighted", "direct"),
    "tree": _tree,
    "embeddings": lambda name, value: None,  # checked where it is used
    "normalize": _flag,
    "loss": _choice("squared_hinge", "logistic"),
    "score_power": _number(0, low_open=True),
    "C": _number(0, low_open=True),
    "class_weight": _class_weight,
    "eps": _number(0, low_open=True),
    "max_iter": _integer(1),
    "prune_below": _number(0),
    "negatives": _choice("siblings", "matcher"),
    "n_trees": _integer(1),
    "search": _choice("best_first", "beam"),
    "beam": _optional(_integer(1)),
    "k": _integer(1),
    "threshold": _optional(_number(0, 1)),
    "random_state": lambda name, value: seed_of(value),
    "n_jobs": lambda name, value: check_n_jobs(value),
    "verbose": _integer(0),
}


def check_parameters(parameters: Mapping[str, Any]) -> None:
    """Refuse the first parameter that is not what `CHECKS` allows."""
    for name, value in parameters.items():
        CHECKS[name](name, value)


def seed_of(random_state: Any) -> int:
    """Return a seed for an int, None or a RandomState, as scikit-learn's estimators take them."""
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return check_integer("random_state", random_state, 0, 2**62)
    if random_state is None or isinstance(random_state, np.random.RandomState):
        return int(check_random_state(random_state).randint(2**31))
    refuse("random_state", "an integer of at least 0, None or a numpy RandomState", random_state)
