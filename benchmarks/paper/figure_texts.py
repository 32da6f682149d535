"""The figures on the page: each with what the paper's figure showed and what ours shows."""

from __future__ import annotations

from typing import NamedTuple

from benchmarks.paper.claims import Finding
from benchmarks.paper.table import describe


class FigureText(NamedTuple):
    """The text of one figure."""

    title: str
    paper: str
    drawn: str
    claims: dict[str, str]  # claim: what holds or fails, as the start of a sentence


FIGURES = {
    1: FigureText(
        "Label frequency imbalance",
        "on Wiki-500K, the most frequent 1 % of the labels provide at least one label for 50 % of the points.",
        "one curve per dataset; thick bars are 95 % intervals at 1 % of the labels.",
        {"imbalance": "That 1 % of the labels serve half of the points"},
    ),
    2: FigureText(
        "New operating points",
        "on Wiki-500K, tradeoffs between Parabel and Fano's code reduce the depth by 28 % at the same P@1.",
        "the same curve on one dataset; bars are 95 % intervals of the difference from tradeoff 0.",
        {"depth": "That depth falls at the same P@1"},
    ),
    3: FigureText(
        "Parabel with our trees",
        "four curves that are close in P@1; in P@3 the greedy covers (orange, red) are much lower than the marginal "
        "ones (blue, green), red lies on orange, and the direct path is lower than the weighted one.",
        "the same four curves in the paper's colours; bars are 95 % intervals of the difference from tradeoff 0.",
        {
            "greedy cover": "That the greedy cover is worse at equal depth",
            "direct path": "That the direct path is worse at equal depth",
            "coincide": "That direct and weighted path coincide with the greedy cover",
        },
    ),
    4: FigureText(
        "fastText with our trees",
        "on Wiki-500K, a tree between similarity and frequency has 40.6 % more P@1 than Huffman's at 6.5 % more depth.",
        "our trees and Huffman's tree; bars are 95 % intervals of the difference from Huffman's tree.",
        {"fastText": "That a tree of ours raises P@1"},
    ),
    5: FigureText(
        "Logs",
        "on five logs of a shop, depth@1 falls by 10 to 20 % at the same P@1, and depth@3 by less at the same P@3.",
        "the log of an online shop with pairs of low engagement removed, all points alike and weighted by context "
        "frequency (training and metrics).",
        {
            "logs, depth@1": "That depth@1 falls at the same P@1",
            "logs, depth@3": "That depth@3 falls at the same P@3",
        },
    ),
    6: FigureText(
        "Imbalance for one, three and all labels",
        "on AmazonCat-13K far more labels are needed to serve three labels or all labels of a point than one.",
        "the same three curves for every dataset. In the second panel a point with fewer than three labels counts as "
        "served when all of its labels are covered.",
        {},
    ),
}


def figure_texts(findings: list[Finding], available: list[int]) -> str:
    """Return all figures with their texts, in Markdown; those that are not available only have the paper's text."""
    parts = []
    for number, text in FIGURES.items():
        ours = [f"Ours: {text.drawn}", *(_sentence(words, claim, findings) for claim, words in text.claims.items())]
        picture = f"![Figure {number}: {text.title}](pictures/paper-figure-{number}.svg)"
        parts.append(f"### Figure {number}. {text.title}")
        if number in available:
            parts += [picture, f"The paper: {text.paper}", " ".join(ours)]
        else:
            parts += [f"The paper: {text.paper}", "Ours: its models have not been trained yet."]
    return "\n\n".join(parts)


def _sentence(words: str, claim: str, findings: list[Finding]) -> str:
    """Return one sentence: where the claim holds, fails and is undecided."""
    rows = [finding for finding in findings if finding.claim == claim]
    parts = []
    for verdict, verb in (("holds", "holds on"), ("fails", "fails on"), ("undecided", "is undecided on")):
        names = [_with_value(finding) for finding in rows if finding.verdict == verdict]
        if names:
            parts.append(f"{verb} {', '.join(names)}")
    return f"{words} {'; it '.join(parts) if parts else 'has not been run yet'}."


def _with_value(finding: Finding) -> str:
    """Return the dataset with its first estimate."""
    name = finding.dataset.replace(", weighted", " (weighted)")
    if not finding.estimates:
        return name
    title, estimate = next(iter(finding.estimates.items()))
    return f"{name} ({describe(title, estimate).split(' (')[0]})"
