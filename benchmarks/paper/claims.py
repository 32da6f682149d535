"""The paper's claims, each judged on each dataset from the records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.paper import verdicts
from benchmarks.paper.collect import Collected
from benchmarks.paper.intervals import Curve, Interval, at_equal_depth, interval
from benchmarks.paper.records import Record
from benchmarks.paper.served import top_percent
from benchmarks.paper.verdicts import DEPTH_MARGIN, PRECISION_MARGIN, SERVED

SMALL_TRADEOFFS = (0.0, 1.0)  # "small": above 0, up to weighted 2-means


@dataclass(frozen=True)
class Finding:
    """A claim on one dataset: named estimates with intervals, and the verdict that follows from them."""

    claim: str
    dataset: str
    n_seeds: int
    estimates: dict[str, Interval]
    verdict: str
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the finding for claims.json."""
        rounded = {name: [round(v, 4) for v in values] for name, values in self.estimates.items()}
        return asdict(self) | {"estimates": rounded}


def imbalance_claim(records: list[Record]) -> Iterator[Finding]:
    """Judge "1 % of the labels serve half of the points"."""
    for record in records:
        share = top_percent(record)
        verdict = verdicts.above(share, SERVED)
        note = f"{-(-record['n_labels'] // 100):,} of {record['n_labels']:,} labels"
        yield Finding("imbalance", record["dataset"], 0, {"points served, %": share}, verdict, note)


def depth_claim(name: str, found: Collected, k: int = 1) -> Finding | None:
    """Judge "expected depth falls at kept precision"; the tradeoff is selected on the validation split."""
    test, validation = found.test.get("marginal"), found.validation
    if test is None or validation is None:
        return None
    tradeoff = least_depth(validation, f"p{k}", f"depth{k}")
    if tradeoff not in test.tradeoffs:
        return None
    claim = "depth" if k == 1 else "depth@3"
    if tradeoff == 0:
        return _no_tradeoff(claim, name, test, k)
    return _kept_precision(claim, name, test, tradeoff, k)


def _no_tradeoff(claim: str, name: str, curve: Curve, k: int) -> Finding:
    """Judge the claim where validation selected tradeoff 0: it fails only if it fails at every other tradeoff."""
    others = [_kept_precision(claim, name, curve, tradeoff, k) for tradeoff in curve.tradeoffs if tradeoff > 0]
    fails = all(other.verdict == verdicts.FAILS for other in others)
    verdict = verdicts.FAILS if fails else verdicts.UNDECIDED
    if fails:
        words = "on test points every other tradeoff loses precision or too little depth"
    else:
        words = "on test points another tradeoff may keep precision"
    return Finding(claim, name, len(curve.seeds), {}, verdict, f"validation selected tradeoff 0; {words}")


def _kept_precision(claim: str, name: str, curve: Curve, tradeoff: float, k: int) -> Finding:
    change = depth_change(curve, tradeoff, f"depth{k}")
    inner = depth_change(curve, tradeoff, f"depth{k}", leaf_edge=False)
    precision = interval(curve.at(tradeoff, f"p{k}") - curve.at(0.0, f"p{k}"))
    verdict = verdicts.all_of(
        [verdicts.below(change, -DEPTH_MARGIN if k == 1 else 0), verdicts.above(precision, -PRECISION_MARGIN)]
    )
    estimates = {
        f"depth@{k}, %": change,
        f"depth@{k} without the edge to the label, %": inner,
        f"P@{k}, points": precision,
    }
    verdict = verdicts.enough_seeds(verdict, len(curve.seeds))
    return Finding(claim, name, len(curve.seeds), estimates, verdict, f"tradeoff {tradeoff:.4g}")


def least_depth(validation: Curve, precision: str, depth: str) -> float:
    """Return the tradeoff of least depth whose validation precision is not below that of tradeoff 0."""
    precisions, depths = validation.values[precision][0], validation.values[depth][0]
    allowed = [i for i in range(len(depths)) if precisions[i] >= precisions[0]]
    return validation.tradeoffs[min(allowed, key=lambda i: depths[i])]


def depth_change(curve: Curve, tradeoff: float, depth: str, leaf_edge: bool = True) -> Interval:
    """Return the change of the depth from tradeoff 0 in percent, counting the edge from leaf node to label or not."""
    edge = 0 if leaf_edge else 1
    return interval(100 * ((curve.at(tradeoff, depth) - edge) / (curve.at(0.0, depth) - edge) - 1))


