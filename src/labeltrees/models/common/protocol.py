"""The interface of all model families, for early stopping, profiling, tuning, storage and the command line."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from labeltrees.data.dataset import Dataset
from labeltrees.data.encoders import Encoder
from labeltrees.data.label_relations import LabelRelations
from labeltrees.search.request import NodeValues, SearchRequest
from labeltrees.search.result import SearchTrace
from labeltrees.tree.label_tree import LabelTree

if TYPE_CHECKING:
    from labeltrees.models.common.early_stop import EarlyStop
    from labeltrees.models.common.explanation import Explanation
    from labeltrees.models.common.scores import Calibration


class Searches(Protocol):
    """The searches of a fitted model that early stopping learns from: exact, discounted and traced.

    Scores are log scores, in both families.
    """

    @property
    def trees(self) -> list[LabelTree]:
        """The trees that are searched."""

    def lists(self, X: Any, k: int, discounts: NodeValues | None = None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the labels found (n, k), and the number of nodes opened (n,)."""

    def tree_lists(self, X: Any, tree: int, k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the k best labels in one of the trees (n, k), and the logarithms of their scores."""

    def trace(self, X: Any, tree: int, k: int) -> SearchTrace:
        """Return the nodes that an exact search opens in one of the trees."""

    def required_discounts(self, scores: NDArray[np.float64], limits: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the smallest discount at which nodes with these scores are skipped for these limits."""


class Model(Protocol):
    """A fitted model of any family.

    Parameters and training differ between families; these members are the same.
    """

    KIND: ClassVar[str]  # the class name, also in the manifest of a saved model
    READS_TEXTS: ClassVar[bool]  # True: reads only texts. False: reads features, and texts if it has a vectorizer
    UNSUPPORTED: ClassVar[tuple[str, ...]]  # options of a SearchRequest that the family does not support

    calibration_: Calibration | None
    early_stop_: EarlyStop | None
    label_counts_: Any
    n_points_: Any  # int, or None if unknown
    stats_: dict[str, Any]

    @property
    def takes_texts(self) -> bool:
        """Whether the fitted model takes texts as input."""

    @property
    def encoder_(self) -> Encoder | None:
        """The encoder from contexts to features; None if the model has none, or reads texts itself."""

    @property
    def tree_(self) -> LabelTree:
        """The tree, or the first of several."""

    @property
    def trees_(self) -> list[LabelTree]:
        """All trees."""

    @property
    def searcher_(self) -> Any:
        """The object that runs the searches."""

    @property
    def label_names_(self) -> Any:
        """The names of the labels (L,), or None."""

    @property
    def classes_(self) -> Any:
        """The names of the labels (L,), or their ids."""

    @property
    def retired_(self) -> Any:
        """The labels that no search returns: names, or ids."""

    def queries(self, dataset: Dataset) -> Any:
        """Return the texts or the features of a dataset, whichever the model reads."""

    def check_queries(self, X: Any, n_jobs: int | None = None) -> Any:
        """Return points in the form that `searcher_` takes; the result has a shape and can be indexed by rows."""

    def complete_request(self, request: SearchRequest) -> SearchRequest:
        """Return the request for `searcher_`: with calibration, fitted defaults, and discounts for `agreement`."""

    def sizes(self) -> dict[str, int | None]:
        """Return the numbers of features or words and of weights, for a summary."""

    def searches(self) -> Searches:
        """Return the searches that early stopping and profiling need."""

    @property
    def predictor(self) -> Callable[..., Callable[..., Any]]:
        """``predictor(k, exclude_seen=False)`` returns a predictor for single queries."""

    @property
    def label_relations_(self) -> LabelRelations | None:
        """Broader labels, and members of schemes, types and collections, from the vocabulary; None without one."""

    def vocabulary_set(self, labels: Any) -> Any:
        """Return the label ids of a vocabulary set such as "@Places"; return other values unchanged."""

    def label_set(self, labels: Any, *, packed: bool = False) -> Any:
        """Return labels prepared for many searches; `packed` makes exact searches among them faster."""

    def label_weights(self, weights: Any) -> Any:
        """Return weights of labels prepared for many searches."""

    def label_limits(self, groups: Any, m: Any) -> Any:
        """Return group limits prepared for many searches."""

    @property
    def predict_topk(self) -> Callable[..., Any]:
        """``predict_topk(X, k)`` returns the k best labels of each point, and their scores."""

    @property
    def predict_proba(self) -> Callable[..., Any]:
        """``predict_proba(X, k)`` returns the probabilities of the k best labels as CSR (n, L)."""

    def predict(self, X: Any) -> Any:
        """Return the predicted labels as a CSR indicator (n, L), or one label per point if fitted on one per point."""

    def explain(self, x: Any, label: Any = None, k: int = 5) -> Explanation:
        """Return why the model predicts labels for a point."""

    def calibrate(self, X: Any, Y: Any = None, *, k: Any = ...) -> Self:
        """Learn when a search may stop early and, if Y is given, how to turn scores into probabilities."""

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Save the model as a folder."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, as scikit-learn does."""

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters, as scikit-learn does."""
