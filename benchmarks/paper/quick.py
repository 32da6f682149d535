"""A small reproduction that touches every step, from bundled and made data only: so that it cannot rot unnoticed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import labeltrees as lt
from benchmarks.paper import records
from benchmarks.paper.claims import record_imbalance
from benchmarks.paper.page import BEGIN, END, publish
from benchmarks.paper.train import missing_runs, point_values, train_missing
from benchmarks.scale import shapes

SETS = ["quick debian", "quick log", "quick log, weighted"]
TRADEOFFS = [0.0, 1.0, 1.818, 2.0]
SEEDS = 2
TEXT_TRADEOFFS = (1.0, 1.333333)


def quick(folder: Path, n_jobs: int) -> None:
    """Train few small models, judge every claim and draw every figure, into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    record_imbalance(folder / "imbalance.jsonl", SETS[:2])
    train_missing(folder / "runs.jsonl", missing_runs(folder / "runs.jsonl", SETS, range(SEEDS), TRADEOFFS), n_jobs)
    if not (folder / "text.jsonl").exists():
        records.write(folder / "text.jsonl", text_records())
    if not (folder / "scale.jsonl").exists():
        records.write(folder / "scale.jsonl", [shapes.measure("amazon-1m-shape", t, 0.002, n_jobs) for t in (0.0, 2.0)])
    page = folder / "paper.md"
    if not page.exists():
        page.write_text(f"# The paper's claims, quick run\n\n{BEGIN}\n{END}\n", encoding="utf-8")
    publish(folder, page, folder / "pictures")


def text_records(epochs: int = 3) -> list[records.Record]:
    """Return records like those of `benchmarks.paper.text_claim`, from the bundled texts and very few epochs."""
    train, test = lt.datasets.load_debian()
    texts, Y = list(train.texts)[::8], train.Y[::8]
    values: dict[str, Any] = {}
    for tree in ("huffman", *TEXT_TRADEOFFS):
        given = {"tree": tree} if tree == "huffman" else {"tradeoff": tree}
        model = lt.TextLabelTreeClassifier(epochs=epochs, dim=16, buckets=10_000, n_jobs=1, **given).fit(texts, Y)
        labels, _ = model.predict_topk(list(test.texts), 1)
        measured = point_values(test.Y, labels, model.tree_.label_depth, model.tree_.height)
        values[str(tree)] = np.stack([100 * measured["hits1"], measured["depth1"]])
    best = max(TEXT_TRADEOFFS, key=lambda t: values[str(t)][0].mean())
    return [_comparison(tradeoff, values, tradeoff == best, epochs) for tradeoff in TEXT_TRADEOFFS]


def _comparison(tradeoff: float, values: dict[str, Any], selected: bool, epochs: int) -> records.Record:
    record = {"kind": "comparison", "dataset": "quick debian", "tree": "tradeoff", "tradeoff": tradeoff, "seeds": [0]}
    record |= {"split": "test", "epochs": epochs, "selected_on_validation": selected}
    for place, name in enumerate(("p1", "depth1")):
        base, ours = values["huffman"][place], values[str(tradeoff)][place]
        difference = float((ours - base).mean())
        half = 1.96 * float((ours - base).std()) / np.sqrt(len(base))
        record[name] = {"huffman": float(base.mean()), "ours": float(ours.mean()), "difference": difference}
        record[name] |= {"low": difference - half, "high": difference + half, "relative": difference / base.mean()}
    return record
