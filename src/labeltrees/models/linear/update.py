"""Updating a fitted model: new points and labels are added, and only what changed is trained.

An update is a fit in which most results already exist: the tree gets the new labels, classifiers whose points changed
are trained, and all others keep their bytes. With ``exact=True`` the result has the bytes of a fit on that tree.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from labeltrees._matrices import CheckedX, CheckedY, Int64s, is_sparse
from labeltrees._settings import check_settings
from labeltrees._validation import refuse
from labeltrees.data.dataset import Dataset
from labeltrees.errors import InputError
from labeltrees.labels.embedding import pifa
from labeltrees.labels.frequency import cover_frequencies, label_frequencies
from labeltrees.labels.trend import trend_weights
from labeltrees.models.common.error_costs import label_costs
from labeltrees.models.common.settings import seed_of
from labeltrees.models.common.update_report import (
    UpdateReport,
    advice,
    count,
    depths,
    shown_labels,
    similarity_of,
    updates_so_far,
)
from labeltrees.models.linear.blocks import OneBlock
from labeltrees.models.linear.evidence import learn_evidence
from labeltrees.models.linear.exact_update import train_exactly
from labeltrees.models.linear.features import set_encoder
from labeltrees.models.linear.new_points import UpdateData, read_update
from labeltrees.models.linear.points import TrainingPoints
from labeltrees.models.linear.retrain import COLD, Retrained, move_columns, positive_unit_rows, retrain, retrain_alone
from labeltrees.models.linear.settings import LinearSettings, solver_of
from labeltrees.search import Searcher
from labeltrees.search.evidence import Evidence, Names
from labeltrees.storage import ChunkStore
from labeltrees.storage.splice import unpack_nodes
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.placement import PlacedTree, place_new_labels
from labeltrees.tree.settings import TreeSettings, builder_of, tree_settings
from labeltrees.tree.splits import split_rules

if TYPE_CHECKING:
    from labeltrees.models.linear.estimator import LabelTreeClassifier

UNLIMITED = 2**30  # a fanout that splits no node
# Several updates that added more than this share of the points end with one that trains all classifiers on all points.
ALL_AGAIN = 0.2


def update_model(model: LabelTreeClassifier, X: Any, Y: Any, replay: Any, exact: bool) -> UpdateReport:
    """Update a fitted model; see `LabelTreeClassifier.update`."""
    check_is_fitted(model, "searcher_")
    check_settings(model)
    if exact and replay is None:
        message = "exact=True needs replay: the points that the model was trained on"
        raise InputError(message)
    return _Update(model, read_update(model, X, Y, replay), replay is not None, exact).run()


def forget_points(model: LabelTreeClassifier, points: Any, replay: Any) -> UpdateReport:
    """Remove points from a model as if it had never been trained on them; see `LabelTreeClassifier.forget`."""
    check_is_fitted(model, "searcher_")
    check_settings(model)
    if replay is None:
        refuse("replay", "the points that the model was trained on", None)
    return _Update(model, *_split_off(model, points, replay)).run()


def _split_off(model: LabelTreeClassifier, points: Any, replay: Any) -> tuple[UpdateData, bool, bool, Any]:
    """Return arguments of `_Update` that forget `points`: the other points as old ones, and what is forgotten."""
    if not isinstance(replay, Dataset) and not (isinstance(replay, tuple | list) and len(replay) == 2):
        refuse("replay", "a Dataset or a pair (X, Y): the points that the model was trained on", type(replay).__name__)
    X, Y = (replay, None) if isinstance(replay, Dataset) else replay
    data = read_update(model, X, Y, None, grow=False)
    _check_trained_labels(model, data)
    n = data.points.X.shape[0]
    ids = np.asarray(points)
    ids = ids if ids.size else ids.astype(np.int64)  # an empty list
    if ids.dtype == bool and ids.shape == (n,):
        ids = np.flatnonzero(ids)
    if ids.ndim != 1 or (len(ids) and ids.dtype.kind not in "iu"):
        refuse("points", "row numbers of replay, or one bool per row", points)
    if len(ids) and (ids.min() < 0 or ids.max() >= n):
        refuse("points", f"row numbers of replay, in [0, {n})", int(ids[(ids < 0) | (ids >= n)][0]))
    gone = np.zeros(n, dtype=bool)
    gone[ids] = True
    if gone.all():
        message = "no point is left: a model needs at least one"
        raise InputError(message)
    touched = np.unique(data.points.Y[np.flatnonzero(gone)].indices)
    whole = data.points
    own = replace(
        whole,
        X=whole.X[~gone],
        Y=sp.csr_array(whole.Y[np.flatnonzero(~gone)]),
        weights=None if whole.weights is None else whole.weights[~gone],
        is_new=np.zeros(int((~gone).sum()), dtype=bool),
    )
    times = None if data.times is None else np.asarray(data.times)[~gone]
    groups = None if data.groups is None else np.asarray(data.groups)[~gone]
    before = _Before(n, np.bincount(whole.Y.indices, minlength=data.n_labels), _n_values(whole.X))
    without = bool(len(ids)) and bool((np.diff(whole.Y.indptr)[gone] == 0).any())
    forgotten = _Forgotten(touched, without or len(ids) > 0, before)
    return replace(data, points=own, times=times, groups=groups), True, True, forgotten


def _check_trained_labels(model: LabelTreeClassifier, data: UpdateData) -> None:
    """Refuse points without any point of a trained label, perhaps because it has another name: it would be retired."""
    counts = np.bincount(data.points.Y.indices, minlength=data.n_labels)
    missing = np.setdiff1d(np.flatnonzero((model.label_counts_ > 0) & (counts == 0)), model.searcher_.retired)
    if len(missing):
        names = ", ".join(map(repr, shown_labels(data.names, missing[:5])))
        message = (
            f"replay has no point of {count(len(missing), 'label')} that the model was trained on: {names}. Give all "
            "points that the model was trained on, with the names that labels have now, or retire these labels first"
        )
        raise InputError(message)


def _n_values(X: Any) -> int:
    return int(X.nnz if is_sparse(X) else X.size)


@dataclass(frozen=True)
class _Before:
    """Sizes of the points that the model was trained on."""

    n_points: int
    label_counts: Any
    n_values: int


@dataclass(frozen=True)
class _Forgotten:
    """The labels of the points to forget, whether there are any, and the sizes of all points before."""

    labels: Any
    any_points: bool
    before: _Before


class _Update:
    """One update of a model."""

    def __init__(
        self, model: LabelTreeClassifier, data: UpdateData, with_replay: bool, exact: bool, forgotten: Any = None
    ) -> None:
        self.model, self.data, self.with_replay, self.exact, self.forgotten = model, data, with_replay, exact, forgotten
        self.seed = seed_of(model.random_state)
        self.started = time.perf_counter()
        self.notes: list[str] = []
        points, old = data.points, model.searcher_.n_labels
        counts = np.bincount(points.Y.indices, minlength=data.n_labels)
        if not with_replay:
            counts[:old] += model.label_counts_
        self.counts = counts.astype(np.int64)
        self.n_new = int(points.is_new.sum())

    def run(self) -> UpdateReport:
        """Place new labels, train, and set the fitted attributes."""
        model = self.model
        frequencies, covers, weights = self.label_weights()
        embeddings = self.embeddings() if self.has_new_labels() or self.builds_anew() else None
        trees = [
            self.place(tree, embeddings, (frequencies, covers), weights, self.seed + number)
            for number, tree in enumerate(model.trees_)
        ]
        settings = self.linear_settings()
        C = model.stats_.get("C", model.C)
        C = 1.0 if C == "auto" else C
        costs: dict[str, Any] = {}
        points = self.training_points()
        if self.exact:
            trained, costs = train_exactly(
                model, points, trees, settings, self.seed, self.changed_labels(), self.before()
            )
        elif self.builds_anew():
            settings = replace(settings, C=tuple(C) if isinstance(C, list) else C)  # choosing it again would take long
            trained, costs = train_exactly(model, points, trees, settings, self.seed, self.changed_labels(), None)
        else:
            trained = [
                self.train(tree, store, settings, C) for tree, store in zip(trees, model.searcher_.stores, strict=True)
            ]
        evidence = self.evidence(points, settings)
        report = self.report(trees, trained, embeddings)
        self.install(trees, trained, evidence, costs)
        report.seconds = time.perf_counter() - self.started
        for note in report.notes:
            warnings.warn(note, UserWarning, stacklevel=5)
        return report

    # What changes.

    def has_new_labels(self) -> bool:
        return any((self.counts[self.unplaced(tree)] > 0).any() for tree in self.model.trees_)

    def unplaced(self, tree: LabelTree) -> Int64s:
        """Return the labels that are not in a tree, including new ones."""
        return np.concatenate([np.flatnonzero(tree.label_parent < 0), np.arange(tree.n_labels, self.data.n_labels)])

    def label_weights(self) -> tuple[NDArray[np.float64], Any, NDArray[np.float64]]:
        """Return the frequencies of labels, cover frequencies if these matter, and the labels' weights in splits."""
        points, settings = self.data.points, self.tree_settings()
        if self.with_replay:
            frequencies = label_frequencies(points.Y, points.weights)
            covers = None
            if settings.tradeoff > 1 or settings.path == "direct":
                covers = cover_frequencies(points.Y, points.weights, settings.cover, settings.cover_softness)
        else:
            frequencies, covers = self.counts / max(self.counts.sum(), 1), None
        return frequencies, covers, split_rules(frequencies, covers, settings).weights

    def tree_settings(self) -> TreeSettings:
        model = self.model
        settings = tree_settings(model.tree, tradeoff=model.tradeoff, fanout=model.fanout, leaf_size=model.leaf_size)
        is_flat = isinstance(model.tree, str)
        return replace(settings, fanout=UNLIMITED) if is_flat or not self.with_replay else settings

    def embeddings(self) -> Any:
        """Return unit embeddings of all labels; without replay, those of old labels come from their classifiers."""
        points = self.data.points
        found = sp.csr_array(pifa(points.X, points.Y, n_jobs=self.model.n_jobs))
        if self.with_replay:
            return found
        return found if self.model.searcher_.stores[0].matrices else self._with_classifiers(found)

    def _with_classifiers(self, found: Any) -> Any:
        """Return embeddings in which those of old labels are the positive weights of their classifiers."""
        store = self.model.searcher_.stores[0]
        weights = unpack_nodes(store, np.arange(store.n_nodes), self.model.n_jobs)
        rows = positive_unit_rows(move_columns(weights, self.data.columns), found.shape[1])
        is_label = store.children < 0
        shape = (self.data.n_labels, found.shape[1])
        labels = ~store.children[is_label].astype(np.int64)
        old = sp.csr_array(
            (np.ones(len(labels), np.float32), (labels, np.flatnonzero(is_label))), shape=(shape[0], rows.shape[0])
        )
        is_new = np.ones(shape[0], np.float32)
        is_new[labels] = 0
        return sp.csr_array(old @ rows + sp.diags_array(is_new) @ found)

    def place(self, tree: LabelTree, embeddings: Any, frequencies: Any, weights: Any, seed: int) -> PlacedTree:
        labels = self.unplaced(tree)
        labels = labels[self.counts[labels] > 0]
        rebuild = self.with_replay and not isinstance(self.model.tree, str) and self.model.label_texts_ is None
        before = tree.label_weights
        kept = (
            weights
            if before is None or len(labels) or self.builds_anew()
            else np.concatenate([before, np.zeros(self.data.n_labels - len(before))])
        )
        placed = place_new_labels(
            tree,
            labels,
            embeddings,
            kept,
            self.tree_settings(),
            rebuild=rebuild,
            anew=self.builds_anew(),
            frequencies=frequencies if rebuild else (None, None),
            random_state=seed,
            n_jobs=self.model.n_jobs,
        )
        return placed

    def changed_labels(self) -> Any:
        """Return the labels of added or removed points (bool (L,)), and whether any point was added or removed."""
        changed = np.zeros(self.data.n_labels, dtype=bool)
        if self.forgotten is not None:
            changed[self.forgotten.labels] = True
            return changed, self.forgotten.any_points
        points = self.data.points
        changed[points.Y[np.flatnonzero(points.is_new)].indices] = True
        return changed, self.n_new > 0

    def before(self) -> _Before | None:
        """Return the sizes of the old points; None if they are not those that the model was trained on."""
        model, points = self.model, self.data.points
        if self.forgotten is not None:
            found: _Before = self.forgotten.before
        else:
            old = np.flatnonzero(~points.is_new)
            counts = np.bincount(points.Y[old].indices, minlength=self.data.n_labels)
            found = _Before(len(old), counts, _n_values(points.X[old]))
        n_known = len(model.label_counts_)
        is_same = found.n_points == model.n_points_ and np.array_equal(
            found.label_counts[:n_known], model.label_counts_
        )
        is_fit = model.stats_.get("updates", {}).get("exact", True)
        return found if is_same and is_fit and model.label_texts_ is None else None

    def class_weight(self) -> Any:
        """Return the costs of labels; new labels have cost 1."""
        given = self.model.class_weight
        if given is None or isinstance(given, str) or isinstance(given, dict):
            return given
        costs: Any = label_costs(given, self.model.searcher_.n_labels, self.model._label_names)
        return np.concatenate([costs, np.ones(self.data.n_labels - len(costs), costs.dtype)])

    def training_points(self) -> TrainingPoints:
        """Return all points in the form of a fit."""
        points, data = self.data.points, self.data
        blocks = OneBlock(CheckedX(points.X), CheckedY(points.Y), points.weights)
        texts = self.label_texts()
        return TrainingPoints(
            blocks, blocks.n_points, self.counts, data.names, data.encoder, texts, None, None, data.groups
        )

    def label_texts(self) -> Any:
        """Return the texts of the labels; new ones have those that came with the new points."""
        texts = self.model.label_texts_
        return None if texts is None else texts.grown(self.data.n_labels, self.data.new_texts)

    # Training.

    def linear_settings(self) -> LinearSettings:
        model, costs = self.model, self.class_weight()
        return LinearSettings(
            **solver_of(model.loss).get_params(),
            C=model.C,
            balanced=isinstance(costs, str),
            label_cost=label_costs(costs, self.data.n_labels, self.data.names),
        )

    def train(self, placed: PlacedTree, store: ChunkStore, settings: Any, C: Any) -> Retrained:
        arguments = (settings, C, self.seed, self.data.columns, self.model.n_jobs)
        if self.with_replay:
            states = np.full(len(placed.tree.children), COLD, np.int8) if self.trains_all() else None
            return retrain(placed, store, self.data.points, *arguments, states=states)
        return retrain_alone(placed, store, self.data.points, *arguments)

    def trains_all(self) -> bool:
        """Return whether all classifiers are trained on all points, as earlier updates have only continued them."""
        earlier = self.model.stats_.get("updates", {}).get("points", 0)
        added = earlier + self.n_new
        at_training = max(self.data.points.X.shape[0] - added, 1)
        many = self.with_replay and earlier > 0 and added > ALL_AGAIN * at_training
        return self.exact or (many and self.has_all_labels())

    def has_all_labels(self) -> bool:
        """Return whether every label of the tree has a point; training all classifiers would lose the others."""
        placed = self.model.trees_[0].label_parent >= 0
        return bool((self.counts[: len(placed)][placed] > 0).all())

    def builds_anew(self) -> bool:
        """Return whether the tree is built anew, too: if all classifiers are trained again, this costs little more."""
        model = self.model
        is_own = not isinstance(model.tree, LabelTree | str) and builder_of(model.tree).embeddings is None
        return is_own and not self.exact and model.label_texts_ is None and self.trains_all()

    def evidence(self, points: TrainingPoints, settings: Any) -> Any:
        model, old = self.model, self.model.searcher_.evidence
        if old is None:
            return None
        if self.with_replay and model._uses_evidence():
            return learn_evidence(model, points, settings, self.seed).evidence
        n_labels, n_features = self.data.n_labels, self.data.n_features
        kept = tuple(
            kind.widen(n_labels, n_features, self.data.columns) for kind in old.kinds if isinstance(kind, Names)
        )
        if not kept or len(kept) < len(old.kinds):
            self.notes.append(
                "the evidence of the model was dropped: it is learned from all points; give replay to learn it again"
            )
        return Evidence(n_labels, n_features, kept) if kept else None

    # The result.

    def install(self, trees: list[PlacedTree], trained: list[Retrained], evidence: Any, costs: dict[str, Any]) -> None:
        model, data, old = self.model, self.data, self.model.searcher_
        model.stats_ = {**model.stats_, **costs, "updates": self.history(trees[0].tree)}
        model.stats_["bytes"] = sum(own.store.nbytes for own in trained)
        model.class_weight = self.class_weight()
        if isinstance(model.tree, LabelTree):
            model.tree = trees[0].tree
        model.trees_ = [placed.tree for placed in trees]
        model.searcher_ = Searcher(
            [own.store for own in trained],
            loss=old.loss,
            score_power=old.score_power,
            normalize=old.normalize,
            evidence=evidence,
        )
        set_encoder(model, data.encoder)
        model.n_features_in_ = data.n_features
        if hasattr(model, "feature_names_in_"):
            model.feature_names_in_ = data.feature_names
        model._label_names = data.names
        model.label_texts_ = self.label_texts()
        model.label_counts_ = self.counts
        model.n_points_ = data.points.X.shape[0] + (0 if self.with_replay else int(model.n_points_ or 0))
        model.searcher_.set_prior(model.label_counts_, model.n_points_)
        model.searcher_.set_trend(self.trend(old))
        model.early_stop_ = None
        if self.exact:
            model.calibration_ = None
        self.retire(old, trees)

    def retire(self, old: Any, trees: list[PlacedTree]) -> None:
        """Keep labels retired unless this update has placed them; retire labels that have lost their last point."""
        retired = np.zeros(self.data.n_labels, dtype=bool)
        retired[old.retired] = True
        placed = trees[0].tree.label_parent >= 0
        was_placed = np.zeros(self.data.n_labels, dtype=bool)
        was_placed[: old.n_labels] = self._was_placed
        retired &= ~(placed & ~was_placed)
        retired[self.lost_labels(was_placed)] = True
        self.model.searcher_.set_retired(np.flatnonzero(retired))

    def lost_labels(self, was_placed: NDArray[np.bool_]) -> Int64s:
        """Return the labels that have lost their last point."""
        return np.flatnonzero(was_placed & (self.counts == 0) & (self.forgotten is not None))

    def trend(self, old: Any) -> Any:
        if old.trend is None:
            return None
        if self.with_replay and self.data.times is not None and self.model.trend is not None:
            return trend_weights(self.data.points.Y, self.data.times, self.model.trend).astype(np.float32)
        self.notes.append("the trend of old labels was kept, and new labels have none: give times with all points")
        return np.concatenate([old.trend, np.ones(self.data.n_labels - old.n_labels, np.float32)])

    def history(self, tree: LabelTree) -> dict[str, Any]:
        """Return the history of updates with this one, which ends in `tree`."""
        model = self.model
        before = model.stats_.get("updates", {})
        if self.builds_anew():  # as after a fit
            fresh = {"updates": {"n": before.get("n", 0)}}
            return {**updates_so_far(fresh, tree, self.counts, 0, exact=True), "points": 0}
        history = updates_so_far(model.stats_, model.trees_[0], model.label_counts_, self.n_added, self.exact)
        earlier = before.get("points", 0)  # added since all classifiers were trained
        return {**history, "points": 0 if self.trains_all() else earlier + self.n_new}

    @property
    def n_added(self) -> int:
        tree = self.model.trees_[0]
        return int((self.counts[self.unplaced(tree)] > 0).sum()) if tree.n_labels < self.data.n_labels else 0

    def report(self, trees: list[PlacedTree], trained: list[Retrained], embeddings: Any) -> UpdateReport:
        model, data, first = self.model, self.data, trees[0]
        self._was_placed = model.trees_[0].label_parent >= 0
        if model.early_stop_ is not None:
            self.notes.append("agreement must be learned again: call calibrate, or labeltrees calibrate")
        if model.calibration_ is not None:
            self.notes.append(
                "probabilities must be learned again: call calibrate with labels"
                if self.exact
                else "probabilities are those of the model before the update; calibrate learns them again"
            )
        if data.n_dropped:
            self.notes.append(
                f"{count(data.n_dropped, 'label')} of old points were left out: the model does not know them"
            )
        history = self.history(first.tree)
        depth, fresh = depths(history, first.tree, self.counts)
        new = np.arange(model.searcher_.n_labels, data.n_labels)
        new = np.union1d(new, self.unplaced(model.trees_[0])[self.counts[self.unplaced(model.trees_[0])] > 0])
        similarity = similarity_of(first.tree, embeddings, new, self.with_replay)
        report = UpdateReport(
            self.n_new,
            int((~data.points.is_new).sum()),
            shown_labels(data.names, new),
            data.n_features - model.n_features_in_,
            sum(own.n_split for own in trees),
            sum(own.n_rebuilt for own in trees),
            shown_labels(data.names, first.moved),
            sum(own.n_kept for own in trained),
            sum(own.n_warm for own in trained),
            sum(own.n_cold for own in trained),
            depth,
            fresh,
            *similarity,
            self.exact,
            0.0,
            self.notes,
        )
        report.full_fit_advised = advice(report, history, self.with_replay)
        if self.forgotten is not None:
            report.n_forgotten = self.forgotten.before.n_points - data.points.X.shape[0]
            lost = np.setdiff1d(self.lost_labels(self._was_placed), model.searcher_.retired)
            report.retired_labels = shown_labels(data.names, lost)
        return report
