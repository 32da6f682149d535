"""Recommendations: our model by default and chosen against EASE, implicit, PECOS and simple recommenders.

    python -m benchmarks.recommend [--tasks basket cold next new commits] [--seeds 3] [--budget 120] [--jobs 1]
        [--commits 150000] [--without ALS PECOS] [--page]

Tasks: "basket": one hidden item of an invoice of the online shop (a random tenth of the invoices). "cold": which of the
new items is hidden: a tenth of the items, of which training has one invoice each. "next": the items of a customer's
next invoice, tested on those since 2011-11-15. "new": the same for new customers (a random tenth). "commits": the files
of a commit of `git-commits`, from the words of its subject and the last 50 files of its author, tested on the newest
5 % of the last `--commits` commits (0: all 1.4 million).

Every contestant is tuned for nDCG@5 on held-out training points, with the same processor time (`--budget` seconds):
ours by `lt.choose`, the others setting by setting. Then each is trained on all training points with several seeds.
Items of a basket are never returned for it, by any contestant. Records go to build/recommend, and a second run
continues with them; `--page` only writes the tables of results/recommend.md from them.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import lzma
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import normalize

import labeltrees as lt
from benchmarks.peers.environment import ROOT, peers_python
from benchmarks.peers.worker import PeerWorker
from benchmarks.shared_data import data_folder, write_for_contestants
from examples.online_shop import prepare as prepare_shop
from examples.online_shop import read_articles

RESULTS = Path(__file__).parent / "results"
PAGE, RECORDS = RESULTS / "recommend.md", ROOT / "build" / "recommend" / "records.jsonl"
SCRIPTS = Path(__file__).parent / "contestants"
K, N_CALLS, HELD_OUT, RESAMPLES = 5, 1000, 0.1, 2000
HISTORY = 50  # files of an author
MAX_TESTED = 10_000  # test points
TASKS = {
    "basket": "Hidden item of a basket",
    "cold": "Hidden item of a basket, among new items",
    "next": "Next invoice, by time",
    "new": "Next invoice of new customers",
    "commits": "Files of a commit, by time",
}
METRICS = ("hit", "recall", "ndcg")
DEFAULT, CHOSEN, WITHOUT_WORDS = "label tree, default", "label tree, chosen", "label tree, without words"
COLD_SHARE, COLD_BASKETS = 0.1, 30  # of the items in at least this many invoices
Settings = dict[str, Any]
Matrix = Any


@dataclass
class Task:
    """Training and test points of a task; `items` has the label of each feature that is an item, -1 for others."""

    name: str
    train: lt.Dataset
    test: lt.Dataset
    items: NDArray[np.int64]
    excludes_seen: bool
    candidates: NDArray[np.int64] | None = None  # labels that may be returned

    def seen(self, X: Matrix) -> list[list[int]] | None:
        """Return the labels that may not be returned for each point; None if all may."""
        if not self.excludes_seen:
            return None
        rows = np.split(self.items[X.indices], X.indptr[1:-1])
        return [row[row >= 0].tolist() for row in rows]

    def validation(self) -> Task:
        """Return the same task on the training points: the newest or, without a split by time, a tenth are test."""
        train = self.train
        if self.name in ("next", "commits"):
            assert train.times is not None
            measured = train.times >= np.sort(train.times)[int(train.n_points * (1 - HELD_OUT))]
        else:
            groups = np.arange(train.n_points) if train.groups is None else train.groups
            numbers, place = np.unique(groups, return_inverse=True)
            measured = (np.random.default_rng(0).random(len(numbers)) < HELD_OUT)[place]
        rows = np.flatnonzero(measured)
        if self.name == "basket":  # one point per basket
            assert train.groups is not None
            rows = rows[np.unique(train.groups[rows], return_index=True)[1]]
        rows = np.sort(np.random.default_rng(1).permutation(rows)[:MAX_TESTED])
        return Task(self.name, train[~measured], train[rows], self.items, self.excludes_seen)


# The tasks.


def make_task(name: str, options: argparse.Namespace) -> Task:
    """Return a task."""
    if name == "commits":
        return commits(options.commits)
    log = str(data_folder("online-retail") / "events.csv.xz")
    if name in ("basket", "cold"):
        columns = lt.Columns(
            context="InvoiceNo",
            item="StockCode",
            weight="Quantity",
            time="InvoiceDate",
            item_name="Description" if name == "cold" else None,
        )
        prepared = lt.prepare_logs(
            read_articles(log), columns, features="basket", hide=1, test_share=0.1, min_engagement=0
        )
    else:
        prepared = prepare_shop(log, {"next": "time", "new": "random"}[name])
    train, test = prepared
    assert train.label_names is not None
    assert train.feature_names is not None
    label = {item: number for number, item in enumerate(train.label_names.tolist())}
    items = np.array([label.get(item, -1) for item in train.feature_names.tolist()])
    if name == "cold":
        train, test = with_new_items(train, test, items)
        return Task(name, train, test, items, excludes_seen=True, candidates=np.unique(test.Y.indices))
    return Task(name, train, test, items, excludes_seen=name == "basket")


def with_new_items(train: lt.Dataset, test: lt.Dataset, items: NDArray[np.int64]) -> tuple[lt.Dataset, lt.Dataset]:
    """Return training points where some items are left out of all baskets but one, and test points that ask for them.

    A test basket gives one point per new item: this item is hidden, the others are visible.
    """
    groups, is_item = train.groups, np.flatnonzero(items >= 0)
    assert groups is not None
    to_label = sparse.csr_array((np.ones(len(is_item)), (is_item, items[is_item])), shape=(len(items), train.n_labels))
    whole = sparse.coo_array((train.X != 0) @ to_label + train.Y)
    first = np.full(train.n_labels, np.iinfo(np.int64).max)
    np.minimum.at(first, whole.col, groups[whole.row])
    pairs = np.unique(np.stack([whole.col, groups[whole.row]]), axis=1)
    frequent = np.flatnonzero(np.bincount(pairs[0], minlength=train.n_labels) >= COLD_BASKETS)
    is_new = np.zeros(train.n_labels, bool)
    is_new[np.random.default_rng(0).permutation(frequent)[: int(COLD_SHARE * len(frequent))]] = True

    def left(matrix: Matrix, labels: NDArray[np.int64]) -> Matrix:
        entries = sparse.coo_array(matrix)
        label = labels[entries.col]
        kept = (label < 0) | ~is_new[label] | (groups[entries.row] == first[label])
        places = entries.row[kept], entries.col[kept]
        return sparse.csr_array((entries.data[kept], places), shape=matrix.shape)

    X, Y = left(train.X, items), left(train.Y, np.arange(train.n_labels))
    names = {"label_names": train.label_names, "feature_names": train.feature_names, "encoder": train.encoder}
    own = {"groups": groups, "sample_weight": train.sample_weight, "label_texts": train.label_texts, **names}
    kept = np.flatnonzero((np.diff(X.indptr) > 0) & (np.diff(Y.indptr) > 0))
    fewer = lt.Dataset(X, Y, **own)[kept]
    # The baskets of test points, without the item that is hidden in the new point.
    feature_of = np.full(train.n_labels, -1)
    feature_of[items[is_item]] = is_item
    X_rows, hidden = [], []
    for row in range(test.n_points):
        labels = test.Y.indices[test.Y.indptr[row] : test.Y.indptr[row + 1]]
        given = test.X[[row]].tolil()
        given[0, feature_of[labels[feature_of[labels] >= 0]]] = np.log(2)
        basket = given.tocsr()
        in_basket = items[basket.indices]
        for label in in_basket[(in_basket >= 0) & is_new[in_basket]].tolist():
            if basket.nnz > 1:
                point = basket.copy()
                point.data[point.indices == feature_of[label]] = 0
                point.eliminate_zeros()
                X_rows.append(point)
                hidden.append(label)
    n = len(hidden)
    Y = sparse.csr_array((np.ones(n, np.float32), (np.arange(n), hidden)), shape=(n, train.n_labels))
    asked = lt.Dataset(sparse.csr_array(sparse.vstack(X_rows, format="csr"), dtype=np.float32), Y, **names)
    return fewer, asked[np.sort(np.random.default_rng(0).permutation(n)[:MAX_TESTED])]


def commits(n_commits: int) -> Task:
    """Return the last commits: words of the subject and the author's last files as features, files as labels."""
    with lzma.open(data_folder("git-commits") / "events.csv.xz") as file:
        events = pl.read_csv(file.read())
    events = events.filter(pl.col("context") > events["context"].max() - n_commits) if n_commits else events
    points = events.group_by("context", maintain_order=True).agg(
        pl.col("user").first(), pl.col("time").first(), pl.col("query").first(), pl.col("item")
    )
    names, flat = np.unique(events["item"].to_numpy(), return_inverse=True)
    ends = np.cumsum(np.bincount(points.with_row_index()["index"].to_numpy(), points["item"].list.len())).astype(int)
    Y = sparse.csr_array((np.ones(len(flat), np.float32), flat, np.append(0, ends)), shape=(len(points), len(names)))
    Y.sum_duplicates()
    Y.data[:] = 1
    history = last_files(points["user"].to_numpy(), Y)
    is_test = np.arange(len(points)) >= int(0.95 * len(points))
    words = lt.TfidfVectorizer(sublinear_tf=True, min_df=2, dtype=np.float32)
    texts = points["query"].to_list()
    vectorizer = words.fit(texts[: int((~is_test).sum())])
    files = [f"file {name}" for name in names.tolist()]
    parts = {"words": lt.encoders.TextEncoder(vectorizer), "files": lt.encoders.ItemEncoder(files)}
    encoder = lt.encoders.UnionEncoder(parts)
    X = sparse.hstack([vectorizer.transform(texts), normalize(history)], format="csr", dtype=np.float32)
    times = points["time"].to_numpy().astype("datetime64[s]")
    in_train = np.bincount(Y[~is_test].indices, minlength=len(names)) > 0
    tested = np.flatnonzero(is_test & (Y @ in_train.astype(np.float32) > 0))
    tested = np.sort(np.random.default_rng(0).permutation(tested)[:MAX_TESTED])
    whole = lt.Dataset(X, Y, label_names=files, encoder=encoder, times=times)
    n_words = X.shape[1] - len(names)
    items = np.concatenate([np.full(n_words, -1), np.arange(len(names))])
    return Task("commits", whole[~is_test], whole[tested], items, excludes_seen=False)


