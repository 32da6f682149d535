"""Fitting a model: the same stages for points in memory, in parts on disk, and on a cluster."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labeltrees._memory import free_bytes, parse_bytes
from labeltrees._validation import refuse
from labeltrees.data.parts.parts_dataset import PartsDataset
from labeltrees.models.common.error_costs import label_costs
from labeltrees.models.common.given import place_labels
from labeltrees.models.common.label_names import LabelNames
from labeltrees.models.common.settings import seed_of
from labeltrees.models.linear.blocks import Survey, survey_points
from labeltrees.models.linear.cost import settle_cost
from labeltrees.models.linear.embeddings import LabelInputs, embed_labels
from labeltrees.models.linear.evidence import asked_kinds, learn_evidence
from labeltrees.models.linear.features import set_encoder
from labeltrees.models.linear.pack import pack_tree
from labeltrees.models.linear.points import TrainingPoints, read_parts, read_points, refuse_in_parts
from labeltrees.models.linear.problem import route_points
from labeltrees.models.linear.settings import LinearSettings, solver_of
from labeltrees.models.linear.train import train_tree
from labeltrees.models.linear.trees import GrownTree, grow_tree, store_tree
from labeltrees.search import Searcher
from labeltrees.tasks import FolderResults, LocalRunner, Runner, TaskMemory
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.settings import TreeSettings, tree_settings

if TYPE_CHECKING:
    from labeltrees.models.linear.estimator import LabelTreeClassifier

_logger = logging.getLogger("labeltrees.training")
WORK_FOLDER = "labeltrees-fit"  # subfolder of `work_folder`, or prefix of a temporary folder


def fit(model: LabelTreeClassifier, points: TrainingPoints, runner: Runner, *, in_memory: bool = True) -> None:
    """Fit a model with checked settings.

    Parameters
    ----------
    model : LabelTreeClassifier
        Its fitted attributes are set.
    points : TrainingPoints
        In memory, every stage has one task. In parts, the tasks of a stage are planned for the memory of the runner.
    runner : Runner
        Runs the tasks. If its folder has results of an interrupted fit, finished tasks are not run again.
    in_memory : bool
        Whether the classifiers are kept in memory; otherwise they are mapped from a file.
    """
    started = time.perf_counter() - points.seconds
    blocks, seed = points.blocks, seed_of(model.random_state)
    settings = linear_settings(model, blocks.n_labels, points.names)
    shown = bool(model.verbose) if blocks.in_memory else None  # one task per stage shows its own progress

    found = survey_points(blocks, runner, normalize=bool(model.normalize))
    labels = embed_labels(blocks, found, runner, **_tree_parameters(model, points))
    trees = _grow_trees(model, labels, points, seed, runner, shown)
    built = time.perf_counter()
    routed = [route_points(blocks, found, tree, settings, seed, runner) for tree in trees]
    C, costs = settle_cost(routed[0], points.groups, runner)
    packed = [pack_tree(tree, train_tree(tree, C, runner, shown), runner, in_memory=in_memory) for tree in routed]

    model.stats_ = {
        "tree_seconds": built - started,
        "seconds": time.perf_counter() - started,
        "n_weights": sum(tree.n_weights for tree in packed),
        "bytes": sum(tree.store.nbytes for tree in packed),
        **costs,
    }
    if points.n_label_words:
        model.stats_["label_words"] = points.n_label_words
    model.trees_ = [tree.tree for tree in trees]
    scoring: dict[str, Any] = {"loss": settings.loss, "score_power": float(settings.score_power)}
    scoring["normalize"] = bool(model.normalize)
    stores = [tree.store for tree in packed]
    evidence = None
    if asked_kinds(model, points):
        learned = learn_evidence(model, points, settings, seed)
        model.stats_ |= {"evidence": learned.stats, "evidence_seconds": learned.seconds}
        model.stats_["seconds"] = time.perf_counter() - started
        evidence = learned.evidence
    model.searcher_ = Searcher(stores, **scoring, evidence=evidence)
    _keep(model, points, found)


def _keep(model: LabelTreeClassifier, points: TrainingPoints, found: Survey) -> None:
    """Set the attributes that a model keeps from its training points."""
    set_encoder(model, points.encoder)
    model.n_features_in_ = points.blocks.n_features
    model._label_names = points.names
    model.label_texts_ = points.label_texts
    model.label_counts_ = found.label_pairs if points.label_counts is None else points.label_counts
    model.n_points_ = points.n_points
    model.searcher_.set_prior(model.label_counts_, model.n_points_)
    model.searcher_.set_trend(points.trend)
    model.calibration_ = model.early_stop_ = None


def linear_settings(model: LabelTreeClassifier, n_labels: int, names: LabelNames | None) -> LinearSettings:
    """Return the settings for training the classifiers of a model."""
    return LinearSettings(
        **solver_of(model.loss).get_params(),
        C=tuple(model.C) if isinstance(model.C, list) else model.C,  # a list, if the model was loaded
        balanced=isinstance(model.class_weight, str),
        label_cost=label_costs(model.class_weight, n_labels, names),
    )


def _tree_settings(model: LabelTreeClassifier) -> TreeSettings:
    return tree_settings(model.tree, tradeoff=model.tradeoff, fanout=model.fanout, leaf_size=model.leaf_size)


def _tree_parameters(model: LabelTreeClassifier, points: TrainingPoints) -> dict[str, Any]:
    """Return arguments for `embed_labels`: how labels are counted, and embeddings that the user gave."""
    if isinstance(model.tree, LabelTree | str):
        return {"cover": None}
    settings = _tree_settings(model)
    return {"cover": settings.cover, "softness": float(settings.cover_softness), "given": points.embeddings}


def _grow_trees(
    model: LabelTreeClassifier,
    labels: LabelInputs,
    points: TrainingPoints,
    seed: int,
    runner: Runner,
    progress: bool | None,
) -> list[GrownTree]:
    if isinstance(model.tree, LabelTree | str):
        if model.n_trees > 1:
            refuse("n_trees", "1 if the tree is given", model.n_trees)
        frequencies = runner.results[labels.counts]["frequencies"]
        return [store_tree(place_labels(model.tree, points.blocks.n_labels, frequencies), runner.results)]
    settings, trees = _tree_settings(model), list[GrownTree]()
    for number in range(model.n_trees):
        is_last = number == model.n_trees - 1
        overwrite = is_last and labels.are_own
        tree = grow_tree(points.blocks, labels, settings, seed + number, runner, overwrite=overwrite, progress=progress)
        trees.append(tree)
    runner.results.drop(labels.embeddings)
    return trees


# In this process.


def fit_here(
    model: LabelTreeClassifier,
    X: Any,
    Y: Any = None,
    *,
    max_memory: int | str | None = None,
    work_folder: str | os.PathLike[str] | None = None,
    **others: Any,
) -> None:
    """Fit a model in this process: in memory, or part by part if X is in parts and does not fit into the memory given.

    The other arguments are those of `LabelTreeClassifier.fit`.
    """
    if not isinstance(X, PartsDataset):
        if max_memory is not None or work_folder is not None:
            refuse("X", "a dataset in parts if max_memory or work_folder is given (`write_parts` makes one)", type(X))
    else:
        limit = free_bytes() * 3 // 4 if max_memory is None else parse_bytes("max_memory", max_memory)
        whole = bytes_in_memory(X)
        if whole > limit or work_folder is not None:
            refuse_in_parts(model, {"Y": Y, **others})
            _logger.info(
                "Training part by part: up to %.0f MiB at once (all points in memory would take about %.0f MiB)",
                limit / 2**20,
                whole / 2**20,
            )
            points = read_parts(model, X)
            with work_folder_for(X.folder, work_folder) as folder:
                runner = LocalRunner(FolderResults(folder), bool(model.verbose), TaskMemory(limit), model.n_jobs)
                fit(model, points, runner, in_memory=False)
            return
    fit(model, read_points(model, X, Y, **others), LocalRunner(n_jobs=model.n_jobs))


def bytes_in_memory(data: PartsDataset) -> int:
    """Estimate the memory of a fit with all points in memory: X, Y, embeddings, and the classifiers."""
    parts = data.manifest.parts
    n_values, n_pairs = sum(part.n_values for part in parts), sum(part.n_pairs for part in parts)
    of_labels = n_pairs * (n_values // max(data.n_points, 1) + 1)
    return n_values * 16 + n_pairs * 24 + of_labels * 24 + data.n_labels * 200 + data.n_features * 16


@contextmanager
def work_folder_for(data: Any, given: str | os.PathLike[str] | None) -> Iterator[Path]:
    """Yield a folder for results, removed at the end; after an error it stays if the user gave it.

    By default it is a temporary folder beside `data`, the folder of the parts.
    """
    if given is not None:
        folder = Path(os.path.abspath(given)) / WORK_FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        shutil.rmtree(folder, ignore_errors=True)
        return
    beside = None if data is None else Path(os.path.abspath(data)).parent
    usable = beside if beside is not None and os.access(beside, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix=f"{WORK_FOLDER}-", dir=usable, ignore_cleanup_errors=True) as temporary:
        yield Path(temporary)
