"""The parameters of `LabelTreeClassifier`, and the settings for training its classifiers.

A new parameter for training is a field of `_SolverSettings` (or of `LinearSettings`, if only the library sets it), and
a line where native code reads the settings (``core/linear/``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from labeltrees._losses import LOSSES
from labeltrees._matrices import Float32s
from labeltrees._settings import (
    Parameters,
    anything,
    check_settings,
    choice,
    flag,
    integer,
    number,
    optional,
    setting,
    with_default,
)
from labeltrees._validation import Fanout, check_choice, refuse
from labeltrees.data.tfidf import TfidfVectorizer
from labeltrees.models.common.error_costs import LARGEST_VALUE, check_class_weight
from labeltrees.models.linear.features import check_vectorizer
from labeltrees.search.evidence import KINDS
from labeltrees.search.request import MODES, check_search
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.settings import TreeBuilder, TreeSettings, check_tree

EVIDENCE = ("default", "auto", "neighbours", "centroids", "both", "items", "own", "classifiers", "names")
_COST = number(1e-12, 1e12)


def _check_cost(name: str, value: Any) -> None:
    if isinstance(value, str):
        check_choice(name, value, ("auto",))
        return
    several = isinstance(value, tuple | list) and len(value) > 0
    for cost in value if several else (value,):
        _COST(name, cost)


def _check_costs(name: str, value: Any) -> None:
    for cost in value if isinstance(value, tuple) and value else (value,):
        _COST(name, cost)


@dataclass(eq=False, repr=False)
class _SolverSettings:
    loss: str = choice("squared_hinge", tuple(LOSSES), "Loss function of the classifiers.")
    score_power: float = setting(
        3, number(0, low_open=True), "q in the score exp(-max(0, 1 - z)^q) of a margin z (squared hinge)."
    )
    eps: float = setting(0.1, number(0, low_open=True), "Tolerance at which the solver stops, as in liblinear.")
    max_iter: int = setting(100, integer(1), "Maximum number of passes over the points.")
    prune_below: float = setting(0.1, number(0), "Weights smaller than this are dropped.")


@dataclass(eq=False, repr=False)
class Solver(Parameters, _SolverSettings):
    """How each classifier is trained, for the parameter `loss` of `LabelTreeClassifier`; the defaults suit most data.

    Parameters
    ----------
    loss : {"squared_hinge", "logistic"}, default "squared_hinge"
    score_power : float, default 3
        q in the score exp(-max(0, 1 - z)^q) of a squared hinge classifier with margin z.
    eps : float, default 0.1
        The solver stops when the largest and the smallest gradient of the dual differ by less than this (squared
        hinge), or when no gradient is larger (logistic), as in liblinear.
    max_iter : int, default 100
        Maximum number of passes over the points.
    prune_below : float, default 0.1
        Smaller weights are dropped. The bias is always kept. So are all weights for dense X, where dropping some would
        save nothing.

    Examples
    --------
    >>> import labeltrees as lt
    >>> lt.LabelTreeClassifier(loss=lt.Solver(prune_below=0)).loss
    Solver(prune_below=0)
    """


def solver_of(loss: str | Solver) -> Solver:
    """Return the solver for the parameter `loss`: a name means the default solver with that loss."""
    return loss if isinstance(loss, Solver) else Solver(loss)


@dataclass(eq=False, kw_only=True)
class LinearSettings(_SolverSettings):
    """How every classifier is trained: the settings of a `Solver`, and those that the library chooses.

    Parameters
    ----------
    loss, score_power, eps, max_iter, prune_below
        As in `Solver`.
    C : float or tuple of float
        Cost of errors, as in liblinear: for all nodes, or by depth of the node; deeper nodes use the last one.
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


# Texts of labels.

_TEXT_POINTS = ("auto", "missing", "all", "none")


@dataclass(frozen=True)
class LabelTextUse:
    """How the texts of labels are used: the parameter `label_texts` of `LabelTreeClassifier` explains the fields."""

    points: str = choice(
        "auto",
        _TEXT_POINTS,
        "auto finds labels without points by words of their texts; missing, all: texts of these labels, or of all, are "
        "extra training points.",
    )
    weight: float = setting(1.0, number(0, 1e6, low_open=True), "Weight of the text of a label as a point.")
    embedding: float = setting(
        0.5, number(0, 1e6), "Weight of the texts of a label in its embedding when the tree is built."
    )

    def __post_init__(self) -> None:
        check_settings(self)


def label_text_use(value: Any) -> LabelTextUse:
    """Return how texts of labels are used for the parameter `label_texts`: a name, or a mapping with the fields."""
    if isinstance(value, Mapping):
        if not value.keys() <= {"points", "weight", "embedding"}:
            refuse("label_texts", "a name or a dict with the keys points, weight and embedding", dict(value))
        return LabelTextUse(**value)
    check_choice("label_texts", value, _TEXT_POINTS)
    return LabelTextUse(value)


# The parameters of the classifier.


OF_ITEMS = ("items", "own")  # kinds of evidence for features that are items