def last_files(users: NDArray[Any], Y: Matrix) -> Matrix:
    """Return the last files of the author before each point (points are in order of time)."""
    recent: dict[int, dict[int, None]] = {}
    indices, ends = [], [0]
    for row, user in enumerate(users.tolist()):
        own = recent.setdefault(user, {})
        indices.extend(own)
        ends.append(len(indices))
        for item in Y.indices[Y.indptr[row] : Y.indptr[row + 1]].tolist():
            own.pop(item, None)
            own[item] = None
        while len(own) > HISTORY:
            del own[next(iter(own))]
    entries: Any = (np.ones(len(indices), np.float32), np.array(indices, np.int32), ends)
    matrix = sparse.csr_array(entries, shape=(len(users), Y.shape[1]))
    matrix.sort_indices()
    return matrix


# The contestants. Each yields answers: labels (n, k), and the facts of its training and calls.


@dataclass
class Answer:
    """The lists of the test points, and what training and single calls cost."""

    labels: NDArray[np.int64]
    facts: dict[str, Any] = field(default_factory=dict)


class Contestant:
    """Something that can be trained with settings: `grid` is tried in this order while the budget lasts."""

    has_seed = False

    def __init__(self, name: str, grid: list[Settings] | None = None) -> None:
        self.name, self.grid = name, grid or [{}]

    def answer(self, task: Task, settings: Settings, seed: int, jobs: int, timed: bool) -> Answer:
        """Train on the training points and answer the test points."""
        raise NotImplementedError

    def tune(self, task: Task, budget: float, jobs: int) -> tuple[Settings, str]:
        """Return the settings with the best nDCG@5 on validation points, and how many were tried."""
        if len(self.grid) == 1:
            return self.grid[0], ""
        inner, spent, best, tried = task.validation(), time.process_time() + child_time(), (-1.0, self.grid[0]), 0
        for settings in self.grid:
            if tried and time.process_time() + child_time() - spent > budget:
                break
            found = self.answer(inner, settings, 0, jobs, timed=False).labels
            best = max(best, (lt.metrics.ndcg_at_k(inner.test.Y, found, K), settings), key=lambda pair: pair[0])
            tried += 1
        return best[1], f"{tried} of {len(self.grid)} settings tried"


