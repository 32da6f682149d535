"""The paper's claim about fastText: its model with our trees instead of Huffman's.

    python -m benchmarks.paper.text_claim [--sets cooking debian-depends] [--seeds 0 1 2] [--tradeoffs ...]
        [--epochs 200]

Trains with the paper's settings (200 epochs, lr 0.5, dim 128, min_count 2, word_ngrams 2, one thread) on 90 % of the
training texts, for Huffman's tree and tradeoffs of the paper's grid. The rest is the validation split: it selects the
tradeoff, and the test split gives the figures. Several numbers of epochs show where precision levels off; trees are
compared at the number at which Huffman's tree has the highest P@1 on the validation split. The hits of each run are
kept in build/benchmark-cache, so that a run that was interrupted continues. Then all runs there are summarised as JSON
lines in benchmarks/results/paper/text.jsonl, where they replace those of the same datasets:

- one record per run and split: dataset, tree, tradeoff, seed, split, epochs, p1, p3, p5 (percent), depth1, depth3;
- one record with "kind": "comparison" per dataset and tradeoff: the difference from Huffman's tree on the test split,
  with 95 % intervals of a paired bootstrap over test points and seeds, and whether validation selected the tradeoff;
- one record with "kind": "not_run" per dataset for the runs of the default options that are missing.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import labeltrees as lt
from benchmarks.paper.datasets import load_git_texts
from benchmarks.paper.records import read as read_results
from benchmarks.shared_data import CACHE, data_folder, read_records

RUNS = CACHE / "text_claim"
RESULTS = Path(__file__).parents[1] / "results" / "paper" / "text.jsonl"
HUFFMAN = "huffman"
TRADEOFFS = [round(2 * t / (1 + t), 4) for t in (0.25, 0.75, 1, 2, 4)]
SETS, SEEDS, EPOCHS = ["cooking", "debian-depends"], [0, 1, 2], 200
VALIDATION_SHARE = 0.1
MEASURES = ("p1", "p3", "p5", "depth1", "depth3")
REPLICATES = 2000


def split_texts(name: str) -> dict[str, tuple[list[str], list[list[str]]]]:
    """Return the texts and labels of the splits train, validation and test; the same for every seed."""
    if name == "git-commits":
        (texts, labels), test = load_git_texts()
    else:
        (texts, labels), test = (read_records(data_folder(name) / f"{part}.jsonl.xz") for part in ("train", "test"))
    held_out = np.random.default_rng(0).random(len(texts)) < VALIDATION_SHARE
    splits = {}
    for split, rows in (("train", np.flatnonzero(~held_out)), ("validation", np.flatnonzero(held_out))):
        splits[split] = [texts[row] for row in rows], [labels[row] for row in rows]
    return splits | {"test": test}


def measure(model: Any, texts: list[str], labels: list[list[str]]) -> NDArray[np.float64]:
    """Return the MEASURES (N, 5) of every text."""
    names, _ = model.predict_topk(texts, 5)
    number = {name: label for label, name in enumerate(model.classes_)}
    ids = np.array([[number.get(name, -1) for name in row] for row in names])
    hits = np.array([[name in right for name in row] for row, right in zip(names, map(set, labels), strict=True)])
    depth = np.where(ids >= 0, model.tree_.label_depth[ids], 0)
    for k in (1, 3):
        assert np.isclose(depth[:, :k].max(axis=1).mean(), lt.metrics.expected_depth_at_k(model.tree_, ids, k))
    columns = [100 * hits[:, :k].mean(axis=1) for k in (1, 3, 5)] + [depth[:, :k].max(axis=1) for k in (1, 3)]
    return np.stack(columns, axis=1)


def run(name: str, tree: str | float, seed: int, epochs: int, splits: Any) -> None:
    """Train and measure one model, unless its figures are in the cache."""
    path = RUNS / f"{name}-{tree}-{seed}-{epochs}.npz"
    if path.exists():
        return
    given = {"tree": HUFFMAN} if tree == HUFFMAN else {"tradeoff": float(tree)}
    started = time.perf_counter()
    model = lt.TextLabelTreeClassifier(
        dim=128, lr=0.5, epochs=epochs, min_count=2, word_ngrams=2, random_state=seed, **given
    ).fit(*splits["train"])
    figures = {split: measure(model, *splits[split]) for split in ("validation", "test")}
    RUNS.mkdir(parents=True, exist_ok=True)
    np.savez(path.with_suffix(".part.npz"), **figures)
    path.with_suffix(".part.npz").replace(path)
    shown = ", ".join(f"{of:.2f}" for of in figures["test"].mean(axis=0))
    print(f"{name}, {tree}, seed {seed}, {epochs} epochs: {shown} ({time.perf_counter() - started:.0f} s)", flush=True)


def summarise() -> list[dict[str, Any]]:
    """Return the records of all runs in the cache."""
    runs: dict[str, dict[int, dict[str, dict[int, Any]]]] = {}
    for path in sorted(RUNS.glob("*.npz")):
        if path.name.endswith(".part.npz"):
            continue
        name, tree, seed, epochs = path.stem.rsplit("-", 3)
        runs.setdefault(name, {}).setdefault(int(epochs), {}).setdefault(tree, {})[int(seed)] = dict(np.load(path))
    records: list[dict[str, Any]] = []
    for name, numbers in runs.items():
        for n_epochs, trees in sorted(numbers.items()):
            for tree, seeds in trees.items():
                for seed, figures in sorted(seeds.items()):
                    for split, values in figures.items():
                        mean = dict(zip(MEASURES, np.round(values.mean(axis=0), 4).tolist(), strict=True))
                        records.append(
                            {"dataset": name, **_named(tree), "seed": seed, "split": split, "epochs": n_epochs, **mean}
                        )
        best = max(numbers, key=lambda n: _validation_p1(numbers[n].get(HUFFMAN, {})))
        records += compare(name, numbers[best], best)
    for name in SETS:
        wanted = [(str(tree), seed) for seed in SEEDS for tree in (HUFFMAN, *TRADEOFFS)]
        there = runs.get(name, {}).get(EPOCHS, {})
        missing = [f"{tree}, seed {seed}" for tree, seed in wanted if seed not in there.get(tree, {})]
        if missing:
            records.append({"kind": "not_run", "dataset": name, "epochs": EPOCHS, "runs": missing})
    return records


def _validation_p1(seeds: dict[int, Any]) -> float:
    return float(np.mean([figures["validation"][:, 0].mean() for figures in seeds.values()])) if seeds else 0.0


def compare(name: str, trees: dict[str, dict[int, Any]], epochs: int) -> list[dict[str, Any]]:
    """Return the differences of each tradeoff from Huffman's tree, over the seeds that both have."""
    huffman = trees.get(HUFFMAN, {})
    pairs = {tree: sorted(seeds.keys() & huffman.keys()) for tree, seeds in trees.items() if tree != HUFFMAN}
    pairs = {tree: seeds for tree, seeds in pairs.items() if seeds}
    common = (
        set.intersection(*map(set, pairs.values())) if pairs else set()
    )  # means over other seeds cannot be compared
    validation = {
        tree: np.mean([trees[tree][seed]["validation"][:, 0].mean() for seed in common]) for tree in pairs if common
    }
    selected = max(validation, key=lambda tree: validation[tree], default=None)
    records = []
    for tree, seeds in pairs.items():
        ours = np.stack([trees[tree][seed]["test"] for seed in seeds])
        theirs = np.stack([huffman[seed]["test"] for seed in seeds])
        low, high = paired_interval(ours - theirs)
        record: dict[str, Any] = {
            "kind": "comparison",
            "dataset": name,
            **_named(tree),
            "seeds": seeds,
            "split": "test",
        }
        record |= {"epochs": epochs, "selected_on_validation": tree == selected}
        for place, measure_name in enumerate(MEASURES):
            base, value = theirs[..., place].mean(), ours[..., place].mean()
            record[measure_name] = {
                "huffman": round(float(base), 4),
                "ours": round(float(value), 4),
                "difference": round(float(value - base), 4),
                "low": round(float(low[place]), 4),
                "high": round(float(high[place]), 4),
                "relative": round(float(value / base - 1), 4),
            }
        records.append(record)
    return records


