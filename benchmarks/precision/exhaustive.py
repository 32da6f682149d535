"""`choose` with 20 times the time of a plain fit, against every combination of the changes that it can make.

Every combination is trained on all training points and measured on the test set; those with fewer changes come first.
The best of many combinations is high by luck. So its precision is also measured fairly: the best on one half of the
test points, measured on the other half, and the reverse. On raw texts, the combinations are those of features, stems,
number of trees and evidence, a plain fit includes making the features, and `EXPERT` is the combination that a careful
person would try.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import Any
from unittest import mock

import numpy as np
from scipy import stats

import labeltrees as lt
from benchmarks.precision.contestants import BUDGET
from benchmarks.precision.datasets import SHARE, Data
from benchmarks.precision.records import KS, folder_of, hits_of, keep_record, read_record
from benchmarks.tables import print_head, slashed
from labeltrees.tuning.budget import TimeBudget
from labeltrees.tuning.candidates import configured, features_of
from labeltrees.tuning.changes import Candidate, make_changes, name_of
from labeltrees.tuning.choose import check_tuned
from labeltrees.tuning.data import TuningData, as_tuning_data, split_data
from labeltrees.tuning.limits import Limits
from labeltrees.tuning.trial import with_features

CHOSEN = "choose for P@1"
REPEATS = 3  # plain fits; the median counts
KINDS_OF_TEXTS = ("features", "stem", "n_trees", "evidence")
EXPERT = "features words+pairs+chars + stem english + n_trees 3 + evidence auto"


def combinations(data: Data) -> dict[str, Candidate]:
    """Return every combination of the changes of `choose` by name; those with fewer changes first."""
    own, limits = lt.LabelTreeClassifier(n_jobs=1), Limits(None, None, "p1", max(KS))
    points = split_data(as_tuning_data(data.train, "train", own), SHARE, own, 0).train
    tuned = check_tuned("all", own, has_texts=data.train.texts is not None)
    changes = make_changes(own, limits, tuned, points, with_trees=True)
    kinds = dict.fromkeys(change.kind for change in changes)
    if data.train.texts is not None:
        kinds = dict.fromkeys(kind for kind in KINDS_OF_TEXTS if kind in kinds)
    options = [[(), *((change,) for change in changes if change.kind == kind)] for kind in kinds]
    found = [sum(parts, ()) for parts in itertools.product(*options)]
    found = [own for own in found if not any(a.excludes(b) for a, b in itertools.combinations(own, 2))]
    return {name_of(own): own for own in sorted(found, key=len)}


def measure_all(data: Data, seconds: float | None) -> None:
    """Train and measure the combinations that were not measured yet, and no further one after this many seconds."""
    started = time.monotonic()
    points = lru_cache(4)(partial(_points, data))
    every = combinations(data)
    first = [name for name in (name_of(()), EXPERT) if name in every]
    for name in dict.fromkeys([*first, *every]):
        if seconds is not None and time.monotonic() - started > seconds:
            return
        if read_record(data, _place(name)) is None:
            parameters = {key: value for change in every[name] for key, value in change.parameters.items()}
            train, queries = points(*features_of(parameters))
            begun = time.process_time()
            model = configured(lt.LabelTreeClassifier(n_jobs=1), parameters).fit(train.points, train.Y)
            took = time.process_time() - begun
            _keep(data, _place(name), model, queries, {"seconds": took})


def _points(data: Data, features: str, stem: str | None) -> tuple[TuningData, Any]:
    """Return the training points with a kind of features, and the features of the test points."""
    parts = [as_tuning_data(own, "train", lt.LabelTreeClassifier()) for own in (data.train, data.test)]
    train, test = with_features(features, stem, 1, *parts)
    return train, test.points


@contextmanager
def processor_clock() -> Iterator[None]:
    """Let `choose` count the processor time of this process, so that other work on the machine does not matter."""
    budget = partial(TimeBudget, clock=time.process_time)
    with (
        mock.patch("labeltrees.tuning.choose.TimeBudget", budget),
        mock.patch("time.perf_counter", time.process_time),
    ):
        yield


def measure_choice(data: Data) -> None:
    """Run `choose` with its budget in processor time, and measure its model."""
    times, own, texts = [], lt.LabelTreeClassifier(n_jobs=1), data.train.texts
    for _ in range(REPEATS):
        started = time.process_time()
        X = data.train.X
        if texts is not None:
            X = lt.TfidfVectorizer(**{**data.train.vectorizer.get_params(), "n_jobs": 1}).fit_transform(texts.tolist())
        own.fit(X, data.train.Y)
        times.append(time.process_time() - started)
    budget = BUDGET * float(np.median(times))
    started = time.process_time()
    with processor_clock():
        choice = lt.choose(data.train, time_budget=budget, validation=SHARE, estimator=own)
    seconds = time.process_time() - started
    facts = {"explanation": choice.explanation, "budget": budget, "seconds": seconds, "settings": choice.parameters}
    queries = data.test.X if texts is None else choice.model.vectorizer_.transform(data.test.texts.tolist())
    _keep(data, CHOSEN, choice.model, queries, facts)


def _keep(data: Data, place: str, model: Any, queries: Any, facts: dict[str, Any]) -> None:
    started = time.process_time()
    labels, _ = model.predict_topk(queries, max(KS), n_jobs=1)
    us = (time.process_time() - started) / data.test.n_points * 1e6
    if model.label_names_ is not None:
        number = {name: label for label, name in enumerate(data.train.label_names.tolist())} | {None: -1}
        labels = np.array([[number[name] for name in row] for row in labels.tolist()])
    keep_record(data, place, labels, {**facts, "us": us})


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
        **({"expert": ({k: hits[k][names.index(EXPERT)] for k in KS}, EXPERT)} if EXPERT in names else {}),
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