def child_time() -> float:
    """Return the processor seconds of finished child processes."""
    times = os.times()
    return times.children_user + times.children_system


class Ours(Contestant):
    """The label tree, with some parameters or as `choose` finds it."""

    has_seed = True

    def __init__(self, name: str, chosen: bool = False, **parameters: Any) -> None:
        super().__init__(name, [parameters])
        self.chosen = chosen

    def tune(self, task: Task, budget: float, jobs: int) -> tuple[Settings, str]:
        """Return the parameters that `choose` finds, or those given."""
        if not self.chosen:
            return self.grid[0], ""
        inner = task.validation()
        estimator = lt.LabelTreeClassifier(n_jobs=jobs)
        choice = lt.choose(
            inner.train,
            validation=inner.test,
            metric=f"ndcg{K}",
            time_budget=budget,
            estimator=estimator,
            rules={"exclude_seen": True} if task.excludes_seen else None,
        )
        return choice.parameters, "by lt.choose"

    def answer(self, task: Task, settings: Settings, seed: int, jobs: int, timed: bool) -> Answer:
        """Train on the training points and answer the test points."""
        settings = {name: (tuple(value) if isinstance(value, list) else value) for name, value in settings.items()}
        model = lt.LabelTreeClassifier(**{**settings, "random_state": seed, "n_jobs": jobs})
        wall, processor = time.perf_counter(), time.process_time()
        model.fit(task.train)
        facts = {"seconds": time.perf_counter() - wall, "processor": time.process_time() - processor}
        names, exclude = model.label_names_, task.seen(task.test.X)
        candidates = None if task.candidates is None else names[task.candidates]
        found, _ = model.predict_topk(task.test.X, K, exclude=exclude, candidates=candidates)
        place = {name: number for number, name in enumerate(names.tolist())}
        labels = np.array([[-1 if label is None else place[label] for label in row] for row in found])
        if timed:
            facts["bytes"] = sum(store.nbytes for store in model.searcher_.stores)
            ask = model.predictor(k=K, exclude_seen=task.excludes_seen)
            X = task.test.X[:N_CALLS]
            rows = [(X.indices[a:b].copy(), X.data[a:b].copy()) for a, b in itertools.pairwise(X.indptr.tolist())]
            facts |= call_times(lambda row: ask(row[0], row[1]), rows)
        return Answer(labels, facts)


