"""Counters of requests and searches, for Prometheus.

If the environment variable PROMETHEUS_MULTIPROC_DIR names a folder, prometheus-client keeps the counters of every
worker in files there, and any worker reports the sum.
"""

from __future__ import annotations

import os
import threading
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from labeltrees.serving.registry import Registry
from labeltrees.serving.server import SHARED_METRICS

BUCKETS = tuple(base * 10**power for power in range(-5, 1) for base in (1, 2, 5))  # seconds: 10 us to 5 s
_FLUSH_SECONDS = 0.25


class Metrics:
    """The metrics of an application.

    Requests are counted in plain numbers. A few times per second, a thread adds these to the counters of
    prometheus-client: an addition there takes half as long as a request.

    Parameters
    ----------
    registry : Registry
        The metrics also describe its models.

    Attributes
    ----------
    in_progress, waiting : int
        Number of requests in progress, and how many of them wait for a thread.
    """

    def __init__(self, registry: Registry) -> None:
        self._folder = os.environ.get(SHARED_METRICS)
        own = CollectorRegistry()
        self._reported = own
        if self._folder is not None:
            self._reported = CollectorRegistry()
            MultiProcessCollector(self._reported, self._folder)  # type: ignore[no-untyped-call]
            forget_dead_workers(self._folder)
        self._reported.register(_Models(registry))
        self._requests = Counter("labeltrees_requests", "Requests answered.", ["route", "status"], registry=own)
        self._seconds = _Seconds(
            "labeltrees_request_seconds", "Time of requests.", ["route"], registry=own, buckets=BUCKETS
        )
        searches = Counter("labeltrees_searches", "Searches.", ["model"], registry=own)
        partial = Counter("labeltrees_searches_cut_short", "Searches that a budget ended.", ["model"], registry=own)
        self._searches = {name: (searches.labels(name), partial.labels(name)) for name in registry.names}
        live: Any = {"registry": own, "multiprocess_mode": "livesum"}
        self._in_progress = Gauge("labeltrees_requests_in_progress", "Requests in progress.", **live)
        self._waiting = Gauge("labeltrees_requests_waiting", "Requests that wait for a thread.", **live)
        self.in_progress = self.waiting = 0
        self._new_requests: dict[tuple[str, int], _Times] = {}
        self._new_searches = {name: [0, 0] for name in registry.names}
        self._lock = threading.Lock()
        self._stopped = threading.Event()

    def count_request(self, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        with self._lock:
            times = self._new_requests.get((route, status))
            if times is None:
                times = self._new_requests[route, status] = _Times()
            times.seconds += seconds
            times.counts[bisect_left(BUCKETS, seconds)] += 1

    def count_searches(self, model: str, n_searches: int, n_partial: int) -> None:
        """Count searches of a model, and those that a budget ended; from any thread."""
        with self._lock:
            new = self._new_searches[model]
            new[0] += n_searches
            new[1] += n_partial

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._run, name="labeltrees-metrics", daemon=True).start()

    def _run(self) -> None:
        while not self._stopped.wait(_FLUSH_SECONDS):
            self.flush()

    def flush(self) -> None:
        """Add the counts since the last call to the counters that all workers report."""
        with self._lock:
            requests, self._new_requests = self._new_requests, {}
            searches = {name: tuple(new) for name, new in self._new_searches.items() if new[0]}
            for name in searches:
                self._new_searches[name] = [0, 0]
        for (route, status), times in requests.items():
            self._requests.labels(route, str(status)).inc(sum(times.counts))
            self._seconds.labels(route).add(times)
        for name, new in searches.items():
            for counter, n in zip(self._searches[name], new, strict=True):
                counter.inc(n)
        self._in_progress.set(self.in_progress)
        self._waiting.set(self.waiting)

    def text(self) -> bytes:
        """Return the metrics of all workers in the text form of Prometheus."""
        self.flush()
        return generate_latest(self._reported)

    def stop(self) -> None:
        """End the thread, and remove this worker's requests in progress from the sums."""
        self._stopped.set()
        self.flush()
        if self._folder is not None:
            mark_process_dead(os.getpid(), self._folder)  # type: ignore[no-untyped-call]


class _Times:
    """Times of requests: a count per bucket, and the sum of seconds."""

    __slots__ = ("counts", "seconds")

    def __init__(self) -> None:
        self.counts, self.seconds = [0] * (len(BUCKETS) + 1), 0.0


class _Seconds(Histogram):
    """A histogram that takes many values at once."""

    def add(self, times: _Times) -> None:
        self._sum.inc(times.seconds)
        for bucket, n in zip(self._buckets, times.counts, strict=True):
            if n:
                bucket.inc(n)


class _Models:
    """Describes the models of this worker to prometheus-client."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def collect(self) -> Iterator[GaugeMetricFamily | CounterMetricFamily]:
        info = GaugeMetricFamily(
            "labeltrees_model_info", "1 for the version that answers.", labels=["model", "version"]
        )
        loaded = GaugeMetricFamily("labeltrees_model_loaded_seconds", "When it was loaded.", labels=["model"])
        faulty = GaugeMetricFamily(
            "labeltrees_model_faulty", "1 if a new version could not be loaded.", labels=["model"]
        )
        failures = CounterMetricFamily(
            "labeltrees_model_load_failures", "Attempts to load a version that failed.", labels=["model"]
        )
        for place in self._registry.places.values():
            failures.add_metric([place.name], place.n_failures)
            faulty.add_metric([place.name], float(place.fault is not None))
            if place.current is not None:
                info.add_metric([place.name, place.current.version], 1)
                loaded.add_metric([place.name], place.current.loaded.timestamp())
        yield from (info, loaded, faulty, failures)


def forget_dead_workers(folder: str) -> None:
    """Remove the requests in progress of killed workers from the sums. Their counters stay: totals never fall."""
    for file in Path(folder).glob("gauge_live*_*.db"):
        pid = int(file.stem.rpartition("_")[2])
        try:
            os.kill(pid, 0)
        except OSError:  # no such process, or another user's process has this number now
            mark_process_dead(pid, folder)  # type: ignore[no-untyped-call]
