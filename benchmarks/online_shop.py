"""The online shop: our model against simple recommenders, PECOS, omikuji and implicit.

    python -m benchmarks.online_shop [--splits time random] [--seeds 3] [--jobs 1] [--without omikuji]

A point is an invoice of a customer who has bought before; its features are the articles of all earlier invoices, with
log(1 + quantity), its labels the articles of this invoice. "time": trained on the invoices before 2011-11-15, tested
on the later ones. "random": tested on a tenth of the customers. Every method is tuned for P@5 on points of the
training set: the last 21 days ("time"), or a tenth of the customers ("random"). Ours is tuned by `lt.choose`, the
others stage by stage with the settings below. Then it is trained on all training points, with several seeds: the seed
of a tree alone moves P@1 by one or two points. PECOS and omikuji get rows of length 1, the others the rows as they are.
A second run continues an interrupted one with what is in build/online-shop.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

import labeltrees as lt
from benchmarks.finished_results import FinishedResults
from benchmarks.peers.environment import ROOT, peers_python
from benchmarks.peers.worker import PeerWorker
from benchmarks.resampling import interval, precision_of_points, resampled
from benchmarks.shared_data import data_folder, write_for_contestants
from benchmarks.tables import print_head
from examples.online_shop import TUNED, prepare
from labeltrees.logs import PreparedLogs

FOLDER = Path(__file__).parent / "contestants"
FINISHED = ROOT / "build" / "online-shop"
VALIDATION_DAYS, RANDOM_SHARE, BLOCK = 21, 0.1, 50
KS = (1, 3, 5)
METRIC = "p5"  # that settings are chosen by
CHOSEN = "label tree, chosen"
Settings = dict[str, Any]


@dataclass
class Method:
    """A method with its grid: stages of settings, each compared with the best settings of the stages before.

    `fixed` holds in all stages, `answer` are settings of the search, and `final` is added after the last stage.
    """

    name: str
    script: str
    stages: list[dict[str, list[Any]]]
    fixed: Settings = field(default_factory=dict)
    answer: Settings = field(default_factory=dict)
    final: Settings = field(default_factory=dict)

    @property
    def is_implicit(self) -> bool:
        """Whether it takes the rows as they are, and runs in its own environment."""
        return self.script == "implicit_models.py"

    @property
    def has_seed(self) -> bool:
        """Whether its result depends on a seed; omikuji's cannot be set, and neighbours have none."""
        return self.name in ("PECOS", "implicit, ALS")

    @property
    def python(self) -> str:
        """The Python that runs it."""
        return peers_python("implicit" if self.is_implicit else "peers")


C = [0.03, 0.1, 0.3, 1.0]
METHODS = [
    Method(
        "PECOS",  # 20 settings; `choose` compares 13 of ours
        "pecos_xlinear.py",
        [
            {"C": [0.03, 0.1, 0.2, 0.3], "nr_splits": [2, 16, 64, 256]},
            {"C": [0.5]},
            {"loss": ["logistic"], "C": [0.3, 1.0, 3.0]},
        ],
        {"nr_splits": 16, "loss": "hinge"},
        {"beam_size": 20},
    ),
    Method(
        "omikuji",
        "omikuji_models.py",
        [{"linear_c": C}],
        {},
        {"beam_size": 20},
        {"n_trees": 3},  # its default; settings are compared with one tree, in a third of the time
    ),
    Method(
        "implicit, ALS",
        "implicit_models.py",
        [
            {"rows": ["all", "purchase"], "alpha": [1.0, 10.0]},
            {"regularization": [1.0, 10.0, 30.0]},
            {"factors": [64, 256]},
        ],
        {"model": "als", "factors": 128, "regularization": 0.1},
    ),
    Method(
        "implicit, item-based",
        "implicit_models.py",
        [{"model": ["cosine", "tfidf", "bm25"], "rows": ["all", "purchase"], "K": [20, 100, 500]}],
    ),
]
PECOS_LOSSES = {"hinge": ("L2R_L2LOSS_SVC_DUAL", "l3-hinge"), "logistic": ("L2R_LR_DUAL", "sigmoid")}


