"""How each contestant is tuned, trained and timed."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import labeltrees as lt
from benchmarks.peers.worker import PeerWorker
from benchmarks.precision.climb import climb
from benchmarks.precision.datasets import SHARE, TEXT_SETS, Data, load_texts
from benchmarks.precision.records import KS, Tuning, keep_record

FOLDER = Path(__file__).resolve().parent.parent / "contestants"
METRIC_K = 5  # everyone is tuned for nDCG@5 on the same validation points
COSTS = (0.1, 0.3, 1.0, 3.0, 10.0)
BUDGET, LEAST_BUDGET = 20.0, 20.0  # of choose: this many plain fits, and at least this many seconds
REPEATS = 3


@dataclass(frozen=True)
class Peer:
    """A peer: its script, fixed settings, the name of C, and the settings that stand for its losses and beams."""

    script: str
    fixed: dict[str, Any]
    cost: str
    losses: tuple[dict[str, Any], ...]
    beams: tuple[dict[str, Any], ...] = ({"beam_size": 10}, {"beam_size": 30})


PEERS = {
    "PECOS": Peer(
        "pecos_xlinear.py",
        {"nr_splits": 16},
        "C",
        ({"solver_type": "L2R_L2LOSS_SVC_DUAL"}, {"solver_type": "L2R_L1LOSS_SVC_DUAL"}),  # it has no other
    ),
    "omikuji": Peer("omikuji_models.py", {}, "linear_c", ({"loss": "hinge"}, {"loss": "log"})),
    "napkinXC": Peer(
        "napkinxc_models.py",
        {"tree_type": "hierarchicalKmeans"},
        "C",
        ({"loss": "squared_hinge"}, {"loss": "logistic"}),
        ({},),  # its search is exact
    ),
}
BASELINES = {"popularity": lt.baselines.popularity, "neighbours": lt.baselines.neighbours}
CHOOSE, CHOOSE_TEXTS = "ours, choose", "ours, choose with features"
OURS = ("ours, default", CHOOSE, CHOOSE_TEXTS)
ALL = (*OURS, *PEERS, *BASELINES)


def measure(data: Data, contestant: str) -> None:
    """Tune and train a contestant, and keep its measurements on the test set."""
    if contestant in PEERS:
        _measure_peer(data, contestant)
    elif contestant in BASELINES:
        baseline = BASELINES[contestant](data.train)
        started = time.perf_counter()
        labels, _ = baseline.rank(data.test.X, max(KS))
        keep_record(data, contestant, labels, {"us": _per_point(started, data), "seconds": 0.0, "settings": {}})
    elif contestant == "ours, default":
        model, seconds = _timed_fit(data, lt.LabelTreeClassifier(n_jobs=1))
        _keep_ours(data, contestant, model, seconds, _learned(model))
    elif contestant == CHOOSE:
        _measure_choice(data, contestant, data.train, data.test.X)
    elif data.name in TEXT_SETS:
        train, texts = load_texts(data.name)
        _measure_choice(data, contestant, train, texts)


def _measure_choice(data: Data, contestant: str, train: lt.Dataset, queries: Any) -> None:
    _, plain = _timed_fit(data, lt.LabelTreeClassifier(n_jobs=1))
    started = time.perf_counter()
    choice = lt.choose(
        train,
        metric=f"ndcg{METRIC_K}",
        validation=SHARE,
        time_budget=max(BUDGET * plain, LEAST_BUDGET),
        estimator=lt.LabelTreeClassifier(n_jobs=1),
    )
    seconds = time.perf_counter() - started
    found = {**choice.parameters, **_learned(choice.model)}
    more = {"explanation": choice.explanation, "plain": plain}
    if train.texts is not None:
        queries = choice.model.vectorizer_.transform(queries)
    _keep_ours(data, contestant, choice.model, seconds, found, more, queries)


def _learned(model: Any) -> dict[str, Any]:
    """Return the weights of evidence that a model has learned."""
    learned = model.stats_.get("evidence", {})
    return {f"weight of {name}": weight for name, weight in learned.get("weights", {}).items()}


def _timed_fit(data: Data, model: Any) -> tuple[Any, float]:
    started = time.perf_counter()
    model.fit(data.train.X, data.train.Y)
    return model, time.perf_counter() - started


def _keep_ours(
    data: Data,
    contestant: str,
    model: Any,
    seconds: float,
    settings: dict[str, Any],
    more: dict[str, Any] | None = None,
    queries: Any = None,
) -> None:
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        labels, _ = model.predict_topk(data.test.X if queries is None else queries, max(KS), n_jobs=1)
        times.append(_per_point(started, data))
    if model.label_names_ is not None:
        number = {name: label for label, name in enumerate(model.label_names_.tolist())} | {None: -1}
        labels = np.array([[number[name] for name in row] for row in labels.tolist()])
    facts = {"us": min(times), "seconds": seconds, "settings": settings, **(more or {})}
    keep_record(data, contestant, labels, facts)


def _per_point(started: float, data: Data) -> float:
    return (time.perf_counter() - started) / data.test.n_points * 1e6


def _measure_peer(data: Data, contestant: str) -> None:
    peer = PEERS[contestant]
    script = FOLDER / peer.script
    with tempfile.TemporaryDirectory() as temporary:
        started = time.perf_counter()
        best = _tune(data, contestant, Path(temporary))
        tuned = time.perf_counter() - started
        with PeerWorker(script, data.final, temporary) as worker:
            trained = worker.ask(do="train", name="final", settings=best, seed=0, threads=1)
            out = Path(temporary) / "labels.npy"
            answer = worker.ask(
                do="batch", name="final", k=max(KS), out=str(out), settings=best, repeats=REPEATS, threads=1
            )
            labels = np.load(out)
    us = answer["seconds"] / data.test.n_points * 1e6
    facts = {"us": us, "seconds": trained["seconds"], "tuning_seconds": tuned, "settings": best}
    keep_record(data, contestant, labels, facts)


def _tune(data: Data, contestant: str, temporary: Path) -> dict[str, Any]:
    """Return the settings with the highest nDCG@5 on the validation points: for each loss, a climb over C."""
    peer, tuning = PEERS[contestant], Tuning(data, contestant)
    with PeerWorker(FOLDER / peer.script, data.tuning, temporary) as worker:
        for loss in peer.losses:
            climb(COSTS, lambda cost, loss=loss: _best_beam(data, peer, worker, tuning, {peer.cost: cost, **loss}))
    return tuning.best()


def _best_beam(data: Data, peer: Peer, worker: PeerWorker, tuning: Tuning, settings: dict[str, Any]) -> float:
    """Return the highest nDCG@5 of one training over the beams; measurements of an earlier run are not repeated."""
    trained = {**peer.fixed, **settings}
    variants = [{**trained, **beam} for beam in peer.beams]
    if not all(own in tuning for own in variants):
        name = f"tuning-{len(tuning)}"  # omikuji does not save over a model
        worker.ask(do="train", name=name, settings=trained, seed=0, threads=1)
        out = data.folder / "tuning.npy"
        for own in variants:
            worker.ask(do="batch", name=name, k=METRIC_K, out=str(out), settings=own, repeats=1, threads=1)
            tuning.keep(own, lt.metrics.ndcg_at_k(data.validation.Y, np.load(out), METRIC_K))
    return max(tuning[own] for own in variants)
