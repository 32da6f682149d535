"""How good splits and whole trees are: two builds, or two ways to weight the labels, side by side.

    python -m benchmarks.split_quality --base PYTHON [--sets bundled delicious eurlex4k] [--seeds 3]
        [--model-seeds 3]
    python -m benchmarks.split_quality --readings [--sets ...] [--seeds 3] [--model-seeds 3]

With --base, PYTHON is another build (`benchmarks.compare_builds` explains it), and both split the same label sets:
those of 200 nodes of the base's tree. Then both build trees to leaves of 100 labels and fit models in the paper's
setting with search="best_first", which both builds have.

With --readings, label weights are computed once at the root or anew in each node (`weights_of`), in the paper's setting
(`LabelTreeClassifier.parabel`) and with default settings. The last row of each tradeoff is the difference, with 95 %
intervals of a paired bootstrap over test points and seeds.

Figures are means over seeds; times are processor time on one thread, best of the seeds.

- objectives: sum over all splits of a tree of the objective times the node's share of the weight.
- depth: expected depth under f and under the cover frequencies; similarity: mean cosine within nodes of 100 labels.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.builds.build import Build, source_of
from benchmarks.peers.worker import PeerWorker
from benchmarks.tables import print_head, slashed

SCRIPT = Path(__file__).parent / "builds" / "tree_quality.py"
TRADEOFFS = [0.0, 1.0, 1.333, 1.714]
READINGS_AT = [1.0, 1.714, 2.0]  # at 0 both are the same
PAPER = {"fanout": 2, "leaf_size": 100, "score_power": 2, "beam": 10}
REPLICATES = 2000
CLEARLY = 1e-3  # relative difference of two objectives


def means(answers: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the mean of each figure; of seconds the smallest."""
    return {
        name: np.min([a[name] for a in answers]) if name == "seconds" else np.mean([a[name] for a in answers], axis=0)
        for name in answers[0]
    }


def tree_cells(tree: dict[str, Any]) -> str:
    """Return the figures of a tree as cells of a table."""
    depth = slashed((tree["depth_f"], tree["depth_cover"]))
    return (
        f"{tree['objectives']:.3f} | {tree['height']:.1f} | {depth} | {tree['similarity']:.4f} | {tree['seconds']:.3f}"
    )


def precision_cell(models: list[dict[str, Any]]) -> str:
    """Return the precision of models as a cell of a table."""
    return slashed(means(models)["precision"]) if models else "-"


def depth_cell(models: list[dict[str, Any]]) -> str:
    """Return the expected depth@1 of models as a cell of a table."""
    return f"{means(models)['depth1']:.2f}" if models else "-"


def difference_cell(first: list[dict[str, Any]], second: list[dict[str, Any]]) -> str:
    """Return the precision of the second models minus that of the first, with intervals, as a cell of a table."""
    pairs = np.array([np.subtract(b["of_groups"], a["of_groups"]) for a, b in zip(first, second, strict=True)])
    rng = np.random.default_rng(0)
    n_seeds, n_groups, _ = pairs.shape
    drawn = [
        pairs[rng.integers(n_seeds, size=n_seeds)].mean(axis=0)[rng.integers(n_groups, size=n_groups)].mean(axis=0)
        for _ in range(REPLICATES)
    ]
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    middle = means(second)["precision"] - means(first)["precision"]
    cells = zip(middle, low, high, strict=True)
    return " / ".join(f"{value:+.2f} ({lowest:+.2f} to {highest:+.2f})" for value, lowest, highest in cells)


