"""A client for a cluster: the address of a scheduler, or a cluster on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from labeltrees._memory import parse_bytes
from labeltrees._validation import check_integer
from labeltrees.dask.extra import import_dask, import_distributed
from labeltrees.dask.runner import LOST_WORKERS, ClusterError

_SETTINGS: dict[str, Any] = {
    "distributed.scheduler.allowed-failures": LOST_WORKERS,
    # Dask makes malloc return memory at once; tasks, which allocate large arrays, would get new pages again and again.
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,
}
SECONDS_TO_CONNECT = 10
_SECONDS_BETWEEN_QUESTIONS = 0.2


@contextmanager
def connect(
    cluster: str = "local", n_workers: int | None = None, memory_per_worker: int | str | None = None
) -> Iterator[Any]:
    """Yield a client, closed at the end, and so is a cluster that was started for it.

    Parameters
    ----------
    cluster : str
        "local" starts worker processes on this machine; otherwise the address of a scheduler, such as
        "tcp://10.0.0.1:8786".
    n_workers : int, optional
        Of a local cluster; by default one per core.
    memory_per_worker : int or str, optional
        Of a local cluster; by default an equal share of the memory.
    """
    distributed, dask = import_distributed(), import_dask()
    with dask.config.set(_SETTINGS):
        if cluster != "local":
            try:
                client = distributed.Client(cluster, timeout=SECONDS_TO_CONNECT)
            except (OSError, ValueError) as error:
                message = f"no Dask scheduler answers at {cluster}: {error}"
                raise ClusterError(message) from error
            with client:
                yield client
            return
        limit = "auto" if memory_per_worker is None else parse_bytes("memory_per_worker", memory_per_worker)
        count = None if n_workers is None else check_integer("n_workers", n_workers, 1)
        with (
            distributed.LocalCluster(
                n_workers=count, threads_per_worker=1, memory_limit=limit, dashboard_address=":0", processes=True
            ) as started,
            distributed.Client(started) as client,
        ):
            yield client


def bytes_per_task(client: Any, memory_per_worker: int | str | None = None) -> int | None:
    """Return the smallest memory that a task has: a worker's limit, shared by its threads. None without any limit."""
    given = None if memory_per_worker is None else parse_bytes("memory_per_worker", memory_per_worker)
    shares = ask_workers(client, _limit_and_threads).values()
    limits = [(given or limit) // n_threads for limit, n_threads in shares if given or limit]
    return min(limits) if limits else given


def ask_workers(client: Any, function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
    """Return what a function returns on each worker; a worker that is lost meanwhile does not answer.

    Raises
    ------
    ClusterError
        If no worker answers for a while: lost workers are usually started again within seconds.
    """
    deadline = time.monotonic() + SECONDS_TO_CONNECT
    while True:
        answers = client.run(function, *arguments, on_error="ignore")
        if answers:
            return dict(answers)
        if time.monotonic() > deadline:
            message = "the cluster has no workers: start some, or wait until they have joined"
            raise ClusterError(message)
        time.sleep(_SECONDS_BETWEEN_QUESTIONS)


def threads_of_host(client: Any) -> int:
    """Return the threads that the workers on one machine have together, on the machine with the fewest."""
    threads: dict[str, int] = {}
    for address, n_threads in client.nthreads().items():
        host = address.rpartition(":")[0]
        threads[host] = threads.get(host, 0) + n_threads
    return min(threads.values(), default=1)


def _limit_and_threads(dask_worker: Any) -> tuple[int | None, int]:
    return dask_worker.memory_manager.memory_limit, dask_worker.state.nthreads
