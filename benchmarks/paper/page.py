"""From records to results: claims.json, the tables of curves, the generated section of docs/paper.md, the pictures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from benchmarks.paper import records
from benchmarks.paper.claims import (
    COMPARISONS,
    Finding,
    curve_claim,
    depth_claim,
    imbalance_claim,
    log_claim,
    small_tradeoff_claim,
    text_claim,
)
from benchmarks.paper.collect import Collected, collect
from benchmarks.paper.curve_tables import curve_tables
from benchmarks.paper.datasets import DEFAULT_SETS, LARGE, is_log
from benchmarks.paper.figure_texts import figure_texts
from benchmarks.paper.figures import available, draw_all
from benchmarks.paper.grid import READING
from benchmarks.paper.table import RULES, claims_table
from benchmarks.paper.verdicts import MIN_SEEDS
from benchmarks.scale.shapes import SHAPES

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
    parts = [claims_table(findings)]
    if old:
        parts.append(f"**Made before the trees or the search last changed:** {', '.join(old)}. Run the command again.")
    missing = unfinished(results.curves)
    if missing:
        names = ", ".join(f'"{name}"' if "," in name else name for name in missing)
        parts.append(
            f"**Not run here, or with fewer than {MIN_SEEDS} seeds:** {names}. "
            "`python -m benchmarks.paper --sets NAME` runs them. "
            "`python -m benchmarks.scale.shapes` measures time, memory, precision and depth on the synthetic shapes; "
            "its results are at the end of this page."
        )
    return "\n\n".join([*parts, RULES, "## The figures", figure_texts(findings, available(results))])


def with_section(text: str, generated: str) -> str:
    """Return a page with its generated part replaced."""
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        message = f"the page must have the lines {BEGIN!r} and {END!r}, once each and in this order"
        raise SystemExit(message)
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    return f"{before}{BEGIN}\n\n{generated}\n\n{END}{after}"