def call_times(ask: Callable[[Any], Any], rows: list[Any]) -> dict[str, float]:
    """Return p50 and p99 of the microseconds of one call per row, after some calls to warm up."""
    for row in rows[:100]:
        ask(row)
    took = []
    for row in rows:
        start = time.perf_counter()
        ask(row)
        took.append(1e6 * (time.perf_counter() - start))
    return {"p50": float(np.percentile(took, 50)), "p99": float(np.percentile(took, 99))}


class Simple(Contestant):
    """One of `lt.baselines`."""

    def __init__(self, name: str, make: Callable[..., Any], grid: list[Settings] | None = None) -> None:
        super().__init__(name, grid)
        self.make = make

    def answer(self, task: Task, settings: Settings, seed: int, jobs: int, timed: bool) -> Answer:
        """Train on the training points and answer the test points."""
        wall, processor = time.perf_counter(), time.process_time()
        baseline = self.make(task.train, **settings)
        facts: dict[str, Any] = {
            "seconds": time.perf_counter() - wall,
            "processor": time.process_time() - processor,
            "bytes": sum(value.nbytes for value in vars(baseline).values() if isinstance(value, np.ndarray)),
        }
        n_asked = 50 if task.excludes_seen else K
        labels, _ = baseline.rank(task.test.X, n_asked if task.candidates is None else task.train.n_labels)
        if timed:
            facts |= call_times(lambda row: baseline.rank(row, K), [task.test.X[[row]] for row in range(200)])
        if task.candidates is not None:
            labels = np.where(np.isin(labels, task.candidates), labels, -1)
        return Answer(without(labels, task.seen(task.test.X)), facts)