def paired_interval(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the 95 % interval (2, n) of the mean of differences (seeds, points, n), resampling seeds and points."""
    rng = np.random.default_rng(0)
    n_seeds, n_points, _ = differences.shape
    means = []
    for _ in range(REPLICATES):
        of_seeds = differences[rng.integers(n_seeds, size=n_seeds)].mean(axis=0)
        means.append(np.bincount(rng.integers(n_points, size=n_points), minlength=n_points) @ of_seeds / n_points)
    return np.quantile(means, [0.025, 0.975], axis=0)


def _named(tree: str) -> dict[str, Any]:
    return {"tree": HUFFMAN, "tradeoff": None} if tree == HUFFMAN else {"tree": "tradeoff", "tradeoff": float(tree)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    parser.add_argument("--tradeoffs", nargs="*", type=float, default=TRADEOFFS)
    parser.add_argument("--epochs", nargs="+", type=int, default=[EPOCHS])
    options = parser.parse_args()
    for name in options.sets:
        splits = split_texts(name)
        for epochs in options.epochs:
            for seed in options.seeds:
                for tree in (HUFFMAN, *options.tradeoffs):
                    run(name, tree, seed, epochs, splits)
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    found = summarise()
    measured = {record["dataset"] for record in found if "kind" not in record}
    kept = [record for record in read_results(RESULTS) if record["dataset"] not in measured]
    found = [record for record in found if record["dataset"] in measured]
    RESULTS.write_text("".join(json.dumps(record) + "\n" for record in kept + found))


if __name__ == "__main__":
    main()
