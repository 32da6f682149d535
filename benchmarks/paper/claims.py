"""The paper's claims, judged on each dataset: holds, fails or undecided, by intervals and margins set beforehand."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any

from benchmarks.paper import records
from benchmarks.paper.curves import LEVEL, MIN_SEEDS, Collected, Curve, Interval, at_equal_depth, interval
from benchmarks.paper.datasets import load_set
from benchmarks.paper.records import READING, Record
from benchmarks.shared_data import data_folder, read_records
from labeltrees.labels import imbalance

HOLDS, FAILS, UNDECIDED = "holds", "fails", "undecided"

PRECISION_MARGIN = 0.5  # points of precision that are too few to matter
DEPTH_MARGIN = 10.0  # percent: "by at least 10 %" is the smallest fall of the depth that the paper reports
DEPTH3_MARGIN = 5.0  # percent of depth@3 between two variants that are too few to matter
SERVED = 50.0  # percent of the points that 1 % of the labels serve in the paper's figure 1


def above(estimate: Interval, limit: float) -> str:
    """Judge "the value is above the limit"."""
    if estimate.low > limit:
        return HOLDS
    return FAILS if estimate.high < limit else UNDECIDED


def below(estimate: Interval, limit: float) -> str:
    """Judge "the value is below the limit"."""
    return above(Interval(-estimate.value, -estimate.high, -estimate.low), -limit)


def within(estimate: Interval, margin: float) -> str:
    """Judge "the value is zero, give or take the margin"."""
    if -margin < estimate.low and estimate.high < margin:
        return HOLDS
    return FAILS if estimate.low > margin or estimate.high < -margin else UNDECIDED


def enough_seeds(verdict: str, n_seeds: int) -> str:
    """Return the verdict, or "undecided" if it rests on too few seeds."""
    return verdict if n_seeds >= MIN_SEEDS else UNDECIDED


def any_of(verdicts: Iterable[str]) -> str:
    """Judge a claim with alternatives: it holds if one holds, and fails if all fail."""
    opposite = {HOLDS: FAILS, FAILS: HOLDS, UNDECIDED: UNDECIDED}
    return opposite[all_of(opposite[verdict] for verdict in verdicts)]


def all_of(verdicts: Iterable[str]) -> str:
    """Judge a claim with several parts: it fails if one fails, and holds if all hold."""
    found = set(verdicts)
    if FAILS in found:
        return FAILS
    return UNDECIDED if UNDECIDED in found else HOLDS


def record_imbalance(path: Path, sets: Iterable[str]) -> None:
    """Write one record per set, unless it is there."""
    found = {record["dataset"]: record for record in records.read(path) if record["reading"] == READING}
    for name in sets:
        if name not in found:
            result = imbalance(_training_labels(name))
            found[name] = {
                "dataset": name,
                "reading": READING,
                "n_labels": result.n_labels,
                "n_points": result.n_points,
                "top_percent": result.top_percent,
                "table": [{key: round(value, 6) for key, value in row.items()} for row in result.table()],
            }
    records.write(path, found.values())


def _training_labels(name: str) -> object:
    if name == "cooking":  # texts only; its features are not needed
        from sklearn.preprocessing import MultiLabelBinarizer

        _, labels = read_records(data_folder(name) / "train.jsonl.xz")
        return MultiLabelBinarizer(sparse_output=True).fit_transform(labels)
    return load_set(name)[0].Y


def top_percent(record: records.Record) -> Interval:
    """Return the share of the points, in percent, that 1 % of the labels serve, with Wilson's interval over points."""
    share, n = record["top_percent"], record["n_points"]
    z = NormalDist().inv_cdf((1 + LEVEL) / 2)
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return Interval(100 * share, 100 * (centre - half), 100 * (centre + half))


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
        verdict = above(share, SERVED)
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
    fails = all(other.verdict == FAILS for other in others)
    verdict = FAILS if fails else UNDECIDED
    if fails:
        words = "on test points every other tradeoff loses precision or too little depth"
    else:
        words = "on test points another tradeoff may keep precision"
    return Finding(claim, name, len(curve.seeds), {}, verdict, f"validation selected tradeoff 0; {words}")