def without(labels: NDArray[np.int64], seen: list[list[int]] | None) -> NDArray[np.int64]:
    """Return the first labels of each list that are not among those seen and not -1, padded with -1."""
    if seen is None:
        return labels[:, :K]
    found = np.full((len(labels), K), -1)
    for row, (own, left_out) in enumerate(zip(labels.tolist(), seen, strict=True)):
        kept = [label for label in own if label not in {*left_out, -1}][:K]
        found[row, : len(kept)] = kept
    return found


class Peer(Contestant):
    """A contestant in its own process: PECOS and implicit."""

    def __init__(self, name: str, script: str, fixed: Settings, grid: list[Settings], search: Settings) -> None:
        super().__init__(name, [{**fixed, **settings} for settings in grid])
        self.script, self.search, self.has_seed = script, search, script == "pecos_xlinear.py" or "ALS" in name

    def answer(self, task: Task, settings: Settings, seed: int, jobs: int, timed: bool) -> Answer:
        """Train on the training points and answer the test points."""
        is_implicit = self.script == "implicit_models.py"
        n_asked = K if not task.excludes_seen else 50
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            scale = (lambda X: X) if is_implicit else normalize
            pair = (lt.Dataset(scale(part.X), part.Y) for part in (self.points(task), task.test))
            write_for_contestants(*pair, folder)
            np.save(folder / "feature_label.npy", task.items)
            environment = os.environ | {"OMP_NUM_THREADS": str(jobs), "OPENBLAS_NUM_THREADS": "1"}
            python = peers_python("implicit" if is_implicit else "peers")
            with PeerWorker(SCRIPTS / self.script, folder, folder, python=python, environment=environment) as worker:
                how = {"name": "model", "k": n_asked, "settings": self.search}
                trained = worker.ask(do="train", name="model", settings=settings, seed=seed, threads=jobs)
                worker.ask(do="batch", out=str(folder / "labels.npy"), repeats=1, **how)
                facts = {"seconds": trained["seconds"], "processor": trained["cpu"], "bytes": trained["bytes"]}
                if timed:
                    facts |= worker.ask(do="single", n=min(N_CALLS, task.test.n_points), **how)
            return Answer(without(np.load(folder / "labels.npy"), task.seen(task.test.X)), facts)

    def points(self, task: Task) -> lt.Dataset:
        """Return the training points: for implicit one per basket, which has all of its items."""
        if self.script != "implicit_models.py" or task.name != "basket":
            return task.train
        assert task.train.groups is not None
        return task.train[np.unique(task.train.groups, return_index=True)[1]]


def product(**values: list[Any]) -> list[Settings]:
    """Return all combinations of settings."""
    return [dict(zip(values, combination, strict=True)) for combination in itertools.product(*values.values())]


