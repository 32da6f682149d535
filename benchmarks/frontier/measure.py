"""The second step: open all models and measure their searches in turns."""

from __future__ import annotations

import contextlib
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.frontier.cache import SetCache
from benchmarks.frontier.goal import Point
from benchmarks.frontier.grid import CALLS, Model, Search
from benchmarks.frontier.train import log, saved, start
from benchmarks.measures import precisions
from benchmarks.peers.worker import PeerWorker
from benchmarks.text_models import precision

K = 5
BATCHES = 1  # per turn; the best counts
AT_LEAST = 0.05  # seconds: short batches are repeated until this time has passed
TIMES = ("batch", "batch2", "single", "p99")


def measure_all(cache: SetCache, wanted: list[Model], repeats: int) -> None:
    """Measure every search of every trained model and write the points to the cache."""
    started = time.perf_counter()
    left_out = {}
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        entries = []
        for model in wanted:
            trained = cache.trained(model)
            if trained is None or "too_long" in trained:
                left_out[model.name] = why_not(trained)
                continue
            worker = stack.enter_context(start(cache, model, "answers"))
            worker.ask(do="load", **saved(cache, model))
            entries += [Entry(cache, model, search, worker, folder) for search in model.searches]
        log(f"{cache.set_name}: {len(entries)} points, models opened in {time.perf_counter() - started:.0f} s")
        for repeat in range(repeats):
            for entry in entries:
                entry.take_turn()
            log(f"{cache.set_name}: {repeat + 1} of {repeats} repeats, {time.perf_counter() - started:.0f} s")
    cache.write_measured(
        {
            "facts": {**cache.facts(), "single_calls": min(CALLS, cache.facts()["queries"]), "repeats": repeats},
            "left_out": left_out,
            "points": [entry.point for entry in entries],
        }
    )


def why_not(trained: dict[str, Any] | None) -> str:
    """Return why a model was not measured."""
    if trained is None:
        return "not trained"
    return f"training took more than {trained['too_long'] / 60:.0f} minutes on {trained['threads']} threads"


class Entry:
    """One search of one model, and its best measurements."""

    def __init__(self, cache: SetCache, model: Model, search: Search, worker: PeerWorker, folder: Path) -> None:
        self._cache, self._model, self._worker, self._out = cache, model, worker, folder / "labels.npy"
        self._request = {"k": K, "settings": search.settings, "out": str(self._out), **saved(cache, model)}
        if model.texts:
            self._request["texts"] = str(cache.data / "texts.txt")
        self.point: Point = {
            "contestant": model.contestant,
            "model": model.name,
            "search": search.name,
            "ours": model.ours,
            "texts": model.texts,
            **dict.fromkeys(TIMES),
        }

    def take_turn(self) -> None:
        """Measure a batch of all queries on one and on two threads, and single calls for some queries."""
        n = self._cache.facts()["queries"]
        batch = self._worker.ask(do="batch", repeats=BATCHES, at_least=AT_LEAST, threads=1, **self._request)
        self._keep("batch", batch["seconds"] / n * 1e6)
        if "p1" not in self.point:
            self.point.update(zip(("p1", "p3", "p5"), self._precision(), strict=True))
        if self._model.two_threads:
            batch = self._worker.ask(do="batch", repeats=BATCHES, at_least=AT_LEAST, threads=2, **self._request)
            self._keep("batch2", batch["seconds"] / n * 1e6)
        single = self._worker.ask(do="single", n=min(self._model.calls, n), **self._request)
        self._keep("single", single["p50"])
        self._keep("p99", single["p99"])

    def _keep(self, kind: str, microseconds: float) -> None:
        before = self.point[kind]
        self.point[kind] = microseconds if before is None else min(before, microseconds)

    def _precision(self) -> list[float]:
        if self._model.texts:
            answers = [json.loads(line) for line in self._out.read_text(encoding="utf-8").splitlines()]
            named = [[name for name in names if name is not None] for names in answers]
            return precision(named, self._cache.test_names())
        truth, labels = self._cache.test_labels(), np.load(self._out)
        return precisions(truth, labels)