def evidence_kinds(value: str) -> tuple[str, ...]:
    """Return the names of the kinds of evidence for the parameter `evidence`.

    Examples
    --------
    >>> evidence_kinds("neighbours+classifiers")
    ('neighbours', 'classifiers')
    """
    if value == "auto":
        return tuple(KINDS)
    if value == "default":
        return OF_ITEMS
    return ("neighbours", "centroids") if value == "both" else tuple(value.split("+"))


def _check_evidence(name: str, value: Any) -> None:
    kinds = evidence_kinds(value) if isinstance(value, str) else ()
    if not kinds or len(set(kinds)) < len(kinds) or not set(kinds) <= KINDS.keys():
        refuse(
            name,
            f"None, 'default', 'auto', 'both' or kinds such as 'neighbours+classifiers' of {', '.join(KINDS)}",
            value,
        )


def _check_loss(name: str, value: Any) -> None:
    if isinstance(value, Solver):
        check_settings(value)
    elif not isinstance(value, str) or value not in LOSSES:
        refuse(name, f"one of {', '.join(map(repr, LOSSES))} or a Solver", value)


def _check_label_texts(name: str, value: Any) -> None:
    label_text_use(value)


@dataclass(eq=False, repr=False, kw_only=True)
class LinearParameters:
    """The parameters that only `LabelTreeClassifier` has; its docstring explains each of them."""

    tradeoff: float = with_default(TreeSettings, "tradeoff", 1.0)
    fanout: Fanout = with_default(TreeSettings, "fanout", 256)
    leaf_size: int = with_default(TreeSettings, "leaf_size", 1)
    tree: LabelTree | TreeBuilder | str | None = setting(
        None, check_tree, "A tree, or how it is built.", choices=("flat",)
    )
    n_trees: int = setting(
        1, integer(1), "Number of trees with different seeds; their scores are averaged.", daily=True
    )
    vectorizer: TfidfVectorizer | str | None = setting(None, check_vectorizer, "Turns texts into features.")
    normalize: bool = setting(True, flag, "Scale every point to unit length.")
    loss: str | Solver = setting(
        "squared_hinge", _check_loss, "Loss function of the classifiers.", choices=tuple(LOSSES), daily=True
    )
    C: float | tuple[float, ...] | str = setting(
        "auto",
        _check_cost,
        "Cost of errors, as in liblinear; auto: chosen for each depth of the tree by the loss on held-out points.",
        metavar="NUMBER|auto",
        daily=True,
    )
    class_weight: Any = setting(
        None,
        check_class_weight,
        "balanced: positives and negatives have the same total weight.",
        choices=("balanced",),
    )
    label_texts: Any = setting(
        "auto",
        _check_label_texts,
        "Use of the texts of labels: auto finds labels without points by their words; missing, all: as extra points.",
        choices=_TEXT_POINTS,
    )
    evidence: str | None = setting(
        "default",
        optional(_check_evidence),
        "Adjust scores by similar training points, label centroids and second classifiers; several kinds: "
        "neighbours+classifiers; auto: those that help; default: items that go together, for baskets and histories.",
        choices=EVIDENCE,
        metavar="KIND",
        daily=True,
    )
    trend: float | None = setting(
        None,
        optional(number(0, 1e6, low_open=True)),
        "Scores follow recent label frequencies: half-life in days; none: all times count equally.",
        metavar="DAYS|none",
        daily=True,
    )
    search: str = setting("best_first", check_search, "How the tree is searched.", choices=MODES)
    beam: int | None = setting(
        10,
        optional(integer(1)),
        "Maximum number of nodes opened per depth, or of paths (search paths); none: exact search.",
        metavar="N|none",
    )


_BUILDER = "give tree=lt.TreeBuilder({}=...)"
_SOLVER = "give loss=lt.Solver({}=...)"
_LABEL_TEXTS = "give label_texts={'points': ..., 'weight': ..., 'embedding': ...}"
# Removed parameters, and what replaces them.
GONE = {
    **{item.name: _BUILDER.format(item.name) for item in fields(TreeBuilder)},
    **{item.name: _SOLVER.format(item.name) for item in fields(Solver) if item.name != "loss"},
    "label_text_points": "give label_texts='auto', 'missing', 'all' or 'none'",
    "label_text_weight": _LABEL_TEXTS,
    "label_text_embedding": _LABEL_TEXTS,
    "negatives": "classifiers are trained on the points of their node, as with negatives='siblings'",
}
# Removed arguments of `fit`, and what replaces them.
_DATASET = "give one Dataset, fit(lt.Dataset(X, Y, {}=...))"
GONE_FROM_FIT = {name: _DATASET.format(name) for name in ("label_names", "feature_names", "encoder")}


def with_solver(model: Any, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return `parameters` for `set_params`; with one such as ``loss__eps``, the name of a loss becomes a `Solver`."""
    if not any(name.startswith("loss__") for name in parameters):
        return parameters
    return {**parameters, "loss": solver_of(parameters.get("loss", model.loss))}