def contestants(task: str) -> Iterator[Contestant]:
    """Yield the contestants of a task, the quick ones first."""
    month = np.timedelta64(30, "D")
    yield Simple("popularity of the last 30 days", lambda train: lt.baselines.recent_popularity(train, period=month))
    if task not in ("basket", "cold"):
        yield Simple("own most bought", lt.baselines.own_most_frequent)
    yield Ours(DEFAULT)
    if task == "cold":
        yield Ours(WITHOUT_WORDS, label_texts="none")
        yield Simple("EASE", lt.baselines.ease)
        return
    if task != "commits":  # 779K items would need 5 TB
        yield Simple("EASE", lt.baselines.ease, product(ridge=[100.0, 30.0, 300.0, 10.0, 1000.0]))
    rows = {"basket": ["all"], "commits": ["purchase", "all"]}.get(task, ["all", "purchase"])
    for kind, label in (("bm25", "BM25"), ("cosine", "cosine")):
        grid = product(rows=rows, K=[100, 20, 500])
        yield Peer(f"implicit, {label}", "implicit_models.py", {"model": kind}, grid, {})
    als = product(rows=rows, alpha=[1.0, 10.0], regularization=[1.0, 10.0], factors=[128, 64, 256])
    yield Peer("implicit, ALS", "implicit_models.py", {"model": "als"}, als, {})
    pecos = product(C=[0.1, 0.3, 1.0, 0.03], nr_splits=[64, 16, 256])
    yield Peer("PECOS", "pecos_xlinear.py", {}, pecos, {"beam_size": 20})
    yield Ours(CHOSEN, chosen=True)


# Measuring and records.


