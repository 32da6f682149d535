"""The table of claims in Markdown."""

from __future__ import annotations

import textwrap

from benchmarks.paper.claims import Finding
from benchmarks.paper.intervals import Interval
from benchmarks.paper.verdicts import DEPTH_MARGIN, MIN_SEEDS, PRECISION_MARGIN, SERVED

# claim: its words, the paper's number
CLAIMS = {
    "imbalance": ("Imbalance: the most frequent 1 % of the labels serve half of the points", "50 % on Wiki-500K"),
    "depth": (
        "1. Depth: expected depth@1 falls at the same P@1",
        "-28 % on Wiki-500K",
    ),
    "small tradeoffs": ("2. Small tradeoffs raise P@1 while depth@1 falls", '"marginally improve", no number'),
    "greedy cover": (
        "3. The greedy cover has a lower P@3 than the marginal one, at equal depth@3 and at equal depth@1",
        '"dramatically worse", no number',
    ),
    "direct path": (
        "4. The direct path has a lower P@3 than the weighted one, at equal depth@3",
        '"worse performance", no number',
    ),
    "coincide": (
        "4. With the greedy cover, direct and weighted path nearly coincide, in P@3 at equal depth@3",
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
    f"falls by more. Curves coincide if they differ by less than {PRECISION_MARGIN:g} points. Depth must fall by "
    f"at least {DEPTH_MARGIN:g} %, the smallest number in the paper; depth@3 on logs only has to fall. 1 % of the "
    f"labels must serve {SERVED:g} % of the points. Claims 2 and 5 only need a gain above 0. Tradeoffs are "
    "selected on a validation split of the training points. Intervals come from a paired bootstrap over test "
    f"points (in 100 random groups) and seeds; for the imbalance they are Wilson's. Fewer than {MIN_SEEDS} seeds "
    "leave a claim undecided. Depth counts the edge from a leaf node to its label. The paper does not say whether "
    "it does; 'without the last edge' is the other reading.",
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
