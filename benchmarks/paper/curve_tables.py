"""Tables of all curves, of head, torso and tail labels, and of the datasets."""

from __future__ import annotations

import numpy as np
from scipy import stats

from benchmarks.paper.claims import small_tradeoff_claim
from benchmarks.paper.collect import Collected
from benchmarks.paper.grid import TEST
from benchmarks.paper.records import Record


def curve_tables(curves: dict[str, Collected], runs: list[Record], text: list[Record], scale: list[Record]) -> str:
    """Return all tables as Markdown."""
    parts = [
        "P@1 / P@3 in percent and expected depth@1 / depth@3 (with the edge from leaf node to label), means over seeds "
        "and test points."
    ]
    for name, found in curves.items():
        if found.test:
            parts += [_curve_table(name, found), _frequency_table(name, found, runs)]
    parts += [_epochs_table(text), _scale_table(scale)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _curve_table(name: str, found: Collected) -> str:
    first = next(iter(found.test.values()))
    n_seeds = len(first.seeds)
    lines = [f"## {name}", "", f"{n_seeds} seed{'s' if n_seeds > 1 else ''}", ""]
    lines += [f"| tradeoff | {' | '.join(found.test)} |", "| --- |" + " --- |" * len(found.test)]
    for column, tradeoff in enumerate(first.tradeoffs):
        cells = []
        for curve in found.test.values():
            p1, p3, depth1, depth3 = (curve.values[m][0, column] for m in ("p1", "p3", "depth1", "depth3"))
            cells.append(f"{p1:.2f} / {p3:.2f}, {depth1:.2f} / {depth3:.2f}")
        lines.append(f"| {tradeoff:.4g} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _frequency_table(name: str, found: Collected, runs: list[Record]) -> str:
    """Return recall at 5 of head, torso and tail labels, at tradeoff 0 and at the small tradeoff of claim 2."""
    finding = small_tradeoff_claim(name, found)
    if finding is None:
        return ""
    tradeoff = float(finding.note.removeprefix("tradeoff "))
    seeds = found.test["marginal"].seeds
    recalls = {}
    for wanted in (0.0, tradeoff):
        for run in (run for run in runs if run["reading"] == found.reading):
            paper = (run["cover"], run["path"]) == ("marginal", "weighted")
            if run["dataset"] == name and run["part"] == TEST and paper and abs(run["tradeoff"] - wanted) < 5e-4:
                recalls[wanted, run["seed"]] = run["recall5"]
    lines = [f"| recall@5 of | labels | tradeoff 0 | tradeoff {tradeoff:.4g} | difference |", "|" + " --- |" * 5]
    for group, (_, n_labels) in recalls[0.0, seeds[0]].items():
        values = np.array([[recalls[t, seed][group][0] for t in (0.0, tradeoff)] for seed in seeds])
        before, after = values.mean(axis=0)
        change = _spread(values[:, 1] - values[:, 0])
        lines.append(f"| {group} | {n_labels:,} | {before:.2f} | {after:.2f} | {change} |")
    return "\n".join([*lines, "", "± is half of the 95 % interval over seeds."])


def _spread(differences: np.ndarray) -> str:
    mean = differences.mean()
    if len(differences) < 2:
        return f"{mean:+.2f}"
    return f"{mean:+.2f} ± {stats.t.ppf(0.975, len(differences) - 1) * stats.sem(differences):.2f}"


def _epochs_table(text: list[Record]) -> str:
    """Return P@1 of the text model by epochs, for the sets that were trained with several numbers of them."""
    found: dict[tuple[str, str, int], list[float]] = {}
    for record in text:
        if record.get("split") == TEST and "seed" in record:
            tree = "Huffman's tree" if record["tradeoff"] is None else f"tradeoff {record['tradeoff']:.4g}"
            found.setdefault((record["dataset"], tree, record["epochs"]), []).append(record["p1"])
    lines = ["## The text model, by epochs", "", "| dataset | tree | epochs | P@1 | seeds |", "|" + " --- |" * 5]
    for (name, tree, epochs), values in sorted(found.items()):
        if len({e for n, _, e in found if n == name}) > 1:
            lines.append(f"| {name} | {tree} | {epochs} | {np.mean(values):.2f} | {len(values)} |")
    return "\n".join(lines) if len(lines) > 4 else ""


def _scale_table(scale: list[Record]) -> str:
    """Return the runs of benchmarks.scale.shapes."""
    if not scale:
        return ""
    head = "shape | points | features | labels | labels per point | tradeoff | P@1 / P@3 | depth@1 / depth@3 | seconds"
    lines = ["## Synthetic data shaped like the paper's logs", "", f"| {head} | peak GiB |", "|" + " --- |" * 10]
    for row in scale:
        cells = [row["dataset"], *(f"{row[key]:,}" for key in ("points", "features", "labels"))]
        cells += [f"{row['labels_per_point']:.2f}", f"{row['tradeoff']:.4g}", f"{row['p1']:.2f} / {row['p3']:.2f}"]
        cells += [f"{row['depth1']:.2f} / {row['depth3']:.2f}", f"{row['seconds']:.0f}", f"{row['peak_gib']:.1f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