def _kept_precision(claim: str, name: str, curve: Curve, tradeoff: float, k: int) -> Finding:
    change = depth_change(curve, tradeoff, f"depth{k}")
    inner = depth_change(curve, tradeoff, f"depth{k}", leaf_edge=False)
    precision = interval(curve.at(tradeoff, f"p{k}") - curve.at(0.0, f"p{k}"))
    verdict = all_of([below(change, -DEPTH_MARGIN if k == 1 else 0), above(precision, -PRECISION_MARGIN)])
    estimates = {
        f"depth@{k}, %": change,
        f"depth@{k} without the edge to the label, %": inner,
        f"P@{k}, points": precision,
    }
    verdict = enough_seeds(verdict, len(curve.seeds))
    return Finding(claim, name, len(curve.seeds), estimates, verdict, f"tradeoff {tradeoff:.4g}")


def least_depth(validation: Curve, precision: str, depth: str) -> float:
    """Return the tradeoff of least depth that keeps the validation precision of tradeoff 0, within the margin."""
    precisions, depths = validation.values[precision][0], validation.values[depth][0]
    allowed = [i for i in range(len(depths)) if precisions[i] >= precisions[0] - PRECISION_MARGIN]
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
    verdict = all_of([above(precision, 0), below(change, 0)])
    verdict = enough_seeds(verdict, len(test.seeds))
    estimates = {"P@1, points": precision, "depth@1, %": change}
    return Finding("small tradeoffs", name, len(test.seeds), estimates, verdict, f"tradeoff {best:.4g}")


def curve_claim(claim: str, name: str, found: Collected) -> Finding | None:
    """Judge a comparison of two curves by P@3 and depth@3 at equal depth@1.

    A variant is worse if it loses P@3 or needs more depth@3, beyond the margin. The note has both at the last tradeoff.
    """
    first, second, min_tradeoff = COMPARISONS[claim]
    ours, theirs = (found.test.get(variant) for variant in (first, second))
    if ours is None or theirs is None:
        return None
    shared = [tradeoff for tradeoff in ours.tradeoffs if tradeoff in theirs.tradeoffs]
    ours, theirs = ours.only(shared), theirs.only(shared)
    n_seeds, last = len(ours.seeds), ours.tradeoffs[-1]
    results = [at_equal_depth(ours, theirs, measure, min_tradeoff) for measure in ("p3", "depth3")]
    at_last = difference_at(ours, theirs, last)
    note = f"at tradeoff {last:.4g} P@3 {at_last[0].value:+.2f}, depth@3 {at_last[1].value:+.1f} %"
    if results[0] is None or results[1] is None:
        return Finding(claim, name, n_seeds, {}, UNDECIDED, f"the curves share too few depths; {note}")
    precision, depth = (result.difference for result in results if result is not None)
    if claim == "coincide":
        verdict = all_of([within(precision, PRECISION_MARGIN), within(depth, DEPTH3_MARGIN)])
    else:
        verdict = any_of([below(precision, -PRECISION_MARGIN), above(depth, DEPTH3_MARGIN)])
    estimates = {"P@3 at equal depth@1, points": precision, "depth@3 at equal depth@1, %": depth}
    return Finding(claim, name, n_seeds, estimates, enough_seeds(verdict, n_seeds), note)


def difference_at(first: Curve, second: Curve, tradeoff: float) -> tuple[Interval, Interval]:
    """Return P@3 of `first` minus that of `second` in points, and depth@3 in percent, at one tradeoff."""
    precision = first.at(tradeoff, "p3") - second.at(tradeoff, "p3")
    return interval(precision), interval(100 * (first.at(tradeoff, "depth3") / second.at(tradeoff, "depth3") - 1))


_ABOVE_0 = 0.01  # all curves share tradeoff 0, so it says nothing about their difference
# claim: first and second curve, least tradeoff (covers differ above 1 only)
COMPARISONS = {
    "greedy cover": ("greedy", "marginal", 1.0),
    "direct path": ("direct", "marginal", _ABOVE_0),
    "coincide": ("direct, greedy", "greedy", _ABOVE_0),
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
            verdict = enough_seeds(above(difference, 0), n_seeds)
            yield Finding("fastText", record["dataset"], n_seeds, estimates, verdict, note)


def log_claim(name: str, found: Collected) -> Iterator[Finding]:
    """Judge "on logs, depth@1 falls by at least 10 % at kept P@1, and depth@3 falls at kept P@3"."""
    for k in (1, 3):
        finding = depth_claim(name, found, k)
        if finding is not None:
            yield Finding(f"logs, depth@{k}", name, finding.n_seeds, finding.estimates, finding.verdict, finding.note)
