"""From records to results: claims.json, the tables of curves, the generated section of docs/paper.md, the pictures."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import stats

from benchmarks.paper import records
from benchmarks.paper.claims import (
    COMPARISONS,
    DEPTH3_MARGIN,
    DEPTH_MARGIN,
    PRECISION_MARGIN,
    SERVED,
    Finding,
    curve_claim,
    depth_claim,
    difference_at,
    imbalance_claim,
    log_claim,
    small_tradeoff_claim,
    text_claim,
)
from benchmarks.paper.curves import MIN_SEEDS, Collected, Interval, collect
from benchmarks.paper.datasets import DEFAULT_SETS, LARGE, SPLIT_BY_SEED, is_log, is_per_node, parse_name
from benchmarks.paper.figures import available, draw_all
from benchmarks.paper.records import READING, TEST, Record
from benchmarks.scale.shapes import SHAPES

# claim: its words, the paper's number
CLAIMS = {
    "imbalance": ("Imbalance: the most frequent 1 % of the labels serve half of the points", "50 % on Wiki-500K"),
    "depth": (
        "1. Depth: expected depth@1 falls at the same P@1",
        "-28 % on Wiki-500K",
    ),
    "small tradeoffs": ("2. Small tradeoffs raise P@1 while depth@1 falls", '"marginally improve", no number'),
    "greedy cover": (
        "3. The greedy cover is worse than the marginal one: less P@3 or more depth@3 at equal depth@1",
        '"dramatically worse", no number',
    ),
    "direct path": (
        "4. The direct path is worse than the weighted one: less P@3 or more depth@3 at equal depth@1",
        '"worse performance", no number',
    ),
    "coincide": (
        "4. With the greedy cover, direct and weighted path nearly coincide in P@3 and depth@3 at equal depth@1",
        '"almost fully overlays", no number',
    ),
    "fastText": (
        "5. A tree of ours instead of Huffman's raises P@1 of fastText",
        "P@1 +40.6 % (relative) at depth +6.5 % on Wiki-500K",
    ),
    "logs, depth@1": (
        "6. Logs: depth@1 falls at the same P@1",
        "at least -10 %, -20 % on Amazon-10M",
    ),
    "logs, depth@3": ("6. Logs: depth@3 falls at the same P@3", '"to a lesser degree", no number'),
}

RULES = textwrap.fill(
    "A claim **holds** if the whole 95 % interval is on its side of the limit, **fails** if the whole interval is "
    "on the other side, and is **undecided** if the interval includes the limit. The limits were set before the "
    f"runs. Precision counts as kept if it falls by less than {PRECISION_MARGIN:g} points, and as lower if it "
    f"falls by more. Between two variants, {PRECISION_MARGIN:g} points of P@3 or {DEPTH3_MARGIN:g} % of depth@3 "
    "matter. Depth must fall by "
    f"at least {DEPTH_MARGIN:g} %, the smallest number in the paper; depth@3 on logs only has to fall. 1 % of the "
    f"labels must serve {SERVED:g} % of the points. Claims 2 and 5 only need a gain above 0. Tradeoffs are "
    "selected on a validation split of the training points, with the same margins. Intervals come from a paired "
    "bootstrap over test "
    f"points (in 100 random groups) and seeds; for the imbalance they are Wilson's. Fewer than {MIN_SEEDS} seeds "
    "leave a claim undecided. Depth counts the edge from a leaf node to its label. The paper does not say whether "
    "it does; 'without the last edge' is the other reading.",
    width=120,
)

READINGS = textwrap.fill(
    '"Applied recursively" can mean that f(tradeoff) and its smoothing are computed once, for all labels (root, our '
    'default), or in each node from its own labels (node, `lt.TreeBuilder(weights_of="node")`).',
    width=120,
)

_UNITS = {"%": " %", "points": "", "relative %": " %"}
_WITHOUT_EDGE = " without the edge to the label"


def claims_table(findings: list[Finding]) -> str:
    """Return one row per claim and dataset."""
    lines = ["| claim | the paper | dataset | ours (95 % interval) | seeds | verdict |", "|" + " --- |" * 6]
    for claim, (words, number) in CLAIMS.items():
        rows = [finding for finding in findings if finding.claim == claim]
        for place, finding in enumerate(rows):
            first = f"{words} | {number}" if place == 0 else " | "
            seeds = str(finding.n_seeds) if finding.n_seeds else "-"
            lines.append(f"| {first} | {finding.dataset} | {_cell(finding)} | {seeds} | **{finding.verdict}** |")
        if not rows:
            lines.append(f"| {words} | {number} | - | not run yet | 0 | **undecided** |")
    return "\n".join(lines)


def verdict_table(findings: list[Finding]) -> str:
    """Return one row per claim: the datasets by verdict, each with its first estimate."""
    lines = ["| claim | the paper | holds | fails | undecided |", "|" + " --- |" * 5]
    for claim, (words, number) in CLAIMS.items():
        cells = [
            ", ".join(
                _with_value(finding)
                for finding in findings
                if (finding.claim, finding.verdict) == (claim, verdict) and not is_per_node(finding.dataset)
            )
            for verdict in ("holds", "fails", "undecided")
        ]
        lines.append(f"| {words} | {number} | {' | '.join(cell or '-' for cell in cells)} |")
    return "\n".join(lines)


def readings_table(findings: list[Finding]) -> str:
    """Return claims 1 to 4 under both readings: weights of the root, and weights computed in each node."""
    sets = list(dict.fromkeys(parse_name(f.dataset).data for f in findings if is_per_node(f.dataset)))
    if not sets:
        return ""
    by_key = {(finding.claim, finding.dataset): finding for finding in findings}
    lines = [f"| claim | {' | '.join(sets)} |", "| --- |" + " --- |" * len(sets)]
    for claim in ("depth", "small tradeoffs", *COMPARISONS):
        cells = []
        for name in sets:
            pair = [by_key.get((claim, key)) for key in (name, f"{name}, weights per node")]
            cells.append("<br>".join(f"{how}: {_short(own)}" for how, own in zip(("root", "node"), pair, strict=True)))
        lines.append(f"| {CLAIMS[claim][0].split(':')[0]} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _short(finding: Finding | None) -> str:
    """Return the estimates that decide a finding, and its verdict."""
    if finding is None:
        return "not run"
    names = [name for name in finding.estimates if _WITHOUT_EDGE not in name]
    values = [describe(name, finding.estimates[name]).split(" (")[0] for name in names]
    return f"{', '.join(values).replace(' at equal depth@1', '') or '-'}: **{finding.verdict}**"


def leaves_sentence(runs: list[Record]) -> str:
    """Return which share of the leaves a search opens at tradeoff 0."""
    shares = {}
    for run in runs:
        if run["tradeoff"] == 0 and run["part"] == TEST and "leaves" in run and run["dataset"] not in SPLIT_BY_SEED:
            name = parse_name(run["dataset"])
            shares[f"{name.data} with {name.beam} paths"] = (run["leaves_opened"], run["leaves"])
    words = [f"{name} {opened:.1f} of {n:,} ({100 * opened / n:.2g} %)" for name, (opened, n) in shares.items()]
    return f"**Leaves that a search for 5 labels opens** at tradeoff 0: {'; '.join(words)}." if words else ""


def _cell(finding: Finding) -> str:
    parts = [describe(name, estimate) for name, estimate in finding.estimates.items()]
    return "; ".join([*parts, finding.note] if finding.note else parts)


def describe(name: str, estimate: Interval) -> str:
    """Return an estimate in words, such as "depth@1 -24.1 % (-26.0 to -22.3)"."""
    measure, _, unit = name.rpartition(", ")
    if measure == "points served":
        return f"{estimate.value:.1f} % ({estimate.low:.1f} to {estimate.high:.1f})"
    form = "+.2f" if unit == "points" else "+.1f"
    ends = f"({estimate.low:{form}} to {estimate.high:{form}})"
    value = f"{estimate.value:{form}}{_UNITS[unit]}"
    if measure.endswith(_WITHOUT_EDGE):
        return f"without the last edge {value} {ends}"
    if unit == "relative %":
        return f"relative {value} {ends}"
    return f"{measure} {value} {ends}"


class FigureText(NamedTuple):
    """The text of one figure."""

    title: str
    paper: str
    drawn: str


FIGURES = {
    1: FigureText(
        "Label frequency imbalance",
        "on Wiki-500K, the most frequent 1 % of the labels provide at least one label for 50 % of the points.",
        "one curve per dataset; thick bars are 95 % intervals at 1 % of the labels.",
    ),
    2: FigureText(
        "New operating points",
        "on Wiki-500K, tradeoffs between Parabel and Fano's code reduce the depth by 28 % at the same P@1.",
        "the same curve on one dataset; bars are 95 % intervals of the difference from tradeoff 0.",
    ),
    3: FigureText(
        "Parabel with our trees",
        "four curves that are close in P@1; in P@3 the greedy covers (orange, red) are much lower than the marginal "
        "ones (blue, green), red lies on orange, and the direct path is lower than the weighted one.",
        "the same four curves in the paper's colours; bars are 95 % intervals of the difference from tradeoff 0.",
    ),
    4: FigureText(
        "fastText with our trees",
        "on Wiki-500K, a tree between similarity and frequency has 40.6 % more P@1 than Huffman's at 6.5 % more depth.",
        "our trees and Huffman's tree; bars are 95 % intervals of the difference from Huffman's tree.",
    ),
    5: FigureText(
        "Logs",
        "on five logs of a shop, depth@1 falls by 10 to 20 % at the same P@1, and depth@3 by less at the same P@3.",
        "the log of an online shop with pairs of low engagement removed, all points alike and weighted by context "
        "frequency (training and metrics).",
    ),
    6: FigureText(
        "Imbalance for one, three and all labels",
        "on AmazonCat-13K far more labels are needed to serve three labels or all labels of a point than one.",
        "the same three curves for every dataset. In the second panel a point with fewer than three labels counts as "
        "served when all of its labels are covered.",
    ),
}


def figure_texts(available: list[int]) -> str:
    """Return all figures with their texts, in Markdown; those that are not available only have the paper's text."""
    parts = []
    for number, text in FIGURES.items():
        picture = f"![Figure {number}: {text.title}](pictures/paper-figure-{number}.svg)"
        parts.append(f"### Figure {number}. {text.title}")
        if number in available:
            parts += [picture, f"The paper: {text.paper} Ours: {text.drawn}"]
        else:
            parts += [f"The paper: {text.paper}", "Ours: its models have not been trained yet."]
    return "\n\n".join(parts)


