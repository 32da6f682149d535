"""Running the tasks of a stage on a cluster: any worker may be lost at any moment."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from joblib import parallel_config

from labeltrees._memory import peak_bytes
from labeltrees._progress import ProgressArgument, watch
from labeltrees.dask.extra import import_distributed
from labeltrees.errors import FileFormatError, InputError, LabelTreesError
from labeltrees.models.linear.in_parts.runner import Task, TaskRecord

RETRIES = 3  # of a task that fails on a worker, for example because its disk is full
LOST_WORKERS = 20  # of one task, before it is held responsible
SECONDS_WITHOUT_WORKERS = 300.0  # lost workers are usually started again within seconds
_SECONDS_BETWEEN_LOOKS = 0.5


class ClusterError(LabelTreesError, RuntimeError):
    """The cluster cannot go on; what is finished stays in the work folder."""

    exit_code = 5


@dataclass
class ClusterSummary:
    """How a fit on a cluster went.

    Parameters
    ----------
    n_tasks, n_reused : int
        All tasks, and those whose results an earlier fit had left.
    task_seconds : float
        Sum over all tasks.
    bytes_written : int
        Size of all results: what moves between workers, through files.
    scheduler_bytes : int
        Size of what was sent through the scheduler: the tasks themselves.
    peak_bytes : dict of int
        By worker, the largest memory of its process that was seen after a task.
    seconds : dict of float
        By stage.
    """

    n_tasks: int = 0
    n_reused: int = 0
    task_seconds: float = 0.0
    bytes_written: int = 0
    scheduler_bytes: int = 0
    peak_bytes: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """Return the summary as text."""
        largest = max(self.peak_bytes.values(), default=0)
        stages = ", ".join(
            f"{stage[:1].lower() + stage[1:]} {seconds:.1f} s" for stage, seconds in self.seconds.items()
        )
        counts = f"{self.n_tasks} tasks on {len(self.peak_bytes)} workers, {self.n_reused} of them finished before"
        return [
            f"{counts}; {stages}",
            f"{self.bytes_written / 2**20:.1f} MiB through files, {self.scheduler_bytes / 2**10:.0f} KiB through the "
            f"scheduler; peak memory of a worker {largest / 2**20:.0f} MiB",
        ]


@contextmanager
def asking_cluster(stage: str) -> Iterator[None]:
    """Turn errors of Dask, whose kinds differ with the moment at which a scheduler goes away, into one `ClusterError`.

    Errors of tasks do not come this way: they are values.
    """
    try:
        yield
    except LabelTreesError:
        raise
    except Exception as error:
        message = (
            f"{stage}: the connection to the scheduler is lost ({type(error).__name__}: {error}); start the cluster "
            "again and repeat the same call: it continues with the results in the work folder"
        )
        raise ClusterError(message) from error


class RemoteCall(Protocol):
    """What runs on a worker: a task of a fit, or of a choice."""

    @property
    def name(self) -> str:
        """A name that differs from those of the other tasks of a stage."""

    def run(self) -> Any:
        """Return the result."""


@dataclass(frozen=True)
class Answer:
    """What a worker sends back: the result, or the message of an error that another attempt would meet again."""

    found: Any
    worker: str
    peak_bytes: int
    error: tuple[str, str] | None = None


def run_on_worker(task: RemoteCall, version: str) -> Answer:
    """Run a task in a process of the cluster."""
    import labeltrees

    worker = _worker_name()
    if labeltrees.__version__ != version:
        message = (
            f"worker {worker} has labeltrees {labeltrees.__version__}, the client {version}: install the same version "
            "on all machines"
        )
        return Answer(None, worker, 0, ("ClusterError", message))
    try:
        # Dask's workers may not start processes, so joblib would allow one thread only; native code starts threads.
        with parallel_config(backend="threading", n_jobs=1):
            found = task.run()
    except (InputError, FileFormatError) as error:
        return Answer(None, worker, peak_bytes(), (type(error).__name__, str(error)))
    return Answer(found, worker, peak_bytes())


def _worker_name() -> str:
    try:
        return str(import_distributed().get_worker().address)
    except ValueError:
        return "this process"


@dataclass
class DaskRunner:
    """Runs the tasks of a stage on the workers of a client.

    Parameters
    ----------
    client : distributed.Client
    progress : bool or callable, optional
    """

    client: Any
    progress: ProgressArgument = None
    summary: ClusterSummary = field(default_factory=ClusterSummary)

    def run(self, stage: str, tasks: Sequence[Task]) -> list[TaskRecord]:
        """Run the tasks and return when all results are written."""
        started = time.perf_counter()
        records: list[TaskRecord] = self.call(stage, tasks)
        self._note(stage, records, time.perf_counter() - started)
        return records

    def call(self, stage: str, tasks: Sequence[RemoteCall]) -> list[Any]:
        """Return what the tasks return, in their order."""
        found = []
        for answer in self._collect(stage, tasks):
            if answer.error is not None:
                kind, message = answer.error
                raise {"InputError": InputError, "FileFormatError": FileFormatError}.get(kind, ClusterError)(message)
            found.append(answer.found)
            known = self.summary.peak_bytes.get(answer.worker, 0)
            self.summary.peak_bytes[answer.worker] = max(known, answer.peak_bytes)
        return found

    def _collect(self, stage: str, tasks: Sequence[RemoteCall]) -> list[Answer]:
        import pickle

        import labeltrees

        run = uuid.uuid4().hex[:8]  # a key is never used twice, so that an old failure is not remembered
        self.summary.scheduler_bytes += sum(len(pickle.dumps(task)) for task in tasks)
        futures: list[Any] = []
        try:
            with asking_cluster(stage):
                futures = [
                    self.client.submit(
                        run_on_worker,
                        task,
                        labeltrees.__version__,
                        key=f"{task.name}-{run}",
                        retries=RETRIES,
                        pure=False,
                    )
                    for task in tasks
                ]
                self._wait(stage, futures)
                failed = next((future.exception() for future in futures if future.status == "error"), None)
                if failed is None:
                    return list(self.client.gather(futures))
        finally:
            _release(self.client, futures)
        raise _failure(stage, failed) from failed

    def _wait(self, stage: str, futures: list[Any]) -> None:
        distributed = import_distributed()
        seen = time.monotonic()  # when there was last a worker
        with watch(stage, len(futures), self.progress) as advance:
            while True:
                if self.client.status not in ("running", "connecting"):
                    message = f"the client is {self.client.status}"
                    raise OSError(message)
                try:
                    distributed.wait(futures, timeout=_SECONDS_BETWEEN_LOOKS)
                    done = len(futures)
                except TimeoutError:
                    done = sum(future.done() for future in futures)
                    seen = self._look_for_workers(stage, seen)
                if advance is not None:
                    advance(done)
                if done == len(futures) or any(future.status in ("error", "cancelled", "lost") for future in futures):
                    return

    def _look_for_workers(self, stage: str, seen: float) -> float:
        """Return when there was last a worker; raise `ClusterError` if that is long ago."""
        now = time.monotonic()
        if self.client.scheduler_info()["workers"]:
            return now
        if now - seen > SECONDS_WITHOUT_WORKERS:
            message = (
                f"{stage}: the cluster has had no workers for {SECONDS_WITHOUT_WORKERS:.0f} s; start some and repeat "
                "the same call: it continues with the results in the work folder"
            )
            raise ClusterError(message)
        return seen

    def _note(self, stage: str, records: list[TaskRecord], seconds: float) -> None:
        summary = self.summary
        summary.n_tasks += len(records)
        summary.n_reused += sum(record.was_finished for record in records)
        summary.task_seconds += sum(record.seconds for record in records)
        summary.bytes_written += sum(record.n_bytes for record in records)
        summary.seconds[stage] = summary.seconds.get(stage, 0.0) + seconds


def _failure(stage: str, error: BaseException) -> ClusterError:
    """Return the error for a task that failed in all its attempts."""
    finished = "finished results stay in the work folder, and the same call continues with them"
    if isinstance(error, import_distributed().KilledWorker):
        message = (
            f"{stage}: a task has lost several workers in turn. They probably ran out of memory: give each worker more "
            f"memory; {finished} ({error})"
        )
    elif isinstance(error, MemoryError):
        message = f"{stage}: a worker ran out of memory: give each worker more; {finished}"
    elif isinstance(error, OSError):
        where = f" ({error.filename})" if error.filename else ""
        message = f"{stage}: {error.strerror or error} on a worker{where}: repair this; {finished}"
    else:
        message = f"{stage}: a task failed with {error!r}; {finished}"
    return ClusterError(message)


def _release(client: Any, futures: list[Any]) -> None:
    for future in futures:
        try:
            if client.status == "running" and future.status == "pending":
                future.cancel()
            future.release()
        except Exception:
            return