class Contest:
    """Trains methods on one pair of training and test points."""

    def __init__(self, train: lt.Dataset, test: lt.Dataset, folder: Path, jobs: int) -> None:
        self.train, self.test, self.folder, self.jobs = train, test, folder, jobs
        for name, scale in (("raw", lambda X: X), ("unit", normalize)):
            (folder / name).mkdir()
            pair = (lt.Dataset(scale(part.X), part.Y) for part in (train, test))
            write_for_contestants(*pair, folder / name)
            np.save(folder / name / "feature_label.npy", feature_labels(train))

    @contextmanager
    def worker(self, method: Method) -> Iterator[PeerWorker]:
        """Start the process of a method."""
        data = self.folder / ("raw" if method.is_implicit else "unit")
        environment = os.environ | {"OMP_NUM_THREADS": str(self.jobs), "OPENBLAS_NUM_THREADS": "1"}
        script = FOLDER / method.script
        with PeerWorker(script, data, self.folder, python=method.python, environment=environment) as worker:
            yield worker

    def answer(self, worker: PeerWorker, method: Method, settings: Settings, seed: int = 0) -> NDArray[np.int64]:
        """Train with settings and return the best labels of the test points."""
        wanted, search = dict(settings), dict(method.answer)
        if method.name == "PECOS":
            wanted["solver_type"], search["post_processor"] = PECOS_LOSSES[wanted.pop("loss")]
        worker.ask(do="train", name="model", settings=wanted, seed=seed, threads=self.jobs)
        out = self.folder / "labels.npy"
        worker.ask(do="batch", name="model", k=max(KS), settings=search, out=str(out), repeats=1)
        labels: NDArray[np.int64] = np.load(out)
        return labels


def feature_labels(dataset: lt.Dataset) -> NDArray[np.int64]:
    """Return the label with the name of each feature, -1 if there is none."""
    assert dataset.label_names is not None
    assert dataset.feature_names is not None
    label = {name: number for number, name in enumerate(dataset.label_names.tolist())}
    return np.array([label.get(name, -1) for name in dataset.feature_names.tolist()])


def validation_split(train: lt.Dataset, split: str) -> tuple[lt.Dataset, lt.Dataset]:
    """Return training points to fit and to measure settings: by time the last weeks are measured, else a tenth."""
    assert train.times is not None
    if split == "time":
        is_measured = train.times >= train.times.max() - np.timedelta64(VALIDATION_DAYS, "D")
    else:
        # Points are in the order of customers: a block has some eight of them.
        block = np.arange(train.n_points) // BLOCK
        is_measured = (np.random.default_rng(0).random(block[-1] + 1) < RANDOM_SHARE)[block]
    return train[~is_measured], train[is_measured]


def choose_ours(train: lt.Dataset, split: str, jobs: int) -> Settings:
    """Return the parameters that `choose` finds on the validation points."""
    known = finished(f"validation-{split}-{CHOSEN}", [train, TUNED])
    if METRIC not in known.values:
        fitted, measured = validation_split(train, split)
        estimator = lt.LabelTreeClassifier(n_jobs=jobs)
        choice = lt.choose(fitted, validation=measured, metric=METRIC, tune=TUNED, estimator=estimator)
        print(choice.explanation, file=sys.stderr, flush=True)
        known.add(METRIC, choice.parameters)
    return dict(known.values[METRIC])


def tune(method: Method, train: lt.Dataset, split: str, jobs: int) -> Settings:
    """Return the settings with the best P@5 on the validation points."""
    known = finished(f"validation-{split}-{method.name}", [method.fixed, method.answer, train])
    best, reached = dict(method.fixed), 0.0
    with tempfile.TemporaryDirectory() as folder:
        contest = Contest(*validation_split(train, split), Path(folder), jobs)
        with contest.worker(method) as worker:
            for stage in method.stages:
                found = [] if best == method.fixed else [(reached, best)]
                for values in itertools.product(*stage.values()):
                    settings = best | dict(zip(stage, values, strict=True))
                    key = json.dumps(settings, sort_keys=True)
                    if key not in known.values:
                        labels = contest.answer(worker, method, settings)
                        known.add(key, lt.metrics.precision_at_k(contest.test.Y, labels, max(KS)))
                        print(f"{method.name} {key}: P@5 {100 * known.values[key]:.2f}", file=sys.stderr, flush=True)
                    found.append((known.values[key], settings))
                reached, best = max(found, key=lambda pair: pair[0])
    return best | method.final


def answers_of(
    method: Method, settings: Settings, train: lt.Dataset, test: lt.Dataset, options: argparse.Namespace
) -> NDArray[np.int64]:
    """Return the best labels of the test points by a method trained with settings (seeds, points, k)."""
    known = finished(f"answers-{method.name}", [method.fixed, method.answer, train, test])
    seeds = range(options.seeds if method.has_seed else 1)
    keys = [json.dumps([settings, seed], sort_keys=True) for seed in seeds]
    if any(key not in known.values for key in keys):
        with tempfile.TemporaryDirectory() as folder:
            contest = Contest(train, test, Path(folder), options.jobs)
            with contest.worker(method) as worker:
                for key, seed in zip(keys, seeds, strict=True):
                    if key not in known.values:
                        known.add(key, contest.answer(worker, method, settings, seed).tolist())
    return np.array([known.values[key] for key in keys])