def measures(Y: Matrix, labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return hit@5, recall@5 and nDCG@5 of every point (points, 3)."""
    rows = np.split(Y.indices, Y.indptr[1:-1])
    discount = 1 / np.log2(np.arange(2, K + 2))
    found = np.zeros((len(rows), 3))
    for point, (own, returned) in enumerate(zip(rows, labels.tolist(), strict=True)):
        true = set(own.tolist())
        hits = np.array([label in true for label in returned], dtype=float)
        gain = discount[: min(len(true), K)].sum()
        found[point] = hits.any(), hits.sum() / len(true), (hits * discount).sum() / gain
    return found


def key_of(task: Task, contestant: Contestant, seed: int, options: argparse.Namespace) -> str:
    """Return what makes a record out of date when it changes."""
    n_commits = options.commits if task.name == "commits" else None
    parts = [task.name, repr(task.train), contestant.name, contestant.grid, seed, options.budget, n_commits]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def records() -> list[dict[str, Any]]:
    """Return all records."""
    return [json.loads(line) for line in RECORDS.read_text().splitlines()] if RECORDS.exists() else []


def run_task(name: str, options: argparse.Namespace) -> None:
    """Tune, train and measure what is not recorded yet."""
    task, known = make_task(name, options), {record["key"] for record in records()}
    for contestant in contestants(name):
        if any(word in contestant.name for word in options.without):
            continue
        seeds = range(options.seeds if contestant.has_seed else 1)
        missing = [seed for seed in seeds if key_of(task, contestant, seed, options) not in known]
        if not missing:
            continue
        print(f"{name}: {contestant.name}", file=sys.stderr, flush=True)
        settings, how = contestant.tune(task, options.budget, options.jobs)
        for seed in missing:
            answer = contestant.answer(task, settings, seed, options.jobs, timed=True)
            values = measures(task.test.Y, answer.labels)
            sizes = {"train": task.train.n_points, "test": task.test.n_points, "labels": task.train.n_labels}
            record = {
                "key": key_of(task, contestant, seed, options),
                "task": name,
                "contestant": contestant.name,
                "seed": seed,
                "settings": {key: repr(value) for key, value in settings.items()},
                "how": how,
                "budget": options.budget,
                "sizes": sizes,
                **{metric: values[:, place].round(4).tolist() for place, metric in enumerate(METRICS)},
                **answer.facts,
            }
            RECORDS.parent.mkdir(parents=True, exist_ok=True)
            with RECORDS.open("a") as file:
                file.write(json.dumps(record) + "\n")
            print(f"  nDCG@5 {100 * values[:, 2].mean():.2f}", file=sys.stderr, flush=True)


# The page.


def interval(values: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return the mean in percent and its 95 % interval, with resampled points."""
    drawn = np.random.default_rng(0).integers(len(values), size=(RESAMPLES, len(values)))
    means = 100 * values[drawn].mean(axis=1)
    return 100 * float(values.mean()), *np.percentile(means, [2.5, 97.5]).tolist()


def write_page() -> None:
    """Replace the tables of the tasks that have records; the rest of the page is written by hand."""
    page = PAGE.read_text()
    for task, title in TASKS.items():
        own = [record for record in records() if record["task"] == task]
        if own:
            page = with_section(page, f"## {title}\n", "\n".join(section(own)))
    PAGE.write_text(page)


def with_section(page: str, heading: str, text: str) -> str:
    """Return the page with the text below the heading, instead of what was there up to the next heading."""
    before, _, old = page.partition(heading)
    _, next_heading, after = old.partition("\n## ")
    return f"{before.rstrip()}\n\n{heading}\n{text}\n{next_heading}{after}"


def section(own: list[dict[str, Any]]) -> list[str]:
    """Return the table and the settings of one task; later records replace earlier ones."""
    newest = {(record["contestant"], record["seed"]): record for record in own}.values()
    of = {
        name: [r for r in newest if r["contestant"] == name] for name in dict.fromkeys(r["contestant"] for r in newest)
    }
    lines = ["{train:,} training points, {test:,} test points, {labels:,} items.".format(**own[-1]["sizes"]), ""]
    reference_name = "chosen" if CHOSEN in of else "default"
    head = f"contestant | seeds | hit@5 | recall@5 | nDCG@5 | {reference_name} minus this"
    head += " | p50 us | p99 us | training s | MB"
    lines += [f"| {head} |", "|" + " --- |" * len(head.split(" | "))]
    mean = {name: {m: np.mean([r[m] for r in found], axis=0) for m in METRICS} for name, found in of.items()}
    reference = mean.get(CHOSEN, mean.get(DEFAULT))
    for name in sorted(of, key=lambda name: -mean[name]["ndcg"].mean()):
        found, values = of[name], mean[name]
        cells = ["{:.1f} ({:.1f} to {:.1f})".format(*interval(values[m])) for m in METRICS]
        gap = ""
        if reference is not None and reference is not values:
            gap = "{:+.2f} ({:+.2f} to {:+.2f})".format(*interval(reference["ndcg"] - values["ndcg"]))
        cost = {f: float(np.median([r[f] for r in found])) for f in ("p50", "p99", "processor", "bytes")}
        times = f"{cost['p50']:,.0f} | {cost['p99']:,.0f} | {cost['processor']:,.1f} | {cost['bytes'] / 1e6:,.1f}"
        lines.append(f"| {name} | {len(found)} | {' | '.join(cells)} | {gap} | {times} |")
    lines += ["", "Settings:", ""]
    for name, found in of.items():
        last = found[-1]
        chosen = ", ".join(f"{key}={value}" for key, value in last["settings"].items()) or "defaults"
        lines.append(f"- {name}: {chosen}" + (f" ({last['how']}, {last['budget']:g} s)" if last["how"] else ""))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--budget", type=float, default=120, help="processor seconds for tuning each contestant")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--commits", type=int, default=150_000, help="the last commits of git-commits; 0 for all")
    parser.add_argument("--without", nargs="*", default=[], help="leave out contestants whose name has one of these")
    parser.add_argument("--page", action="store_true", help="only write the page")
    options = parser.parse_args()
    for name in [] if options.page else options.tasks:
        run_task(name, options)
        write_page()
    write_page()


if __name__ == "__main__":
    main()
