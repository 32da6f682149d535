"""The parameters of the linear model: what each may be, checked on entry to `fit`."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from labeltrees._validation import check_choice, check_fanout, check_integer, check_n_jobs, check_number, refuse
from labeltrees.data.tfidf import TfidfVectorizer
from labeltrees.tree.label_tree import LabelTree

Check = Callable[[str, Any], object]
_LARGEST_INT = 2**31 - 1


def _number(low: float, high: float = np.inf, *, low_open: bool = False) -> Check:
    return lambda name, value: check_number(name, value, low, high, low_open=low_open)


def _integer(low: int) -> Check:
    def check(name: str, value: Any) -> None:
        check_integer(name, value, low)
        check_integer(name, value, low, _LARGEST_INT)  # only who comes near it need read of it

    return check


def _fanout(name: str, value: Any) -> None:
    if check_fanout(name, value) != "auto":
        check_integer(name, value, 2, _LARGEST_INT)


def _choice(*choices: str) -> Check:
    return lambda name, value: check_choice(name, value, choices)


def _optional(check: Check) -> Check:
    return lambda name, value: None if value is None else check(name, value)


def _flag(name: str, value: Any) -> None:
    if not isinstance(value, bool | np.bool_):
        refuse(name, "True or False", value)


def _verbose(name: str, value: Any) -> None:
    if not isinstance(value, bool | np.bool_):
        check_integer(name, value, 0)


def _tree(name: str, value: Any) -> None:
    is_flat = isinstance(value, str) and value == "flat"
    if value is not None and not is_flat and not isinstance(value, LabelTree):
        refuse(name, "None, a LabelTree or 'flat'", value)


def _vectorizer(name: str, value: Any) -> None:
    if value is not None and not isinstance(value, TfidfVectorizer):
        refuse(name, "None or a labeltrees.TfidfVectorizer (others go before the model in a Pipeline)", value)


def _class_weight(name: str, value: Any) -> None:
    is_text = isinstance(value, str | bytes)
    is_array = hasattr(value, "__array__") and value.ndim > 0
    if value is None or is_array or (isinstance(value, Mapping | Sequence) and not is_text):
        return  # what they hold is checked against the labels of Y
    if not is_text or value != "balanced":
        refuse(name, "None, 'balanced', a mapping from labels to numbers, or one number a label", value)


def _random_state(name: str, value: Any) -> None:
    if value is None or isinstance(value, np.random.RandomState):
        return
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        refuse(name, "an integer of at least 0, None or a numpy RandomState", value)
    check_integer(name, value, 0, 2**62)


CHECKS: dict[str, Check] = {
    "tradeoff": _number(0, 2),
    "fanout": _fanout,
    "leaf_size": _integer(1),
    "smoothing": _number(0),
    "cover": _choice("marginal", "greedy"),
    "cover_softness": _number(0, 1),
    "path": _choice("weighted", "direct"),
    "tree": _tree,
    "embeddings": lambda name, value: None,  # checked where it is used
    "vectorizer": _vectorizer,
    "normalize": _flag,
    "loss": _choice("squared_hinge", "logistic"),
    "score_power": _number(0, low_open=True),
    "C": _number(1e-12, 1e12),
    "class_weight": _class_weight,
    "eps": _number(0, low_open=True),
    "max_iter": _integer(1),
    "prune_below": _number(0),
    "negatives": _choice("siblings", "matcher"),
    "n_trees": _integer(1),
    "search": _choice("best_first", "beam"),
    "beam": _optional(_integer(1)),
    "k": _integer(1),
    "threshold": _optional(_number(0, 1, low_open=True)),
    "random_state": _random_state,
    "n_jobs": lambda name, value: check_n_jobs(value),
    "verbose": _verbose,
}


def check_parameters(parameters: Mapping[str, Any], checks: Mapping[str, Check] = CHECKS) -> None:
    """Refuse the first parameter that is not what `checks` allow."""
    for name, value in parameters.items():
        checks[name](name, value)


def seed_of(random_state: Any) -> int:
    """Return a seed for an int, None or a RandomState, as scikit-learn's estimators take them."""
    _random_state("random_state", random_state)
    if isinstance(random_state, numbers.Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))