def finished(name: str, inputs: list[Any]) -> FinishedResults:
    """Return what earlier runs have measured with the same inputs."""
    return FinishedResults(FINISHED, name, [inputs, VALIDATION_DAYS, lt.__version__])


def own_answers(
    train: lt.Dataset, test: lt.Dataset, chosen: Settings, options: argparse.Namespace
) -> dict[str, NDArray[np.int64]]:
    """Return the answers of the simple recommenders and of our model, default and chosen, each (seeds, points, k)."""
    pair, month = (train.X, train.Y), np.timedelta64(30, "D")
    baselines: dict[str, Callable[[], Any]] = {
        "popularity": lambda: lt.baselines.popularity(pair),
        "popularity of the last 30 days": lambda: lt.baselines.recent_popularity(pair, train.times, period=month),
        "item to item": lambda: lt.baselines.co_occurrence(pair),
        "neighbours": lambda: lt.baselines.neighbours(pair),
    }
    defaults = lt.LabelTreeClassifier().get_params()  # answers with other defaults are out of date
    known = finished("answers-label-tree", [train, test, chosen, defaults])

    def ask(key: str, make: Callable[[], Any]) -> Any:
        if key not in known.values:
            known.add(key, make().predict_topk(test.X, max(KS))[0].tolist())
        return known.values[key]

    def ask_tree(name: str, parameters: Settings) -> NDArray[np.int64]:
        models = [
            lt.LabelTreeClassifier(n_jobs=options.jobs, random_state=seed, **parameters)
            for seed in range(options.seeds)
        ]
        return np.array(
            [
                ask(f"{name}, seed {seed}", lambda m=model: m.fit(*pair, times=train.times, groups=train.groups))
                for seed, model in enumerate(models)
            ]
        )

    answers = {name: np.array([ask(name, make)]) for name, make in baselines.items()}
    return {**answers, "label tree, default": ask_tree("label tree, default", {}), CHOSEN: ask_tree(CHOSEN, chosen)}


def compare(split: str, options: argparse.Namespace) -> None:
    """Tune, train and measure all methods on one split, and print the table."""
    train, test = prepared(split)
    chosen = {CHOSEN: choose_ours(train, split, options.jobs)}
    chosen |= {method.name: tune(method, train, split, options.jobs) for method in methods(options)}
    answers = own_answers(train, test, chosen[CHOSEN], options)
    for method in methods(options):
        answers[method.name] = answers_of(method, chosen[method.name], train, test, options)
    print(
        f"\n## Split: {split}\n\n{train.n_points:,} training points, "
        f"{test.n_points:,} test points, {train.n_labels:,} labels, {train.n_features:,} features\n"
    )
    for name, settings in chosen.items():
        print(f"- {name}: {', '.join(f'{key}={value}' for key, value in sorted(settings.items()))}")
    print()
    print_head(
        "method | seeds | P@1 | P@3 | P@5 | P@5 by traffic | ours minus theirs: P@1 | P@3 | P@5 | P@5 by traffic"
    )
    columns = [*((k, np.ones(test.n_points)) for k in KS), (max(KS), test.sample_weight)]
    means = {}
    for stream, (name, labels) in enumerate(answers.items()):
        found = [(precision_of_points(test.Y, labels, k), weights) for k, weights in columns]
        means[name] = [
            (100 * np.average(values.mean(axis=0), weights=weights), resampled(values, weights, stream))
            for values, weights in found
        ]
    for name, labels in answers.items():
        cells = [f"{mean:.1f} ({interval(values)})" for mean, values in means[name]]
        gaps = [""] * len(columns)
        if name != CHOSEN:
            gaps = [interval(ours - own, "+") for (_, ours), (_, own) in zip(means[CHOSEN], means[name], strict=True)]
        print(f"| {name} | {len(labels)} | {' | '.join(cells + gaps)} |")
    sys.stdout.flush()


def prepared(split: str) -> PreparedLogs:
    """Return the log of the online shop, prepared as the example does it, by an earlier run if there was one."""
    folder = FINISHED / f"{split}-log"
    if not folder.exists():
        prepare(str(data_folder("online-retail") / "events.csv.xz"), split).save(folder)
    return PreparedLogs.load(folder)


def methods(options: argparse.Namespace) -> list[Method]:
    """Return the methods that are wanted."""
    return [method for method in METHODS if not any(word in method.name for word in options.without)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", nargs="+", choices=["time", "random"], default=["time", "random"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--without", nargs="*", default=[], help="leave out methods whose name contains one of these")
    options = parser.parse_args()
    print("Precision in percent, mean of the seeds, with 95 % intervals from resampled points and seeds;")
    print("by traffic, an invoice counts by its number of lines.\n")
    for split in options.splits:
        compare(split, options)


if __name__ == "__main__":
    main()
