"""What a fit leaves behind, whether it ran in memory or in parts, and the settings that both take from a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labeltrees._matrices import Float32s, Int64s
from labeltrees.data.encoders import Encoder
from labeltrees.models.common.error_costs import label_costs
from labeltrees.models.common.label_names import LabelNames
from labeltrees.models.linear.contexts import set_encoder
from labeltrees.models.linear.settings import LinearSettings, solver_of
from labeltrees.search import Searcher
from labeltrees.search.evidence import Evidence
from labeltrees.storage import ChunkStore
from labeltrees.tree.label_tree import LabelTree

if TYPE_CHECKING:
    from labeltrees.models.linear.estimator import LabelTreeClassifier


@dataclass(frozen=True, eq=False)
class Fitted:
    """The fitted attributes of a model.

    Parameters
    ----------
    trees, stores : lists
        The trees, and the classifiers of each.
    n_points : int
        The number of training points.
    label_counts : int64 (L,)
        Training points of each label.
    names : LabelNames, optional
    encoder : Encoder, optional
    trend : float32 (L,), optional
    stats : dict
    evidence : Evidence, optional
    label_texts : texts of the labels, optional
    """

    trees: list[LabelTree]
    stores: list[ChunkStore]
    n_points: int
    label_counts: Int64s
    names: LabelNames | None
    encoder: Encoder | None
    trend: Float32s | None
    stats: dict[str, Any]
    evidence: Evidence | None = None
    label_texts: Any = None

    def give_to(self, model: LabelTreeClassifier) -> None:
        """Make `model` a fitted model."""
        set_encoder(model, self.encoder)
        model._label_names = self.names
        model.label_texts_ = self.label_texts
        model.label_counts_ = self.label_counts
        model.n_points_ = self.n_points
        model.trees_ = self.trees
        model.searcher_ = make_searcher(model, self.stores, self.evidence)
        model.searcher_.set_prior(self.label_counts, self.n_points)
        model.searcher_.set_trend(self.trend)
        model.calibration_ = model.early_stop_ = None
        model.stats_ = self.stats


def make_searcher(model: LabelTreeClassifier, stores: list[ChunkStore], evidence: Evidence | None = None) -> Searcher:
    """Return the searcher of a model with these classifiers."""
    solver = solver_of(model.loss)
    return Searcher(
        stores,
        loss=solver.loss,
        score_power=float(solver.score_power),
        normalize=bool(model.normalize),
        evidence=evidence,
    )


def linear_settings(model: LabelTreeClassifier, n_labels: int, names: LabelNames | None) -> LinearSettings:
    """Return how the classifiers of a model are trained."""
    return LinearSettings(
        **solver_of(model.loss).get_params(),
        C=model.C,
        balanced=isinstance(model.class_weight, str),
        label_cost=label_costs(model.class_weight, n_labels, names),
    )
