"""C="auto" on parts: the losses of sampled classifiers on held-out points, computed by tasks.

The sample and the choice are those of a fit in memory (`auto_cost.py`); only the points of sampled nodes are read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from labeltrees._matrices import Int64s
from labeltrees._validation import check_n_jobs
from labeltrees.models.linear.auto_cost import CostSample, HeldOutLosses, held_out_losses
from labeltrees.models.linear.in_parts.bundles import NodeSizes, target_cost
from labeltrees.models.linear.in_parts.training import cut_subtrees, piece_problem
from labeltrees.models.linear.in_parts.trees import read_tree
from labeltrees.models.linear.settings import LinearSettings
from labeltrees.tasks import Outcome, Results, Task
from labeltrees.tree.label_tree import LabelTree


def validate_groups(
    results: Results,
    *,
    data: str,
    routes: list[str],
    tree: str,
    label_cost: str | None,
    n_labels: int,
    scale: bool,
    settings: dict[str, Any],
    seed: int,
    held_out: str,
    groups: list[list[int]],
    spill_above: int | None = None,
    n_jobs: int | None = None,
) -> Outcome:
    """Return the losses of groups of children (rows of `CostSample.groups`), none of whose nodes are nested."""
    whole, layout = read_tree(results[tree], n_labels)
    sampled = np.array(groups, np.int64)
    nodes = np.unique(sampled[:, 0])
    piece = cut_subtrees(whole, layout, nodes.tolist())
    problem = piece_problem(results, data, routes, piece, layout, label_cost, scale=scale, spill_above=spill_above)
    is_held_out = results[held_out]["held_out"]
    local = sampled.copy()
    local[:, 0] = piece.roots[np.searchsorted(nodes, sampled[:, 0])]
    local[:, 1] += piece.child_ptr[local[:, 0]] - whole.child_ptr[sampled[:, 0]]
    found = held_out_losses(
        problem.native,
        local,
        np.ascontiguousarray(is_held_out[problem.points]),
        LinearSettings(**settings),
        seed,
        check_n_jobs(n_jobs),
    )
    return {"losses": found.losses, "constants": found.constants, "positives": found.positives}, {}


@dataclass(frozen=True, eq=False)
class Validation:
    """The tasks for a sample, and the places of their groups in it."""

    tasks: list[Task]
    places: Int64s

    def losses(self, results: Results) -> HeldOutLosses:
        """Return the losses in the order of the sample, so that they are summed as in a fit in memory."""
        found = [results[task.name] for task in self.tasks]
        order = np.argsort(self.places)
        constants, positives, losses = (
            np.concatenate([result[name] for result in found]) for name in ("constants", "positives", "losses")
        )
        return HeldOutLosses(losses.reshape(len(order), -1)[order], constants[order], positives[order])


def plan_validation(
    sample: CostSample,
    n_tried: int,
    tree: LabelTree,
    node_start: Int64s,
    sizes: NodeSizes,
    bytes_of: Callable[[int], int],
    max_bytes: int,
    make_task: Callable[[list[list[int]]], Task],
) -> Validation:
    """Cut a sample into tasks by cost and memory. A task's nodes have one depth, so that none contains another.

    Each group is trained at `n_tried` values of C.
    """
    nodes = sample.groups[:, 0]
    depth = tree.node_depth[nodes]
    places = np.lexsort((node_start[nodes], depth))  # stable: groups of a node stay in order
    cost = sizes.values[nodes].astype(np.float64) * sample.groups[:, 2] * n_tried
    target = target_cost(float(cost.sum()))
    cuts: list[list[int]] = []
    spent, n_bytes, last = 0.0, 0, -1
    for place in places.tolist():
        own_bytes = 0 if nodes[place] == nodes[last] and cuts else bytes_of(int(nodes[place]))
        is_full = spent + cost[place] > target or n_bytes + own_bytes > max_bytes
        if not cuts or is_full or depth[place] != depth[last]:
            cuts.append([])
            spent, n_bytes, own_bytes = 0.0, 0, bytes_of(int(nodes[place]))
        cuts[-1].append(place)
        spent, n_bytes, last = spent + cost[place], n_bytes + own_bytes, place
    return Validation([make_task(sample.groups[cut].tolist()) for cut in cuts], places)
