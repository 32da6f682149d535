"""The table of losses for linear classifiers.

A new loss needs an entry here and in ``core/linear/loss.cpp``, an id in ``core/simd/lanes.hpp``, and its kernels in
``core/simd/training.inl``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from labeltrees._matrices import Float32s, Float64s
from labeltrees.storage.chunks import TreeLike, ceilings_of_norms


@dataclass(frozen=True)
class Loss:
    """The properties of a loss, besides its kernels.

    Parameters
    ----------
    name : str
        The same as in ``core/linear/loss.cpp``.
    costs : tuple of float
        The values that ``C="auto"`` tries, ascending by about equal factors.
    scores_are_probabilities : bool
        Whether `predict_proba` may return uncalibrated scores, which are rough estimates of probabilities.
    ceilings : callable(tree, bias, norms), optional
        Returns, from the biases and `positive_norms` of the classifiers, an upper bound for each node: of the log
        score of any label below it, relative to the node, for queries of unit length. None if bounds would not save
        time.
    """

    name: str
    costs: tuple[float, ...]
    scores_are_probabilities: bool = False
    ceilings: Callable[[TreeLike, Float32s, Float64s], Float32s] | None = None


LOSSES = {
    loss.name: loss
    for loss in (
        # Almost every node has a label that can score 1, so ceilings would not exclude any node.
        Loss("squared_hinge", (0.016, 0.063, 0.25, 1.0, 4.0)),
        Loss("logistic", (0.1, 0.3, 1.0, 3.0, 10.0), scores_are_probabilities=True, ceilings=ceilings_of_norms),
    )
}
