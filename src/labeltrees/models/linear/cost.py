"""C="auto": the cost of errors at each depth of a tree, chosen by the loss on held-out points."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labeltrees import _core
from labeltrees._holding_out import draw_held_out
from labeltrees._losses import LOSSES
from labeltrees._matrices import Int64s
from labeltrees._validation import check_n_jobs
from labeltrees.models.linear.pieces import LANES, bundle_bytes, cut_subtrees, target_cost
from labeltrees.models.linear.problem import RoutedTree, TrainingInputs, piece_problem, whole_problem
from labeltrees.models.linear.settings import LinearSettings
from labeltrees.models.linear.trees import read_tree
from labeltrees.tasks import Outcome, Results, Runner, Task
from labeltrees.tree.label_tree import LabelTree

HELD_OUT = 0.1  # share of the points
MIN_POINTS = 100  # with fewer points, C is 1
MIN_POSITIVES = 30  # minimum number of held-out positives for a decision
MAX_DEPTH = 7  # deeper nodes use the C of this depth
SAMPLED = 0.06  # share of the training work of each depth that is tried at every C
SAMPLED_OF_ALL = 0.015  # share of the work of the whole tree: depths with little work are sampled more
PASSES = 12  # maximum at each C: it starts from the previous solution, so more passes change little
MAX_ROWS = 400_000  # nodes with more points are tried on a random half, quarter, ... of them
TOLERANCE = 0.005  # share of the loss reduction given up to keep C near 1
STEPS = 16  # interpolated values of C between two that are tried
# Minimum number of groups tried per depth, and the number that is enough if they are this much work (values times
# children). The standard error of log C at the root is 0.06 with six of 16 groups and 0.09 with three.
MIN_GROUPS, ENOUGH_GROUPS, LARGE_WORK = 6, 3, 1e8
MOST_WORK = 1e9  # maximum work tried per depth, if it is more than ENOUGH_GROUPS
# With few points, several sets of points are held out in turn, until they have this many points in total.
ENOUGH_HELD_OUT, MAX_REPEATS = 1000, 10
# With few points, the order of labels needs a higher C than the lowest loss: low scores reduce the loss of unsure
# classifiers, and change no order. C is multiplied by 1 + FEW_POINTS / n, rounded to tenths, and at most by MAX_FACTOR.
# With 120 to 160 points of four datasets this raises P@1 by 0.3 to 1.7 points; from 4,000 points on it changes nothing.
FEW_POINTS, MAX_FACTOR = 200, 2.0


@dataclass(frozen=True)
class CostChoice:
    """The chosen costs, and the losses they were chosen by.

    Parameters
    ----------
    C : tuple of float
        By depth of the node; deeper nodes use the last one.
    tried : tuple of float
        The values of C that were tried.
    losses : list of list of float
        By depth: the held-out loss at each C tried, relative to the loss of constant scores.
    """

    C: tuple[float, ...]
    tried: tuple[float, ...]
    losses: list[list[float]]

    def report(self) -> dict[str, Any]:
        """Return the choice for `stats_`."""
        return {"C": list(self.C), "C_tried": list(self.tried), "C_losses": self.losses}


def settle_cost(routed: RoutedTree, groups: Int64s | None, runner: Runner) -> tuple[Any, dict[str, Any]]:
    """Return C as numbers, chosen if it is "auto", and the entries of `stats_` about it."""
    inputs, C = routed.inputs, routed.inputs.settings.C
    if C != "auto":
        return C, {"C": [float(one) for one in np.atleast_1d(C)]}
    started = time.perf_counter()
    loss, found = inputs.settings.loss, []
    n_points, sizes = inputs.points.n_points, routed.sizes
    rows = np.minimum(sizes.pairs, n_points)
    samples = draw_samples(n_points, routed.grown.tree, sizes.values, rows, inputs.seed, groups)
    for number, sample in enumerate(samples):
        arrays = {"held_out": sample.held_out, "halvings": sample.point_halvings}
        held_out = runner.results.store(f"held-out-{number}" if number else "held-out", arrays)
        cuts = _cut_sample(sample, len(LOSSES[loss].costs), routed, runner)
        how = {"n_jobs": runner.n_jobs, "spill_above": runner.task_bytes // 2}
        tasks = []
        for cut in cuts:
            of_task = {"groups": sample.groups[cut].tolist(), "halvings": int(sample.halvings[cut[0]])}
            tasks.append(Task(validate_groups, {"inputs": inputs, "held_out": held_out, **of_task}, how))
        runner.run("Choosing C", tasks)
        found.append(_join_losses([runner.results[task.name] for task in tasks], np.concatenate(cuts)))
    choice = choose_by_losses(samples, found, loss)
    return choice.C, {**choice.report(), "C_seconds": time.perf_counter() - started}


class CostSample(NamedTuple):
    """The points and classifiers that C is chosen by; the same for data in memory and in parts.

    Parameters
    ----------
    held_out : uint8 (n_points,)
        1 for held-out points.
    groups : int64 (n_groups, 4)
        Groups of children as rows (node, first edge, number of edges, stride), by depth.
    level : int64 (n_groups,)
        Depth of each group's node.
    halvings : int64 (n_groups,)
        How often the points of each group's node are halved: nodes with many points are tried on some of them.
    point_halvings : uint8 (n_points,)
        How many halvings each point survives.
    """

    held_out: NDArray[np.uint8]
    groups: NDArray[np.int64]
    level: NDArray[np.int64]
    halvings: NDArray[np.int64]
    point_halvings: NDArray[np.uint8]


class HeldOutLosses(NamedTuple):
    """By group: losses at each C tried (n_groups, n_tried), the loss of constant scores, and held-out positives."""

    losses: NDArray[np.float64]
    constants: NDArray[np.float64]
    positives: NDArray[np.int64]


def draw_samples(
    n_points: int,
    tree: LabelTree,
    work: NDArray[np.int64],
    rows: NDArray[np.int64],
    seed: int,
    groups: Int64s | None = None,
) -> list[CostSample]:
    """Return samples, none for too few points; they depend on the seed, the tree, `work`, `rows` and `groups`.

    They share the groups of children and differ in their held-out points.

    Parameters
    ----------
    work : int64 (n_nodes,)
        Upper bound of the number of values in the rows of each node's points.
    rows : int64 (n_nodes,)
        Upper bound of the number of each node's points.
    groups : int64 (n_points,), optional
        Points with the same number are held out together.
    """
    if n_points < MIN_POINTS:
        return []
    rng = np.random.default_rng([seed, 0xC])
    n_wanted = int(n_points * HELD_OUT)
    order, n_held_out = draw_held_out(n_points, n_wanted, rng, groups)
    depth = np.minimum(tree.node_depth, MAX_DEPTH)
    levels = range(int(depth.max()) + 1)
    halvings = np.ceil(np.log2(np.maximum(rows / MAX_ROWS, 1))).astype(np.int64)
    work = work >> halvings
    least = SAMPLED_OF_ALL * float((work * np.diff(tree.child_ptr)).sum())
    children = [_sample_groups(np.flatnonzero(depth == level), tree, work, least, rng) for level in levels]
    sampled, level_of = np.concatenate(children), np.repeat(levels, list(map(len, children)))
    found = []
    for _ in range(min(MAX_REPEATS, max(1, -(-ENOUGH_HELD_OUT // max(n_held_out, 1))))):
        held_out = np.zeros(n_points, np.uint8)
        held_out[order[:n_held_out]] = 1
        survives = np.zeros(n_points, np.uint8)
        if halvings.any():
            survives = (rng.geometric(0.5, n_points) - 1).astype(np.uint8)
        found.append(CostSample(held_out, sampled, level_of, halvings[sampled[:, 0]], survives))
        order, n_held_out = draw_held_out(n_points, n_wanted, rng, groups)
    return found


def _cut_sample(sample: CostSample, n_tried: int, routed: RoutedTree, runner: Runner) -> list[Any]:
    """Cut a sample into tasks by work and memory.

    The nodes of a task have the same halvings and, on parts, one depth, so that none contains another.
    """
    points, sizes = routed.inputs.points, routed.sizes
    if points.in_memory:
        return [np.flatnonzero(sample.halvings == own) for own in np.unique(sample.halvings)]
    nodes, n_threads = sample.groups[:, 0], check_n_jobs(runner.n_jobs)
    depth = routed.grown.tree.node_depth[nodes]
    # Stable: groups of a node stay in order.
    order = np.lexsort((routed.grown.layout.node_start[nodes], sample.halvings, depth))
    cost = (sizes.values[nodes] >> sample.halvings).astype(np.float64) * sample.groups[:, 2] * n_tried
    target = target_cost(float(cost.sum()))
    cuts: list[list[int]] = []
    spent, n_bytes, last = 0.0, 0, -1
    for place in order.tolist():
        of_node = bundle_bytes(sizes, int(nodes[place]), points.n_points, points.n_features, n_threads)
        own_bytes = 0 if nodes[place] == nodes[last] and cuts else of_node
        is_full = spent + cost[place] > target or n_bytes + own_bytes > runner.task_bytes
        is_same = depth[place] == depth[last] and sample.halvings[place] == sample.halvings[last]
        if not cuts or is_full or not is_same:
            cuts.append([])
            spent, n_bytes, own_bytes = 0.0, 0, of_node
        cuts[-1].append(place)
        spent, n_bytes, last = spent + cost[place], n_bytes + own_bytes, place
    return [np.array(cut) for cut in cuts]


def validate_groups(
    results: Results,
    *,
    inputs: TrainingInputs,
    held_out: str,
    groups: list[list[int]],
    halvings: int,
    n_jobs: int | None = None,
    spill_above: int | None = None,
) -> Outcome:
    """Return the losses of groups of children (rows of `CostSample.groups`), on points that survive the halvings."""
    grown = read_tree(results, inputs.tree, inputs.points.n_labels)
    sampled, is_held_out = np.array(groups, np.int64), results[held_out]["held_out"]
    kept = np.asarray(results[held_out]["halvings"]) >= halvings if halvings else None
    if inputs.points.in_memory:
        problem = whole_problem(results, inputs, grown.tree, kept)
        is_held_out = is_held_out if kept is None else is_held_out[kept]
    else:
        nodes = np.unique(sampled[:, 0])
        piece = cut_subtrees(grown, nodes.tolist())
        problem, _, points = piece_problem(results, inputs, piece, grown.layout, kept=kept, spill_above=spill_above)
        edges = piece.child_ptr[piece.roots] - grown.tree.child_ptr[nodes]
        place = np.searchsorted(nodes, sampled[:, 0])
        sampled[:, 0], sampled[:, 1] = piece.roots[place], sampled[:, 1] + edges[place]
        is_held_out = np.ascontiguousarray(is_held_out[points])
    found = held_out_losses(problem, sampled, is_held_out, inputs.settings, inputs.seed, check_n_jobs(n_jobs))
    return found._asdict(), {}


def _join_losses(results: list[Any], places: Any) -> HeldOutLosses:
    """Return the losses in the order of the sample, so that their sums do not depend on the tasks."""
    order = np.argsort(places)
    found = HeldOutLosses(*(np.concatenate([result[name] for result in results]) for name in HeldOutLosses._fields))
    losses = found.losses.reshape(len(order), -1)
    return HeldOutLosses(losses[order], found.constants[order], found.positives[order])


def held_out_losses(
    native: _core.LinearProblem,
    groups: NDArray[np.int64],
    held_out: NDArray[np.uint8],
    settings: LinearSettings,
    seed: int,
    n_threads: int,
) -> HeldOutLosses:
    """Return the losses of some groups of children of a problem; each depends on its own group only."""
    tried = LOSSES[settings.loss].costs
    nodes, first_edges, n_edges, strides = np.ascontiguousarray(groups.T)
    found, constants, positives = native.validate(
        nodes=nodes,
        first_edges=first_edges,
        n_edges=n_edges,
        strides=strides,
        held_out=held_out,
        costs=np.array(tried, np.float32),
        settings=replace(settings, max_iter=min(settings.max_iter, PASSES)),
        seed=seed,
        n_threads=n_threads,
    )
    return HeldOutLosses(found.reshape(len(groups), len(tried)), constants, positives)


def choose_by_losses(samples: Sequence[CostSample], found: Sequence[HeldOutLosses], loss: str) -> CostChoice:
    """Choose C for each depth, by the summed losses of all samples; without a sample, C is 1."""
    tried = LOSSES[loss].costs
    if not samples:
        return CostChoice((1.0,), tried, [])
    chosen: list[float] = []
    relative: list[list[float]] = []
    for level in range(int(samples[0].level[-1]) + 1):
        here = samples[0].level == level
        totals = np.array([own.losses[here].sum(axis=0) for own in found])
        total, constant = totals.sum(axis=0), float(sum(own.constants[here].sum() for own in found))
        enough = sum(own.positives[here].sum() for own in found) >= MIN_POSITIVES and constant > 0
        errors = _errors(totals)
        if enough:
            chosen.append(nearest_to_one(total, constant, tried, errors=errors))
        else:
            chosen.append(chosen[-1] if chosen else 1.0)
        relative.append([round(float(value) / constant, 6) for value in total] if constant > 0 else [])
    factor = min(MAX_FACTOR, round(1 + FEW_POINTS / len(samples[0].held_out), 1))
    return CostChoice(tuple(float(f"{factor * cost:.2g}") for cost in chosen), tried, relative)


def _errors(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the standard errors of the summed differences to the best C, from losses by sample (n, n_tried)."""
    differences = totals - totals[:, [int(totals.sum(axis=0).argmin())]]
    n = len(totals)
    return np.sqrt(n) * differences.std(axis=0, ddof=1) if n > 1 else np.zeros(totals.shape[1])


