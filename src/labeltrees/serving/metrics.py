"""Counters of requests and searches, shared by all workers, in the form of Prometheus."""

from __future__ import annotations

import bisect
import fcntl
import mmap
import os
import tempfile
from collections.abc import Iterator
from threading import Lock
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

from labeltrees.serving.registry import Registry

ROUTES = ("predict", "infer", "suggest", "models", "health", "metrics", "page", "other")
STATUSES = (200, 204, 304, 400, 401, 404, 405, 408, 413, 429, 500, 503)
BUCKETS = tuple(base * 10**power for power in range(-5, 1) for base in (1, 2, 5))  # seconds: 10 us to 5 s
_MAX_WORKERS = 256
_PAGE = 4096


class Metrics:
    """Counters in memory that all workers share: each worker adds to its own part, and any worker reads all parts.

    prometheus-client's own counters take 2 us per request, and in several processes more; these take 0.4 us.

    Parameters
    ----------
    registry : Registry
        Its models have counters of their own.
    path : path, optional
        The file that the workers share; by default this process is alone.
    """

    def __init__(self, registry: Registry, path: str | None = None) -> None:
        self._registry = registry
        self._lock = Lock()
        self._models = {name: place for place, name in enumerate(registry.names)}
        self._seconds_at = len(ROUTES) * len(STATUSES)
        self._places = {
            (route, status): (r * len(STATUSES) + s, self._seconds_at + r * (len(BUCKETS) + 2))
            for r, route in enumerate(ROUTES)
            for s, status in enumerate(STATUSES)
        }
        self._models_at = self._seconds_at + len(ROUTES) * (len(BUCKETS) + 2)
        self._gauges_at = self._models_at + 2 * len(self._models)
        n_bytes = 8 * (self._gauges_at + 2)
        self._stride = -(-n_bytes // _PAGE) * _PAGE
        n_slots = 1 if path is None else _MAX_WORKERS
        handle = -1 if path is None else os.open(path, os.O_RDWR)  # open as long as this process lives: it holds a lock
        if path is not None:
            os.truncate(handle, n_slots * self._stride)
        self._all = memoryview(mmap.mmap(handle, n_slots * self._stride)).cast("q")
        slot = 0 if path is None else _take_slot(handle, n_slots)
        self._own = self._all[slot * self._stride // 8 : (slot + 1) * self._stride // 8]
        self._own[self._gauges_at] = self._own[self._gauges_at + 1] = 0

    def count_request(self, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        own, (at, seconds_at) = self._own, self._places[route, status]
        own[at] += 1
        own[seconds_at + bisect.bisect_left(BUCKETS, seconds)] += 1
        own[seconds_at + len(BUCKETS) + 1] += int(seconds * 1e9)

    def count_searches(self, model: str, n_searches: int, n_partial: int) -> None:
        """Count searches of a model, and those that a budget ended; from any thread."""
        at = self._models_at + 2 * self._models[model]
        with self._lock:
            self._own[at] += n_searches
            if n_partial:
                self._own[at + 1] += n_partial

    def set_in_progress(self, n_requests: int) -> None:
        """Set the number of requests in progress."""
        self._own[self._gauges_at] = n_requests

    def set_waiting(self, n_requests: int) -> None:
        """Set the number of requests that wait for a thread."""
        self._own[self._gauges_at + 1] = n_requests

    def _sum(self, place: int) -> int:
        return sum(self._all[place :: self._stride // 8])

    def text(self) -> bytes:
        """Return everything in the text form of Prometheus."""
        registry = CollectorRegistry()
        registry.register(self)
        return generate_latest(registry)

    def collect(self) -> Iterator[Any]:
        """Yield all metrics, as prometheus-client asks for them."""
        requests = CounterMetricFamily("labeltrees_requests", "Requests answered.", labels=["route", "status"])
        seconds = HistogramMetricFamily("labeltrees_request_seconds", "Time of requests.", labels=["route"])
        for number, route in enumerate(ROUTES):
            for place, status in enumerate(STATUSES):
                n = self._sum(number * len(STATUSES) + place)
                if n:
                    requests.add_metric([route, str(status)], n)
            at, total, buckets = self._seconds_at + number * (len(BUCKETS) + 2), 0, []
            for place, limit in enumerate([*map(str, BUCKETS), "+Inf"]):
                total += self._sum(at + place)
                buckets.append((limit, total))
            if total:
                seconds.add_metric([route], buckets, self._sum(at + len(BUCKETS) + 1) / 1e9)
        yield requests
        yield seconds
        searches = CounterMetricFamily("labeltrees_searches", "Searches.", labels=["model"])
        partial = CounterMetricFamily(
            "labeltrees_searches_cut_short", "Searches that a budget ended.", labels=["model"]
        )
        info = GaugeMetricFamily(
            "labeltrees_model_info", "1 for the version that answers.", labels=["model", "version"]
        )
        loaded = GaugeMetricFamily("labeltrees_model_loaded_seconds", "When it was loaded.", labels=["model"])
        faulty = GaugeMetricFamily(
            "labeltrees_model_faulty", "1 if a new version could not be loaded.", labels=["model"]
        )
        for name, number in self._models.items():
            searches.add_metric([name], self._sum(self._models_at + 2 * number))
            partial.add_metric([name], self._sum(self._models_at + 2 * number + 1))
            model = self._registry.places[name]
            faulty.add_metric([name], float(model.fault is not None))
            if model.current is not None:
                info.add_metric([name, model.current.version], 1)
                loaded.add_metric([name], model.current.loaded.timestamp())
        yield from (searches, partial, info, loaded, faulty)
        yield GaugeMetricFamily(
            "labeltrees_requests_in_progress", "Requests in progress.", value=self._sum(self._gauges_at)
        )
        yield GaugeMetricFamily(
            "labeltrees_requests_waiting", "Requests that wait for a thread.", value=self._sum(self._gauges_at + 1)
        )


def _take_slot(handle: int, n_slots: int) -> int:
    """Return the first part without a living worker. A new worker goes on with the counters of a dead one."""
    for slot in range(n_slots):
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, slot)
            return slot
        except OSError:
            continue
    message = f"more than {n_slots} workers"
    raise RuntimeError(message)


def make_shared_file() -> str:
    """Return the path of a new file for the counters of several workers; only this user can read it."""
    handle, path = tempfile.mkstemp(prefix="labeltrees-metrics-")
    os.close(handle)
    return path
