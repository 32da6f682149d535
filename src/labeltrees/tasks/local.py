"""Running tasks in this process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice

from labeltrees._progress import ProgressArgument
from labeltrees.tasks.results import MemoryResults, Results
from labeltrees.tasks.task import Runner, Task, TaskMemory, TaskRecord


class LocalRunner(Runner):
    """Runs tasks in this process: one after the other, or several at a time in a thread pool.

    Parameters
    ----------
    results : Results, optional
        By default results stay in memory.
    progress : bool or callable(done, total), optional
    memory : TaskMemory, optional
    n_jobs : int, optional
        Threads per task, as in scikit-learn.
    n_workers : int
        How many tasks run at the same time.
    """

    n_workers = 1

    def __init__(
        self,
        results: Results | None = None,
        progress: ProgressArgument = None,
        memory: TaskMemory | None = None,
        n_jobs: int | None = None,
        n_workers: int = 1,
    ) -> None:
        self.results = MemoryResults() if results is None else results
        self.progress, self.memory, self.n_jobs, self.n_workers = progress, memory, n_jobs, n_workers

    def stream(self, stage: str, tasks: Iterable[Task]) -> Iterator[TaskRecord]:
        """Run tasks and yield their records."""
        if self.n_workers == 1:
            for task in tasks:
                yield task.run(self.results)
            return
        waiting = iter(tasks)
        running: set[Future[TaskRecord]] = set()
        with ThreadPoolExecutor(self.n_workers) as pool:
            while True:
                free = self.n_workers - len(running)
                running |= {pool.submit(task.run, self.results) for task in islice(waiting, free)}
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
