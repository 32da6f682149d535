"""The settings for building a tree: `TreeBuilder` for users, `TreeSettings` internally, with one field per setting.

A new setting is a field of `_SplitVariants`, and a line where it is used: in `split_rules` (`tree/splits.py`) and
``read_split`` of ``core/tree/bindings.cpp`` if native code uses it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from labeltrees._settings import LARGEST_INT32, Parameters, anything, check_settings, choice, integer, number, setting
from labeltrees._validation import Fanout, check_fanout, refuse
from labeltrees.labels.frequency import COVERS, PATHS, WEIGHTS_OF, check_smoothing, check_softness, check_tradeoff
from labeltrees.tree.label_tree import LabelTree

TOLERANCE = 1e-4


def _check_fanout(name: str, value: Any) -> None:
    if check_fanout(name, value) != "auto":
        check_fanout(name, value, LARGEST_INT32)  # mention the limit only when it is exceeded


@dataclass(eq=False, repr=False, kw_only=True)
class _SplitVariants:
    smoothing: float = setting(0.1, check_smoothing, "Added to the label frequencies, spread evenly over all labels.")
    cover: str = choice("marginal", COVERS, "How cover frequencies are counted; they matter if tradeoff > 1.")
    cover_softness: float = setting(
        0.0, check_softness, "Share of a point's weight that its other labels get too; 1 gives plain frequencies."
    )
    path: str = choice(
        "weighted", PATHS, "From similarity to frequency through weighted similarity (tradeoff 1), or directly."
    )
    weights_of: str = choice(
        "root", WEIGHTS_OF, "Compute the label weights once for the whole tree, or anew in each node."
    )
    tolerance: float = setting(
        TOLERANCE, number(-1.0), "A split ends when its objective rises by less than this, relatively."
    )


@dataclass(eq=False, repr=False, kw_only=True)
class TreeBuilder(Parameters, _SplitVariants):
    """Variants of how a tree is built, for the parameter `tree` of a classifier; most users need none of them.

    `build_tree` has the same settings as arguments: ``build_tree(X, Y, **builder.get_params())``.

    Parameters
    ----------
    smoothing : float, default 0.1
        Added to the label frequencies, spread evenly over all labels, so that rare labels do not sink too deep.
    cover : {"marginal", "greedy"}, default "marginal"
        How cover frequencies are counted (`cover_frequencies`). They matter only if tradeoff > 1, or for
        ``path="direct"``.
    cover_softness : float in [0, 1], default 0
        Share of a point's weight that its other labels get, too; 1 gives plain frequencies.
    path : {"weighted", "direct"}, default "weighted"
        From similarity to frequency through weighted similarity (tradeoff 1), or directly.
    weights_of : {"root", "node"}, default "root"
        Compute label weights once for the whole tree, or in each node from its own labels.
    embeddings : sparse or dense matrix (L, d), optional
        Label embeddings; by default PIFA of the points.
    tolerance : float, default 1e-4
        A split ends when its objective rises by less than this, relatively. A larger value builds faster.

    Examples
    --------
    >>> import labeltrees as lt
    >>> model = lt.LabelTreeClassifier(tradeoff=1.5, tree=lt.TreeBuilder(cover="greedy"))
    >>> model.set_params(tree__smoothing=0.0).tree
    TreeBuilder(smoothing=0.0, cover='greedy')
    """

    embeddings: Any = setting(None, anything, "Label embeddings for building the tree.")  # checked where they are used


@dataclass(eq=False, kw_only=True)
class TreeSettings(_SplitVariants):
    """How a tree is built: the binary splits, and how they become wide nodes; `build_tree` explains each setting."""

    tradeoff: float = setting(
        1.0,
        check_tradeoff,
        "0: similar labels together; 1: the same, each label weighted by its frequency; 2: frequency only.",
        daily=True,
    )
    fanout: Fanout = setting(
        16,
        _check_fanout,
        "Maximum number of children per node; 2 keeps the binary tree, auto minimises the search cost.",
        metavar="N|auto",
        daily=True,
    )
    leaf_size: int = setting(1, integer(1), "Sets of at most this many labels are not split further.")


def check_tree(name: str, value: Any, *, names: tuple[str, ...] = ("flat",)) -> None:
    """Check the parameter `tree` of a classifier, which may be one of `names`."""
    if isinstance(value, TreeBuilder):
        check_settings(value)
    elif value is not None and not isinstance(value, LabelTree) and not (isinstance(value, str) and value in names):
        refuse(name, f"None, a TreeBuilder, a LabelTree or one of {', '.join(map(repr, names))}", value)


def is_given(tree: Any) -> bool:
    """Return whether the parameter `tree` of a classifier is a tree or the name of a tree, not a `TreeBuilder`."""
    return tree is not None and not isinstance(tree, TreeBuilder)


def builder_of(tree: Any) -> TreeBuilder:
    """Return the `TreeBuilder` that is the parameter `tree` of a classifier, or the default one."""
    return tree if isinstance(tree, TreeBuilder) else TreeBuilder()


def with_builder(model: Any, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the parameters to set; add a `TreeBuilder` if `tree` is None and one is such as ``tree__cover``."""
    if parameters.get("tree", model.tree) is None and any(name.startswith("tree__") for name in parameters):
        return {**parameters, "tree": TreeBuilder()}
    return parameters


def tree_settings(tree: Any, *, tradeoff: float, fanout: Fanout, leaf_size: int = 1) -> TreeSettings:
    """Return the settings for building a tree from the parameters of a classifier."""
    builder = builder_of(tree)
    variants = {item.name: getattr(builder, item.name) for item in fields(_SplitVariants)}
    return TreeSettings(**variants, tradeoff=tradeoff, fanout=fanout, leaf_size=leaf_size)
