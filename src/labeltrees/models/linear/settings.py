"""The settings for training linear classifiers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from labeltrees._losses import LOSSES
from labeltrees._matrices import Float32s
from labeltrees._settings import anything, choice, flag, integer, number, optional, setting
from labeltrees._validation import check_choice
from labeltrees.models.linear.training_data import LARGEST_VALUE

_COST = number(1e-12, 1e12)


def _check_cost(name: str, value: Any) -> None:
    if isinstance(value, str):
        check_choice(name, value, ("auto",))
    else:
        _COST(name, value)


def _check_costs(name: str, value: Any) -> None:
    for cost in value if isinstance(value, tuple) and value else (value,):
        _COST(name, cost)


@dataclass(eq=False, kw_only=True)
class SolverSettings:
    """The settings that `LabelTreeClassifier` has as parameters."""

    loss: str = choice("squared_hinge", tuple(LOSSES), "Loss function of the classifiers.")
    C: float | str = setting(
        "auto",
        _check_cost,
        "Cost of errors, as in liblinear; auto: chosen for each depth of the tree by the loss on held-out points.",
        metavar="NUMBER|auto",
    )
    eps: float = setting(0.1, number(0, low_open=True), "Tolerance at which the solver stops, as in liblinear.")
    max_iter: int = setting(100, integer(1), "Maximum number of passes over the points.")
    prune_below: float = setting(0.1, number(0), "Weights smaller than this are dropped.")


@dataclass(eq=False, kw_only=True)
class LinearSettings(SolverSettings):
    """How every classifier is trained.

    Parameters
    ----------
    loss : {"squared_hinge", "logistic"}
    C : float or tuple of float
        Cost of errors, as in liblinear: for all nodes, or by depth of the node; deeper nodes have the last one.
    eps : float
        The solver stops when the gradients of the dual span less than this (squared hinge), or when none is larger
        (logistic), as in liblinear.
    max_iter : int
        Maximum number of passes over the points.
    prune_below : float
        Smaller weights are dropped. The bias is always kept, and so are the weights for dense X, where dropping them
        would save nothing.
    bias : float
        Value of an extra feature that every point has; its weight is regularised like any other. 0 for no bias.
    balanced : bool
        Whether the positives and the negatives of a classifier have the same total weight.
    label_cost : array of float32 (L,), optional
        Weights of the points of each label as positives, all above 0. A positive of a node has the weight of the
        heaviest of its labels below the node.
    max_memory : int, optional
        Maximum number of bytes that training may use in addition to X and Y.
    """

    C: Any = setting(1.0, _check_costs, "Cost of errors, for all nodes or by depth of the node.")
    bias: float = setting(1.0, number(0, LARGEST_VALUE), "Value of the bias feature; 0 for no bias.")
    balanced: bool = setting(False, flag, "Give positives and negatives of a classifier the same total weight.")
    label_cost: Float32s | None = setting(None, anything, "Weights of the labels' points.")  # checked with Y
    max_memory: int | None = setting(
        None, optional(integer(1, 2**63 - 1)), "Maximum number of bytes for training, in addition to X and Y."
    )