def small_tradeoff_claim(name: str, found: Collected) -> Finding | None:
    """Judge "a small tradeoff raises P@1 and reduces depth@1"; it is selected on the validation split."""
    test, validation = found.test.get("marginal"), found.validation
    if test is None or validation is None:
        return None
    low, high = SMALL_TRADEOFFS
    small = [t for t in validation.tradeoffs if low < t <= high and t in test.tradeoffs]
    if not small:
        return None
    best = max(small, key=lambda t: validation.interval(t, "p1").value)
    precision = interval(test.at(best, "p1") - test.at(0.0, "p1"))
    change = depth_change(test, best, "depth1")
    verdict = verdicts.all_of([verdicts.above(precision, 0), verdicts.below(change, 0)])
    verdict = verdicts.enough_seeds(verdict, len(test.seeds))
    estimates = {"P@1, points": precision, "depth@1, %": change}
    return Finding("small tradeoffs", name, len(test.seeds), estimates, verdict, f"tradeoff {best:.4g}")


def curve_claim(claim: str, name: str, found: Collected) -> Finding | None:
    """Judge a comparison of two curves at equal depth: P@3 at equal depth@3, and for the cover at equal depth@1 too."""
    first, second, depths, min_tradeoff = COMPARISONS[claim]
    curves = [found.test.get(variant) for variant in (first, second)]
    if curves[0] is None or curves[1] is None:
        return None
    estimates = {}
    for depth in depths:
        result = at_equal_depth(curves[0], curves[1], "p3", depth, min_tradeoff)
        if result is not None:
            estimates[f"P@3 at equal {depth.replace('depth', 'depth@')}, points"] = result.difference
    n_seeds = len(curves[0].seeds)
    if len(estimates) < len(depths):
        return Finding(claim, name, n_seeds, estimates, verdicts.UNDECIDED, "the curves share too few depths")
    if claim == "coincide":
        verdict = verdicts.all_of(verdicts.within(each, PRECISION_MARGIN) for each in estimates.values())
    else:
        verdict = verdicts.all_of(verdicts.below(each, -PRECISION_MARGIN) for each in estimates.values())
    return Finding(claim, name, n_seeds, estimates, verdicts.enough_seeds(verdict, n_seeds))


_ABOVE_0 = 0.01  # all curves share tradeoff 0, so it says nothing about their difference
# claim: first and second curve, depths to compare at, least tradeoff (covers differ above 1 only)
COMPARISONS = {
    "greedy cover": ("greedy", "marginal", ("depth3", "depth1"), 1.0),
    "direct path": ("direct", "marginal", ("depth3",), _ABOVE_0),
    "coincide": ("direct, greedy", "greedy", ("depth3",), _ABOVE_0),
}


def text_claim(records: list[Record]) -> Iterator[Finding]:
    """Judge "our tree raises P@1 of fastText over Huffman's"; the tradeoff is selected on the validation split."""
    for record in records:
        if record.get("kind") == "comparison" and record["selected_on_validation"]:
            precision, depth = record["p1"], record["depth1"]
            difference = Interval(precision["difference"], precision["low"], precision["high"])
            scale = 100 / depth["huffman"]
            change = Interval(scale * depth["difference"], scale * depth["low"], scale * depth["high"])
            relative = Interval(*(100 * v / precision["huffman"] for v in difference))
            estimates = {"P@1, points": difference, "P@1, relative %": relative, "depth@1, %": change}
            note = f"tradeoff {record['tradeoff']:.4g}, {record['epochs']} epochs"
            n_seeds = len(record["seeds"])
            verdict = verdicts.enough_seeds(verdicts.above(difference, 0), n_seeds)
            yield Finding("fastText", record["dataset"], n_seeds, estimates, verdict, note)


def log_claim(name: str, found: Collected) -> Iterator[Finding]:
    """Judge "on logs, depth@1 falls by at least 10 % at kept P@1, and depth@3 falls at kept P@3"."""
    for k in (1, 3):
        finding = depth_claim(name, found, k)
        if finding is not None:
            yield Finding(f"logs, depth@{k}", name, finding.n_seeds, finding.estimates, finding.verdict, finding.note)
