"""`choose` with 20 times the time of a plain fit, against every combination of the changes that it can make.

Every combination is trained on all training points and measured on the test set; those with fewer changes come first.
The best of many combinations is high by luck. So its precision is also measured fairly: the best on one half of the
test points, measured on the other half, and the reverse.
"""

from __future__ import annotations

import itertools
import time
from typing import Any

import numpy as np
from scipy import stats

import labeltrees as lt
from benchmarks.precision.contestants import BUDGET
from benchmarks.precision.datasets import SHARE, Data
from benchmarks.precision.records import KS, folder_of, hits_of, keep_record, read_record
from benchmarks.tables import print_head, slashed
from labeltrees.tuning.choose import check_tuned, make_changes
from labeltrees.tuning.data import as_tuning_data, split_data
from labeltrees.tuning.limits import Limits
from labeltrees.tuning.search import Candidate, name_of

CHOSEN = "choose for P@1"
REPEATS = 3  # plain fits; the median counts


def combinations(data: Data) -> dict[str, Candidate]:
    """Return every combination of the changes of `choose` by name; those with fewer changes first."""
    own, limits = lt.LabelTreeClassifier(n_jobs=1), Limits(None, None, "p1", max(KS))
    points = split_data(as_tuning_data(data.train, "train", own), SHARE, own, 0).train
    changes = make_changes(own, limits, check_tuned("all", own), points, with_trees=True)
    kinds = dict.fromkeys(change.kind for change in changes)
    options = [[(), *((change,) for change in changes if change.kind == kind)] for kind in kinds]
    found = [sum(parts, ()) for parts in itertools.product(*options)]
    found = [own for own in found if not any(a.excludes(b) for a, b in itertools.combinations(own, 2))]
    return {name_of(own): own for own in sorted(found, key=len)}


def measure_all(data: Data, seconds: float | None) -> None:
    """Train and measure the combinations that were not measured yet, and no further one after this many seconds."""
    started = time.monotonic()
    for name, candidate in combinations(data).items():
        if seconds is not None and time.monotonic() - started > seconds:
            return
        if read_record(data, _place(name)) is None:
            parameters = {key: value for change in candidate for key, value in change.parameters.items()}
            begun = time.process_time()
            model = lt.LabelTreeClassifier(n_jobs=1, **parameters).fit(data.train.X, data.train.Y)
            _keep(data, _place(name), model, {"seconds": time.process_time() - begun})


def measure_choice(data: Data) -> None:
    """Run `choose` with its budget, and measure its model."""
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        lt.LabelTreeClassifier(n_jobs=1).fit(data.train.X, data.train.Y)
        times.append(time.perf_counter() - started)
    budget = BUDGET * float(np.median(times))
    started = time.perf_counter()
    choice = lt.choose(data.train, time_budget=budget, validation=SHARE, estimator=lt.LabelTreeClassifier(n_jobs=1))
    seconds = time.perf_counter() - started
    facts = {"explanation": choice.explanation, "budget": budget, "seconds": seconds, "settings": choice.parameters}
    _keep(data, CHOSEN, choice.model, facts)


def _keep(data: Data, place: str, model: Any, facts: dict[str, Any]) -> None:
    labels, _ = model.predict_topk(data.test.X, max(KS), n_jobs=1)
    keep_record(data, place, labels, facts)


def _place(name: str) -> str:
    return f"combinations/{name}"


def report(data: Data) -> None:
    """Print default, choice and best combination, with paired differences to the choice."""
    every = combinations(data)
    names = [name for name in every if folder_of(data, _place(name)).exists()]
    hits = {k: np.array([hits_of(data, _place(name), k) for name in names]) for k in KS}
    best = int(hits[1].mean(axis=1).argmax())
    half = np.random.default_rng(0).random(data.test.n_points) < 0.5
    fair = {k: np.empty(len(half)) for k in KS}
    for rows in (half, ~half):
        there = int(hits[1][:, ~rows].mean(axis=1).argmax())
        for k in KS:
            fair[k][rows] = hits[k][there][rows]
    chosen = {k: hits_of(data, CHOSEN, k) for k in KS}
    record = read_record(data, CHOSEN)
    assert record is not None
    print(
        f"\n## {data.name}: {data.train.n_points:,} points, {data.test.n_points:,} test points; "
        f"{len(names)} of {len(every)} combinations\n"
    )
    print_head("model | P@1 / 3 / 5 | choose minus it: P@1 / 3 / 5 | settings")
    settings = ", ".join(f"{name} {value}" for name, value in record["settings"].items())
    rows_of = {
        "default": ({k: hits[k][0] for k in KS}, "-"),
        "choose": (chosen, settings),
        "best combination, measured on the other half": (fair, "best on each half"),
        "best combination on the test set": ({k: hits[k][best] for k in KS}, names[best]),
    }
    for name, (own, what) in rows_of.items():
        differences = " / ".join(_difference(chosen[k] - own[k]) for k in KS) if own is not chosen else "-"
        print(f"| {name} | {slashed([100 * own[k].mean() for k in KS])} | {differences} | {what} |")
    used = record["seconds"] / record["budget"]
    print(f"\nBudget {record['budget']:.1f} s, used {100 * used:.0f} %. {record['explanation']}")


def _difference(values: Any) -> str:
    half = stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)
    return f"{100 * values.mean():+.2f} ± {100 * half:.2f}"
