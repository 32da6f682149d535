"""Running tasks on a Dask cluster that may lose workers at any time (extra ``labeltrees[dask]``)."""

from __future__ import annotations

import functools
import logging
import os
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from joblib import parallel_config

from labeltrees._extras import import_extra
from labeltrees._memory import parse_bytes, peak_bytes
from labeltrees._progress import ProgressArgument
from labeltrees._validation import check_integer, refuse
from labeltrees.errors import FileFormatError, InputError, LabelTreesError
from labeltrees.tasks.results import FolderResults
from labeltrees.tasks.task import Runner, Task, TaskMemory, TaskRecord

RETRIES = 3  # of a failed task: the cause may be the worker, such as a full disk
LOST_WORKERS = 20  # that a task may lose before it counts as the cause
SECONDS_WITHOUT_WORKERS = 300.0  # lost workers are usually started again within seconds
SECONDS_TO_CONNECT = 10
SECONDS_TO_WARN = 600.0  # without any finished task in a stage
# Share of a worker's memory for its tasks. The rest is for the interpreter, for pages of mapped files, and for Dask,
# which pauses a worker at 80 % of its limit.
SHARE_FOR_TASK = 0.5
_LEAST_BYTES = 64 * 2**20  # for a task
_SECONDS_BETWEEN_LOOKS = 0.5
_SECONDS_BETWEEN_QUESTIONS = 0.2
_SETTINGS: dict[str, Any] = {
    "distributed.scheduler.allowed-failures": LOST_WORKERS,
    # Dask makes malloc return freed memory at once. Tasks allocate many large arrays, and each would get new pages.
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,
}
_logger = logging.getLogger("labeltrees")


def import_distributed() -> Any:
    """Return the module `distributed`, or raise the error that names the extra."""
    return import_extra("distributed", "dask", "training on a cluster")


def import_dask() -> Any:
    """Return the module `dask`, or raise the error that names the extra."""
    return import_extra("dask", "dask", "training on a cluster")


class ClusterError(LabelTreesError, RuntimeError):
    """The cluster cannot continue; finished results stay in the work folder."""

    exit_code = 5


@dataclass
class ClusterSummary:
    """Statistics of a fit on a cluster.

    Parameters
    ----------
    n_tasks, n_reused : int
        The number of all tasks, and of those whose results existed from an earlier fit.
    task_seconds : float
        Total time of all tasks.
    bytes_written : int
        Size of all results, which workers exchange through files.
    scheduler_bytes : int
        Size of the tasks, which are sent through the scheduler.
    peak_bytes : dict of int
        The peak memory of each worker's process, measured after each task.
    seconds : dict of float
        The time of each stage.
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
    """Turn errors of Dask into `ClusterError`: a lost scheduler raises many different types.

    Errors of tasks are not affected, because workers return them as values.
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


@contextmanager
def connect(
    cluster: str = "local", n_workers: int | None = None, memory_per_worker: int | str | None = None
) -> Iterator[Any]:
    """Yield a client, and close it at the end, together with the cluster if one was started for it.

    Parameters
    ----------
    cluster : str
        "local" starts worker processes on this machine; otherwise the address of a scheduler, such as
        "tcp://10.0.0.1:8786".
    n_workers : int, optional
        For a local cluster; by default one per core.
    memory_per_worker : int or str, optional
        For a local cluster; by default an equal share of the memory.
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
    """Return the smallest memory of a task over all workers: limit / threads. None if there is no limit."""
    given = None if memory_per_worker is None else parse_bytes("memory_per_worker", memory_per_worker)
    shares = ask_workers(client, _limit_and_threads).values()
    limits = [(given or limit) // n_threads for limit, n_threads in shares if given or limit]
    return min(limits) if limits else given


def ask_workers(client: Any, function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
    """Run a function on each worker and return the results by worker; lost workers are left out.

    Raises
    ------
    ClusterError
        If no worker answers within 10 seconds: lost workers are usually restarted sooner.
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


def _limit_and_threads(dask_worker: Any) -> tuple[int | None, int]:
    return dask_worker.memory_manager.memory_limit, dask_worker.state.nthreads


@dataclass(frozen=True)
class Answer:
    """The answer of a worker: the record of a task, or the type and message of an error that a retry would not fix."""

    record: TaskRecord | None
    worker: str
    peak_bytes: int
    error: tuple[str, str] | None = None