def nearest_to_one(
    losses: NDArray[np.float64],
    constant: float,
    tried: tuple[float, ...],
    *,
    tolerance: float = TOLERANCE,
    errors: NDArray[np.float64] | None = None,
) -> float:
    """Return the C nearest to 1 (on a log scale) whose interpolated loss is close to the lowest.

    Around the lowest of `losses` the curve is a parabola in log C, elsewhere it is piecewise linear. Close means within
    the tolerance, or within the standard error of the difference to the lowest if `errors` are given: with few points,
    C stays near 1.

    Examples
    --------
    >>> nearest_to_one(np.array([60.0, 50.0, 50.5, 60.0]), 100.0, (0.1, 0.3, 1.0, 3.0))
    0.64
    >>> nearest_to_one(np.array([60.0, 50.0, 55.0, 80.0]), 100.0, (0.1, 0.3, 1.0, 3.0))
    0.44
    >>> nearest_to_one(np.array([60.0, 50.0, 55.0, 80.0]), 100.0, (0.1, 0.3, 1.0, 3.0), errors=np.full(4, 6.0))
    1.0
    """
    at = np.log(tried)
    between = [np.linspace(low, high, STEPS, endpoint=False) for low, high in itertools.pairwise(at)]
    grid = np.concatenate([*between, at[-1:]])
    curve = np.interp(grid, at, losses)
    lowest = int(losses.argmin())
    if 0 < lowest < len(at) - 1:
        near = slice(lowest - 1, lowest + 2)
        parabola = np.polynomial.Polynomial.fit(at[near], losses[near], 2)
        inside = slice(STEPS * (lowest - 1), STEPS * (lowest + 1) + 1)
        curve[inside] = parabola(grid[inside])
    allowed = np.full(len(grid), tolerance * max(constant - curve.min(), 0.0))
    if errors is not None:
        allowed = np.maximum(allowed, np.interp(grid, at, errors))
    limit = curve.min() + allowed
    close = grid[curve <= limit + 1e-9 * np.abs(limit)]
    return float(f"{np.exp(close[np.abs(close).argmin()]):.2g}")


