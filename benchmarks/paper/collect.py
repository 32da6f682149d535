"""From records to curves: which seeds and tradeoffs of a dataset are complete."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.paper.grid import READING, TEST, VALIDATION, VARIANTS, Run, same_model
from benchmarks.paper.intervals import Curve, make_curve
from benchmarks.paper.records import Record
from benchmarks.paper.train import key_of


@dataclass(frozen=True)
class Collected:
    """The curves of a dataset, all with the same seeds and tradeoffs."""

    test: dict[str, Curve]
    validation: Curve | None
    reading: int = READING


def collect(records: list[Record]) -> dict[str, Collected]:
    """Return the curves of every dataset in the records, each from its newest reading that has a complete curve."""
    collected: dict[str, Collected] = {}
    for reading in sorted({record["reading"] for record in records}):
        by_run = {key_of(record): record for record in records if record["reading"] == reading}
        for name in dict.fromkeys(run.dataset for run in by_run):
            found = _of_dataset(name, by_run, reading)
            if found.test or name not in collected:
                collected[name] = found
    order = list(dict.fromkeys(record["dataset"] for record in records))
    return {name: collected[name] for name in order}


def _of_dataset(name: str, by_run: dict[Run, Record], reading: int) -> Collected:
    mine = [run for run in by_run if run.dataset == name]
    tested = [run for run in mine if run.part == TEST]
    used = {(run.cover, run.path) for run in tested}
    variants = [variant for variant, pair in VARIANTS.items() if pair in used]
    test_needs = [(TEST, variant) for variant in variants]
    tradeoffs, seeds = largest_block(_complete(name, by_run, test_needs))
    test = {variant: _curve(name, by_run, TEST, variant, tradeoffs, seeds) for variant in variants if tradeoffs}
    tradeoffs, seeds = largest_block(_complete(name, by_run, [(VALIDATION, "marginal")]))
    validation = _curve(name, by_run, VALIDATION, "marginal", tradeoffs, seeds) if tradeoffs else None
    return Collected(test, validation, reading)


def _complete(name: str, by_run: dict[Run, Record], needs: list[tuple[str, str]]) -> dict[int, set[float]]:
    """Return for each seed the tradeoffs whose runs are all there."""
    found: dict[int, set[float]] = {}
    mine = {(run.tradeoff, run.seed) for run in by_run if run.dataset == name}
    for tradeoff, seed in mine:
        wanted = [_key(name, part, variant, tradeoff, seed) for part, variant in needs]
        if all(run in by_run for run in wanted):
            found.setdefault(seed, set()).add(tradeoff)
    return found


def largest_block(complete: dict[int, set[float]]) -> tuple[list[float], list[int]]:
    """Return tradeoffs and seeds such that every seed has every tradeoff, and as many runs as possible are used.

    A reproduction that was interrupted has some seeds with fewer tradeoffs. Tradeoff 0 must be there: it is the
    baseline.
    """
    best: tuple[list[float], list[int]] = ([], [])
    for wanted in complete.values():
        if 0.0 in wanted and len(wanted) > 1:
            seeds = sorted(seed for seed, found in complete.items() if wanted <= found)
            if (len(seeds) * len(wanted), len(seeds)) > (len(best[0]) * len(best[1]), len(best[1])):
                best = sorted(wanted), seeds
    return best


def _curve(
    name: str, by_run: dict[Run, Record], part: str, variant: str, tradeoffs: list[float], seeds: list[int]
) -> Curve:
    rows = [[by_run[_key(name, part, variant, t, seed)] for t in tradeoffs] for seed in seeds]
    return make_curve(rows, tradeoffs, seeds)


def _key(name: str, part: str, variant: str, tradeoff: float, seed: int) -> Run:
    return same_model(Run(name, part, *VARIANTS[variant], tradeoff, seed))
