"""Counters of requests and searches, in the form of Prometheus.

If the environment names a folder (PROMETHEUS_MULTIPROC_DIR), prometheus-client keeps the counters of every worker in
files there, and any worker reports the sum.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from labeltrees.serving.registry import Registry
from labeltrees.serving.server import SHARED_METRICS

BUCKETS = tuple(base * 10**power for power in range(-5, 1) for base in (1, 2, 5))  # seconds: 10 us to 5 s


class Metrics:
    """The metrics of an application.

    Parameters
    ----------
    registry : Registry
        Its models are described, too.

    Attributes
    ----------
    waiting : Gauge
        Requests that wait for a thread.
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
        self._seconds = Histogram(
            "labeltrees_request_seconds", "Time of requests.", ["route"], registry=own, buckets=BUCKETS
        )
        searches = Counter("labeltrees_searches", "Searches.", ["model"], registry=own)
        partial = Counter("labeltrees_searches_cut_short", "Searches that a budget ended.", ["model"], registry=own)
        self._searches = {name: (searches.labels(name), partial.labels(name)) for name in registry.names}
        self._in_progress = Gauge(
            "labeltrees_requests_in_progress", "Requests in progress.", registry=own, multiprocess_mode="livesum"
        )
        self.waiting = Gauge(
            "labeltrees_requests_waiting", "Requests that wait for a thread.", registry=own, multiprocess_mode="livesum"
        )
        self._of_route: dict[tuple[str, int], tuple[Any, Any]] = {}

    def begin_request(self) -> None:
        """Count a request that is in progress."""
        self._in_progress.inc()

    def end_request(self, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self._in_progress.dec()
        found = self._of_route.get((route, status))
        if found is None:
            found = self._requests.labels(route, str(status)), self._seconds.labels(route)
            self._of_route[route, status] = found
        found[0].inc()
        found[1].observe(seconds)

    def count_searches(self, model: str, n_searches: int, n_partial: int) -> None:
        """Count searches of a model, and those that a budget ended; from any thread."""
        searches, partial = self._searches[model]
        searches.inc(n_searches)
        if n_partial:
            partial.inc(n_partial)

    def text(self) -> bytes:
        """Return the metrics of all workers in the text form of Prometheus."""
        return generate_latest(self._reported)

    def close(self) -> None:
        """Take what this worker has in progress out of the sums."""
        if self._folder is not None:
            mark_process_dead(os.getpid(), self._folder)  # type: ignore[no-untyped-call]


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
    """Take what killed workers had in progress out of the sums. Their counters stay: totals never fall."""
    for file in Path(folder).glob("gauge_live*_*.db"):
        pid = int(file.stem.rpartition("_")[2])
        try:
            os.kill(pid, 0)
        except OSError:  # no such process, or one of another user that has this number now
            mark_process_dead(pid, folder)  # type: ignore[no-untyped-call]
