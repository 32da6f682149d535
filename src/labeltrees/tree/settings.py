"""The settings for building a tree, used by `build_tree`, both classifiers, the command line and the manifest."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from labeltrees._settings import LARGEST_INT32, choice, integer, setting
from labeltrees._validation import Fanout, check_fanout
from labeltrees.labels.frequency import COVERS, check_softness
from labeltrees.labels.weights import PATHS, WEIGHTS_OF, check_smoothing, check_tradeoff


def _check_fanout(name: str, value: Any) -> None:
    if check_fanout(name, value) != "auto":
        check_fanout(name, value, LARGEST_INT32)  # mention the limit only when it is exceeded


@dataclass(eq=False)
class BinaryTreeSettings:
    """How labels are split in two, again and again; `build_tree` explains each setting."""

    tradeoff: float = setting(
        1.0,
        check_tradeoff,
        "0: similar labels together; 1: the same, each label weighted by its frequency; 2: frequency only.",
    )
    _: KW_ONLY
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


@dataclass(eq=False)
class TreeSettings(BinaryTreeSettings):
    """How a tree is built: the binary splits, and how they become wide nodes."""

    _: KW_ONLY
    fanout: Fanout = setting(
        16,
        _check_fanout,
        "Maximum number of children per node; 2 keeps the binary tree, auto minimises the search cost.",
        metavar="N|auto",
    )
    leaf_size: int = setting(1, integer(1), "Sets of at most this many labels are not split further.")
