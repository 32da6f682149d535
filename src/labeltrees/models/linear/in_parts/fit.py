"""Fitting a model on a dataset in parts: the stages, in order, on any runner."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from labeltrees._losses import LOSSES
from labeltrees._validation import check_n_jobs, refuse
from labeltrees.data.label_sets import check_unicode
from labeltrees.data.parts.parts_dataset import PartsDataset
from labeltrees.errors import InputError
from labeltrees.models.common.dataset_arguments import arguments_of_parts
from labeltrees.models.common.label_names import LabelNames
from labeltrees.models.common.settings import seed_of
from labeltrees.models.linear.auto_cost import choose_by_losses, draw_sample
from labeltrees.models.linear.fitted import Fitted, linear_settings
from labeltrees.models.linear.in_parts.bundles import NodeSizes, bundle_bytes, node_sizes, plan_bundles
from labeltrees.models.linear.in_parts.costs import plan_validation, validate_groups
from labeltrees.models.linear.in_parts.embeddings import embedding_tasks
from labeltrees.models.linear.in_parts.packing import assemble_store, pack_nodes, packing_tasks, rank_features
from labeltrees.models.linear.in_parts.routing import route_tasks
from labeltrees.models.linear.in_parts.scan import Survey, scan_tasks, survey
from labeltrees.models.linear.in_parts.training import train_bundle
from labeltrees.models.linear.in_parts.tree_tasks import Place, TreeInputs, grow_in_tasks, split_bytes
from labeltrees.models.linear.in_parts.trees import Layout, count_labels, read_tree, tree_arrays, tree_of_given
from labeltrees.models.linear.settings import LinearSettings
from labeltrees.models.linear.trend import trend_of_parts
from labeltrees.storage import ChunkStore
from labeltrees.tasks import Runner, Task
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.settings import builder_of, is_given, tree_settings

if TYPE_CHECKING:
    from labeltrees.models.linear.estimator import LabelTreeClassifier

__all__ = ["PartsFit", "pack_nodes"]

_NOT_IN_TASKS = ("label_cost", "max_memory")
_logger = logging.getLogger("labeltrees.training")


class RoutedTree(NamedTuple):
    """A tree, the name of its file, the names of the routed points, and the sizes of its nodes."""

    tree: LabelTree
    name: str
    layout: Layout
    routes: list[str]
    sizes: NodeSizes
    scale: bool


@dataclass(eq=False)
class PartsFit:
    """One fit on a dataset in parts.

    Parameters
    ----------
    model : LabelTreeClassifier
        With checked settings; its fitted attributes are set.
    data : PartsDataset
    runner : Runner
    n_jobs : int, optional
        Threads per task.
    in_memory : bool
        Whether the model is made in memory, or mapped from a file.
    tree_jobs : int, optional
        Threads of all tasks together that build the tree at the same time. By default `n_jobs`.
    """

    model: LabelTreeClassifier
    data: PartsDataset
    runner: Runner
    n_jobs: int | None = None
    in_memory: bool = True
    tree_jobs: int | None = None

    def __post_init__(self) -> None:
        self.results = self.runner.results
        self.task_bytes = 2**62 if self.runner.memory is None else self.runner.memory.n_bytes

    def run(self, label_names: Any = None) -> None:
        """Fit the model."""
        started = time.perf_counter()
        model, data = self.model, self.data
        self.fingerprint = data.manifest.fingerprint()
        arguments = arguments_of_parts(data, label_names)
        names = None if arguments.label_names is None else LabelNames(arguments.label_names)
        if names is not None:
            check_unicode(names.array)
        if data.n_features == 0:
            message = f"Found array with 0 feature(s) (shape={(data.n_points, 0)}) while a minimum of 1 is required."
            raise InputError(message)
        trend = trend_of_parts(model.trend, data)  # first, because it is refused without times
        settings = linear_settings(model, data.n_labels, names)
        seed = seed_of(model.random_state)
        found, trees, stores = self._scan(), [], []
        n_weights, seconds = 0, 0.0
        costs: dict[str, Any] = {}
        for number in range(model.n_trees):
            begun = time.perf_counter()
            tree, name = self._tree(found, seed + number)
            seconds += time.perf_counter() - begun
            routed = self._route(tree, name, found)
            if number == 0:
                settings, costs = self._settle_cost(routed, settings, seed)
            store, n_of_tree = self._train(routed, settings, seed)
            trees.append(tree)
            stores.append(store)
            n_weights += n_of_tree
        model.n_features_in_ = data.n_features
        if hasattr(model, "feature_names_in_"):
            del model.feature_names_in_
        if arguments.feature_names is not None:
            model.feature_names_in_ = arguments.feature_names
        stats = {
            "tree_seconds": seconds,
            "seconds": time.perf_counter() - started,
            "n_weights": n_weights,
            "bytes": sum(store.nbytes for store in stores),
            **costs,
        }
        counts, encoder = found.label_pairs, arguments.encoder
        Fitted(trees, stores, data.n_points, counts, names, encoder, trend, stats).give_to(model)

    def _run(self, stage: str, tasks: list[Task]) -> list[Task]:
        self.runner.run(stage, tasks)
        return tasks

    def _scan(self) -> Survey:
        data = self.data
        self.scans = self._run("Reading the parts", scan_tasks(str(data.folder), self.fingerprint, len(data.parts)))
        n_values = sum(part.n_values for part in data.manifest.parts)
        found = survey(self.results, self.scans, data.n_labels, n_values, bool(self.model.normalize))
        if found.n_pairs == 0:
            message = "Y has no labels"
            raise InputError(message)
        return found

    def _tree(self, found: Survey, seed: int) -> tuple[LabelTree, str]:
        """Return a tree, and the file with it."""
        model, data, results = self.model, self.data, self.results
        settings = tree_settings(model.tree, tradeoff=model.tradeoff, fanout=model.fanout, leaf_size=model.leaf_size)
        given_embeddings = builder_of(model.tree).embeddings
        counts_inputs = {
            "fingerprint": self.fingerprint,
            "cover": settings.cover,
            "cover_softness": float(settings.cover_softness),
        }
        counts = Task(count_labels, counts_inputs, {"data": str(data.folder)})
        if is_given(model.tree) or given_embeddings is not None:
            if is_given(model.tree) and model.n_trees > 1:
                refuse("n_trees", "1 if the tree is given", model.n_trees)
            self._run("Counting labels", [counts])
            tree = tree_of_given(
                model.tree, given_embeddings, results[counts.name], settings, data.n_labels, seed, model.n_jobs
            )
            return tree, self.results.store("tree", tree_arrays(tree))
        embeddings = embedding_tasks(str(data.folder), self.scans, found, self.task_bytes, self.n_jobs)
        self._run("Label counts and embeddings", [counts, *embeddings])
        inputs = TreeInputs(counts.name, [task.name for task in embeddings], vars(settings), data.n_features, seed)
        n_values = sum(len(results[task.name]["values"]) for task in embeddings)
        root = Place(None, "", data.n_labels, n_values)
        self._check_tree_memory(root)
        n_threads = check_n_jobs(self.tree_jobs or self.n_jobs)
        whole = grow_in_tasks(inputs, root, self.task_bytes, n_threads, self.runner)
        return read_tree(results[whole.name], data.n_labels)[0], whole.name

    def _check_tree_memory(self, root: Place) -> None:
        needed = split_bytes(root.n_values, root.n_labels, self.data.n_features)
        _logger.info("Splitting the labels: up to %.0f MiB", needed / 2**20)
        if self.runner.memory is not None and needed > self.task_bytes:
            self.runner.memory.refuse(needed, "to build the tree of these labels")

    def _route(self, tree: LabelTree, name: str, found: Survey) -> RoutedTree:
        data = self.data
        routes = self._run(
            "Routing points",
            route_tasks(str(data.folder), self.fingerprint, len(data.parts), name, found.all_ones),
        )
        n_without = sum(len(self.results[task.name]["without"]) for task in routes)
        layout = read_tree(self.results[name], data.n_labels)[1]
        names = [task.name for task in routes]
        return RoutedTree(tree, name, layout, names, node_sizes(tree, layout, found, n_without), found.scale)

    def _settle_cost(
        self, routed: RoutedTree, settings: LinearSettings, seed: int
    ) -> tuple[LinearSettings, dict[str, Any]]:
        """Return the settings with numbers for C, and what `stats_` says about them, as a fit in memory does."""
        if settings.C != "auto":
            return settings, {"C": [float(settings.C)]}
        started, data = time.perf_counter(), self.data
        sample, losses = draw_sample(data.n_points, routed.tree, routed.sizes.values, seed, data.groups), None
        if sample is not None:
            shared, how = self._training_inputs(routed, settings, seed)
            shared["held_out"] = self.results.store("held-out", {"held_out": sample.held_out})
            n_threads = self._n_threads
            plan = plan_validation(
                sample,
                len(LOSSES[settings.loss].costs),
                routed.tree,
                routed.layout.node_start,
                routed.sizes,
                lambda node: bundle_bytes(routed.sizes, node, data.n_points, data.n_features, n_threads),
                self.task_bytes,
                lambda groups: Task(validate_groups, {**shared, "groups": groups}, how),
            )
            self._run("Choosing C", plan.tasks)
            losses = plan.losses(self.results)
        choice = choose_by_losses(sample, losses, settings.loss)
        report = {**choice.report(), "C_seconds": time.perf_counter() - started}
        return replace(settings, C=choice.C), report

    def _train(self, routed: RoutedTree, settings: LinearSettings, seed: int) -> tuple[ChunkStore, int]:
        data = self.data
        bundles = plan_bundles(
            routed.tree, routed.sizes, self.task_bytes, data.n_points, data.n_features, self._n_threads
        )
        shared, how = self._training_inputs(routed, settings, seed)
        trained = [Task(train_bundle, {**shared, **bundle.to_json()}, how) for bundle in bundles]
        self._run("Training the classifiers", trained)
        rank_inputs = {"trained": [task.name for task in trained], "n_features": data.n_features}
        rank = Task(rank_features, rank_inputs)
        self._run("Ranking features", [rank])
        packed = packing_tasks(bundles, trained, rank, routed.name, data.n_features, self.n_jobs)
        self._run("Packing chunks", packed)
        store = assemble_store(
            self.results, routed.tree, packed, trained, rank, data.n_features, settings.loss, in_memory=self.in_memory
        )
        return store, self.results[rank.name].values["n_weights"]

    @property
    def _n_threads(self) -> int:
        return check_n_jobs(self.n_jobs)

    def _training_inputs(
        self, routed: RoutedTree, settings: LinearSettings, seed: int
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what all tasks that train have in common: inputs, and arguments that change no result."""
        label_cost = None
        if settings.label_cost is not None:
            label_cost = self.results.store("costs", {"label_cost": settings.label_cost})
        inputs = {
            "routes": routed.routes,
            "tree": routed.name,
            "label_cost": label_cost,
            "n_labels": self.data.n_labels,
            "scale": routed.scale,
            "settings": {key: value for key, value in vars(settings).items() if key not in _NOT_IN_TASKS},
            "seed": seed,
        }
        return inputs, {"data": str(self.data.folder), "spill_above": self.task_bytes // 2, "n_jobs": self.n_jobs}