def _sample_groups(
    nodes: NDArray[np.int64], tree: LabelTree, work: NDArray[np.int64], least: float, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return groups of children as rows (node, first edge, number of edges, stride): a share of the work of `nodes`.

    The work is at least `least`, if the nodes have that much. Neighbouring children are similar, so a group takes every
    n-th child of its node: each group represents the whole node.
    """
    n_edges = np.diff(tree.child_ptr)[nodes]
    n_groups = -(-n_edges // LANES)
    node = np.repeat(np.arange(len(nodes)), n_groups)
    place = np.arange(len(node)) - np.repeat(np.cumsum(n_groups) - n_groups, n_groups)
    size = (n_edges[node] - place + n_groups[node] - 1) // n_groups[node]
    order = rng.permutation(len(node))
    cost = (work[nodes[node]] * size)[order]
    wanted = min(max(SAMPLED * cost.sum(), least), MOST_WORK)
    so_far = np.cumsum(cost)
    n_least = min(MIN_GROUPS, max(int(np.searchsorted(so_far, LARGE_WORK)) + 1, ENOUGH_GROUPS))
    n_taken = max(int(np.searchsorted(so_far, wanted, side="right")), n_least)
    taken = np.sort(order[:n_taken])
    first = tree.child_ptr[nodes[node[taken]]] + place[taken]
    return np.stack([nodes[node[taken]], first, size[taken], n_groups[node[taken]]], axis=1).astype(np.int64)


def costs_of_nodes(tree: LabelTree, C: Any) -> NDArray[np.float32]:
    """Return C of every node as float32 (n_nodes,): one number for all, or numbers by depth.

    Examples
    --------
    >>> import labeltrees as lt
    >>> costs_of_nodes(lt.flat_tree(3), (0.3, 1.0))
    array([0.3], dtype=float32)
    """
    by_depth = np.atleast_1d(np.asarray(C, np.float32))
    return by_depth[np.minimum(tree.node_depth, len(by_depth) - 1)]