def _with_value(finding: Finding) -> str:
    """Return the dataset with its first estimate."""
    name = finding.dataset.replace(", weighted", " (weighted)")
    if not finding.estimates:
        return name
    title, estimate = next(iter(finding.estimates.items()))
    return f"{name} ({describe(title, estimate).split(' (')[0]})"


def curve_tables(curves: dict[str, Collected], runs: list[Record], text: list[Record], scale: list[Record]) -> str:
    """Return all tables as Markdown."""
    parts = [
        "P@1 / P@3 in percent and expected depth@1 / depth@3 (with the edge from leaf node to label), means over seeds "
        "and test points."
    ]
    for name, found in curves.items():
        if found.test:
            parts += [_curve_table(name, found), _difference_table(found), _frequency_table(name, found, runs)]
    parts += [_epochs_table(text), _scale_table(scale)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _curve_table(name: str, found: Collected) -> str:
    first = next(iter(found.test.values()))
    n_seeds = len(first.seeds)
    lines = [f"## {name}", "", f"{n_seeds} seed{'s' if n_seeds > 1 else ''}", ""]
    lines += [f"| tradeoff | {' | '.join(found.test)} |", "| --- |" + " --- |" * len(found.test)]
    for tradeoff in first.tradeoffs:
        cells = []
        for curve in found.test.values():
            if tradeoff not in curve.tradeoffs:
                cells.append("-")
                continue
            p1, p3, depth1, depth3 = (curve.at(tradeoff, m)[0] for m in ("p1", "p3", "depth1", "depth3"))
            cells.append(f"{p1:.2f} / {p3:.2f}, {depth1:.2f} / {depth3:.2f}")
        lines.append(f"| {tradeoff:.4g} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _difference_table(found: Collected) -> str:
    """Return the differences between variants at each tradeoff, with 95 % intervals."""
    pairs = [(first, second) for first, second, _ in COMPARISONS.values() if {first, second} <= set(found.test)]
    if not pairs:
        return ""
    titles = " | ".join(f"{first} minus {second}: P@3, depth@3" for first, second in pairs)
    lines = [f"| tradeoff | {titles} |", "| --- |" + " --- |" * len(pairs)]
    for tradeoff in found.test[pairs[0][0]].tradeoffs[1:]:
        cells = []
        for first, second in pairs:
            p, d = difference_at(found.test[first], found.test[second], tradeoff)
            cells.append(
                f"{p.value:+.2f} ({p.low:+.2f} to {p.high:+.2f}), {d.value:+.1f} % ({d.low:+.1f} to {d.high:+.1f})"
            )
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


BEGIN, END = "<!-- made by python -m benchmarks.paper: begin -->", "<!-- made by python -m benchmarks.paper: end -->"


class Results(NamedTuple):
    """All records of a folder, and the curves made from them."""

    curves: dict[str, Collected]
    runs: list[records.Record]
    imbalance: list[records.Record]
    text: list[records.Record]
    scale: list[records.Record]


def read_results(folder: Path) -> Results:
    """Read the records of a folder; a missing file has none."""
    found = {name: records.read(folder / f"{name}.jsonl") for name in ("runs", "imbalance", "text", "scale")}
    records.check_consistent(found["runs"])
    return Results(collect(found["runs"]), **found)


def judge(results: Results) -> list[Finding]:
    """Return the findings of all claims, claim by claim."""
    findings = list(imbalance_claim(results.imbalance))
    sets = {name: found for name, found in results.curves.items() if not is_log(name)}
    findings += [found for name, curves in sets.items() if (found := depth_claim(name, curves))]
    findings += [found for name, curves in sets.items() if (found := small_tradeoff_claim(name, curves))]
    for claim in COMPARISONS:
        findings += [found for name, curves in sets.items() if (found := curve_claim(claim, name, curves))]
    findings += text_claim(results.text)
    for name, curves in results.curves.items():
        if is_log(name):
            findings += log_claim(name, curves)
    return findings


def publish(folder: Path, page: Path, pictures: Path) -> None:
    """Judge the claims, and write everything that follows from the records."""
    results = read_results(folder)
    findings = judge(results)
    (folder / "claims.json").write_text(json.dumps([found.to_json() for found in findings], indent=1) + "\n")
    (folder / "claims.md").write_text(f"# All verdicts\n\n{RULES}\n\n{claims_table(findings)}\n")
    (folder / "curves.md").write_text(curve_tables(results.curves, results.runs, results.text, results.scale))
    page.write_text(with_section(page.read_text(encoding="utf-8"), section(results, findings)), encoding="utf-8")
    pictures.mkdir(parents=True, exist_ok=True)
    draw_all(results, pictures)
    print(claims_table(findings))


def outdated(curves: dict[str, Collected]) -> list[str]:
    """Return the datasets whose runs were made before trees or search last changed."""
    return [name for name, found in curves.items() if found.test and found.reading != READING]


def unfinished(curves: dict[str, Collected]) -> list[str]:
    """Return the datasets of the full reproduction that have too few seeds or no runs; none for a quick run."""
    if any(name.startswith("quick") for name in curves):
        return []
    seeds = {name: len(found.test["marginal"].seeds) for name, found in curves.items() if "marginal" in found.test}
    return [name for name in (*DEFAULT_SETS, *LARGE, *SHAPES) if seeds.get(name, 0) < MIN_SEEDS]


def section(results: Results, findings: list[Finding]) -> str:
    """Return the generated part of the page: the table, how to read it, and the figures."""
    old = outdated(results.curves)
    parts = [verdict_table(findings)]
    if old:
        parts.append(f"**Made before the trees or the search last changed:** {', '.join(old)}. Run the command again.")
    missing = unfinished(results.curves)
    if missing:
        names = ", ".join(f'"{name}"' if "," in name else name for name in missing)
        parts.append(
            f"**Not run here, or with fewer than {MIN_SEEDS} seeds:** {names}. "
            "`python -m benchmarks.paper --sets NAME` runs them. "
            "`python -m benchmarks.scale.shapes` measures time, memory, precision and depth on the synthetic shapes."
        )
    leaves, readings = leaves_sentence(results.runs), readings_table(findings)
    parts += [leaves] if leaves else []
    parts += ["## Both readings", READINGS, readings] if readings else []
    return "\n\n".join([*parts, "## The figures", figure_texts(available(results))])


def with_section(text: str, generated: str) -> str:
    """Return a page with its generated part replaced."""
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        message = f"the page must have the lines {BEGIN!r} and {END!r}, once each and in this order"
        raise SystemExit(message)
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    return f"{before}{BEGIN}\n\n{generated}\n\n{END}{after}"