def compare_builds(name: str, builds: dict[str, Build], options: argparse.Namespace) -> None:
    """Print the tables of one dataset for two builds."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        workers = {
            title: stack.enter_context(
                PeerWorker(SCRIPT, source_of(name), python=build.python, environment=build.environment)
            )
            for title, build in builds.items()
        }
        for tradeoff in options.tradeoffs or TRADEOFFS:
            saved = str(folder / "tree.npz")
            workers["base"].ask(do="tree", tradeoff=tradeoff, seed=99, settings={}, save=saved)
            base, new = (
                np.array(worker.ask(do="splits", tradeoff=tradeoff, saved=saved)["objectives"])
                for worker in workers.values()
            )
            change = new / base - 1
            splits = f"{change.mean():+.3%} | {np.mean(change > CLEARLY):.0%} / {np.mean(change < -CLEARLY):.0%}"
            for title, worker in workers.items():
                trees = [
                    worker.ask(do="tree", tradeoff=tradeoff, seed=seed, settings={}) for seed in range(options.seeds)
                ]
                models = [
                    worker.ask(
                        do="model",
                        settings={**PAPER, "search": "best_first", "tradeoff": tradeoff, "random_state": seed},
                    )
                    for seed in range(options.model_seeds)
                ]
                print(
                    f"| {name} | {tradeoff:g} | {title} | {splits if title == 'new' else '|'} "
                    f"| {tree_cells(means(trees))} | {precision_cell(models)} |",
                    flush=True,
                )


def compare_readings(name: str, build: Build, options: argparse.Namespace) -> None:
    """Print the table of one dataset for the two places where weights can be computed."""
    with PeerWorker(SCRIPT, source_of(name), python=build.python, environment=build.environment) as worker:
        for tradeoff in options.tradeoffs or READINGS_AT:
            models: dict[tuple[str, int], list[dict[str, Any]]] = {}
            for weights_of in ("root", "node"):
                reading = {"weights_of": weights_of}
                trees = [
                    worker.ask(do="tree", tradeoff=tradeoff, seed=seed, settings=reading)
                    for seed in range(options.seeds)
                ]
                cells = []
                for place, settings in enumerate(({**PAPER, "search": "paths"}, {})):
                    models[weights_of, place] = found = [
                        worker.ask(
                            do="model", settings={**settings, **reading, "tradeoff": tradeoff, "random_state": seed}
                        )
                        for seed in range(options.model_seeds)
                    ]
                    cells.append(f"{precision_cell(found)} | {depth_cell(found)}")
                print(
                    f"| {name} | {tradeoff:g} | {weights_of} | {tree_cells(means(trees))} | {' | '.join(cells)} |",
                    flush=True,
                )
            if options.model_seeds:
                changes = [difference_cell(models["root", place], models["node", place]) for place in (0, 1)]
                print(
                    f"| {name} | {tradeoff:g} | node - root | | | | | | {changes[0]} | | {changes[1]} | |", flush=True
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", metavar="PYTHON", help="the build to compare with")
    parser.add_argument("--readings", action="store_true", help="compare weights of the root and of each node")
    parser.add_argument("--sets", nargs="+", default=["bundled", "delicious", "eurlex4k"])
    parser.add_argument("--tradeoffs", type=float, nargs="+")
    parser.add_argument("--seeds", type=int, default=3, help="of trees")
    parser.add_argument("--model-seeds", type=int, default=3, help="of models, which take most of the time")
    options = parser.parse_args()
    if (options.base is None) != options.readings:
        parser.error("give either --base or --readings")
    tree_head = "objectives | height | depth f / cover | similarity | building, s"
    if options.readings:
        print_head(
            f"data | tradeoff | weights of | {tree_head} | paper: P@1 / 3 / 5 | depth@1 | default: P@1 / 3 / 5 | @1"
        )
        for name in options.sets:
            compare_readings(name, Build.of(None), options)
    else:
        print_head(f"data | tradeoff | build | same sets: mean | better / worse by 0.1 % | {tree_head} | P@1 / 3 / 5")
        for name in options.sets:
            compare_builds(
                name,
                {"base": Build.of(options.base), "new": Build.of(None)},
                options,
            )


if __name__ == "__main__":
    main()