def run_on_worker(packed: bytes, version: str) -> Answer:
    """Run a task in a worker process.

    The task and its `Results` are sent as bytes. If Dask had to unpickle an object that cannot be unpickled, for
    example because its files are gone, the worker would lose its connection to the scheduler and end.
    """
    import labeltrees

    worker = _worker_name()
    if labeltrees.__version__ != version:
        message = (
            f"worker {worker} has labeltrees {labeltrees.__version__}, the client {version}: install the same version "
            "on all machines"
        )
        return Answer(None, worker, 0, ("ClusterError", message))
    task, results = import_distributed().protocol.pickle.loads(packed)
    try:
        # Dask workers cannot start processes, so joblib would allow only one thread; native code uses threads.
        with parallel_config(backend="threading", n_jobs=1):
            record = task.run(results)
    except (InputError, FileFormatError) as error:
        return Answer(None, worker, peak_bytes(), (type(error).__name__, str(error)))
    return Answer(record, worker, peak_bytes())


def _worker_name() -> str:
    try:
        return str(import_distributed().get_worker().address)
    except ValueError:
        return "this process"


class DaskRunner(Runner):
    """Runs tasks on the workers of a Dask cluster, which exchange files in a shared folder.

    Parameters
    ----------
    client : distributed.Client
    folder : path
        Where results are kept, on storage that all workers share.
    progress : bool or callable(done, total), optional
    memory_per_worker : int or str, optional
        By default the smallest memory limit of the workers. The threads of a worker share it; a task may use half of
        its share.

    Attributes
    ----------
    summary : ClusterSummary
    """

    def __init__(
        self,
        client: Any,
        folder: str | os.PathLike[str],
        progress: ProgressArgument = None,
        memory_per_worker: int | str | None = None,
    ) -> None:
        if not isinstance(client, import_distributed().Client):
            refuse("client", "a distributed.Client (sweep and choose also take a runner of labeltrees.tasks)", client)
        self.client, self.progress = client, progress
        self.results = FolderResults(Path(folder))
        self.summary = ClusterSummary()
        self._memory_per_worker = memory_per_worker

    @property
    def n_workers(self) -> int:
        """The number of threads of all workers."""
        with asking_cluster("Starting"):
            return max(sum(map(int, self.client.nthreads().values())), 1)

    @functools.cached_property
    def memory(self) -> TaskMemory | None:  # type: ignore[override]
        """Half of `bytes_per_task`, at least 64 MiB; None if there is no limit."""
        with asking_cluster("Starting"):
            given = bytes_per_task(self.client, self._memory_per_worker)
        if given is None:
            return None
        return TaskMemory(max(int(given * SHARE_FOR_TASK), _LEAST_BYTES), "memory_per_worker", SHARE_FOR_TASK)

    @property
    def threads_of_host(self) -> int:
        """The number of worker threads on the machine with the fewest."""
        threads: dict[str, int] = {}
        with asking_cluster("Starting"):
            for address, n_threads in self.client.nthreads().items():
                host = address.rpartition(":")[0]
                threads[host] = threads.get(host, 0) + n_threads
        return min(threads.values(), default=1)

    def check_folder(self, option: str) -> None:
        """Raise `ClusterError` if a worker does not see the folder, which the user chooses with `option`."""
        folder = self.results.folder
        with asking_cluster("Starting"), tempfile.NamedTemporaryFile(dir=folder, prefix=".seen-") as file:
            seen = ask_workers(self.client, os.path.exists, file.name)
        blind = [worker for worker, exists in seen.items() if exists is not True]
        if blind:
            message = f"{folder} is not seen by worker {blind[0]}: choose a {option} on storage that all workers share"
            raise ClusterError(message)

    def show_dashboard(self) -> None:
        """Log the address of Dask's dashboard, if there is one."""
        link = getattr(self.client, "dashboard_link", None)
        if link:
            _logger.info("Dask dashboard: %s", link)

    def stream(self, stage: str, tasks: Iterable[Task]) -> Iterator[TaskRecord]:
        """Run tasks and yield their records; tasks of an iterator are taken one per idle thread."""
        started = time.perf_counter()
        run = uuid.uuid4().hex[:8]  # keys are unique, so that Dask does not reuse an old failure
        waiting, at_once = iter(tasks), isinstance(tasks, list)
        running: list[Any] = []
        seen = time.monotonic()  # when there was last a worker
        try:
            while True:
                started_now = list(islice(waiting, None if at_once else max(self.n_workers - len(running), 0)))
                with asking_cluster(stage):
                    running += [self._submit(task, run) for task in started_now]
                    if not running:
                        break
                    done, running, seen = self._wait(stage, running, seen, all_of_them=at_once)
                    failed = next((future.exception() for future in done if future.status == "error"), None)
                    answers = [] if failed is not None else self.client.gather(done)
                    keys = [future.key for future in done]
                    _release(self.client, done)  # a kept future would be computed again if its worker is lost
                if failed is not None:
                    raise _failure(stage, failed) from failed
                for key, answer in zip(keys, answers, strict=True):
                    yield self._note(stage, key.rpartition("-")[0], answer)
        finally:
            _release(self.client, running)
            seconds = time.perf_counter() - started
            self.summary.seconds[stage] = self.summary.seconds.get(stage, 0.0) + seconds

    def _submit(self, task: Task, run: str) -> Any:
        import labeltrees

        packed = import_distributed().protocol.pickle.dumps((task, self.results))
        self.summary.scheduler_bytes += len(packed)
        key = f"{task.name}-{run}"
        return self.client.submit(run_on_worker, packed, labeltrees.__version__, key=key, retries=RETRIES, pure=False)

    def _wait(
        self, stage: str, running: list[Any], seen: float, *, all_of_them: bool
    ) -> tuple[list[Any], list[Any], float]:
        """Return the futures that are done, the others, and when there was last a worker."""
        distributed = import_distributed()
        warn_at = time.monotonic() + SECONDS_TO_WARN
        while True:
            if self.client.status not in ("running", "connecting"):
                message = f"the client is {self.client.status}"
                raise OSError(message)
            try:
                # Waiting for each of thousands of tasks would take longer than the tasks, so poll instead.
                when = "ALL_COMPLETED" if all_of_them else "FIRST_COMPLETED"
                distributed.wait(running, timeout=_SECONDS_BETWEEN_LOOKS, return_when=when)
            except TimeoutError:
                seen = self._look_for_workers(stage, seen)
                if time.monotonic() > warn_at:
                    warn_at += SECONDS_TO_WARN
                    self._warn(stage)
            done = [future for future in running if future.done()]
            lost = next((future for future in done if future.status in ("cancelled", "lost")), None)
            if lost is not None:
                message = f"task {lost.key} was {lost.status}"
                raise OSError(message)
            if done:
                finished = {future.key for future in done}
                return done, [future for future in running if future.key not in finished], seen

    def _warn(self, stage: str) -> None:
        """Log which workers have unfinished tasks: only the user knows whether they take too long."""
        busy = [f"{worker} ({len(keys)})" for worker, keys in self.client.processing().items() if keys]
        text = (
            "%s: no task has ended for %.0f s. Workers with tasks: %s. End a worker that hangs: others take its tasks"
        )
        _logger.warning(text, stage, SECONDS_TO_WARN, ", ".join(busy) or "none")

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

    def _note(self, stage: str, name: str, answer: Any) -> TaskRecord:
        """Add a task to the summary and return its record; raise the error that its worker reported."""
        if not isinstance(answer, Answer) or (answer.error is None and getattr(answer.record, "name", None) != name):
            shown = f"{answer!r}"[:200]
            message = f"{stage}: the answer of a worker is not that of the task {name}: {shown}; restart the workers"
            raise ClusterError(message)
        if answer.record is None:
            assert answer.error is not None
            kind, message = answer.error
            raise {"InputError": InputError, "FileFormatError": FileFormatError}.get(kind, ClusterError)(message)
        record, summary = answer.record, self.summary
        summary.n_tasks += 1
        summary.n_reused += record.was_finished
        summary.task_seconds += record.seconds
        summary.bytes_written += record.n_bytes
        known = summary.peak_bytes.get(answer.worker, 0)
        summary.peak_bytes[answer.worker] = max(known, answer.peak_bytes)
        return record


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
