"""Preparing logs on a cluster: the steps of shards as tasks."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from labeltrees.dask.extra import import_distributed
from labeltrees.dask.runner import ClusterError, ClusterSummary, DaskRunner, asking_cluster
from labeltrees.logs.steps import Report, ShardStep
from labeltrees.models.linear.in_parts.runner import TaskRecord


@dataclass(frozen=True)
class _StepTask:
    """A step in the form that `DaskRunner` runs."""

    step: ShardStep

    @property
    def name(self) -> str:
        return f"{self.step.name}-{self.step.number:05d}"

    def run(self) -> TaskRecord:
        started = time.perf_counter()
        was_finished = self.step.shards.finished(self.step.name, self.step.number) is not None
        self.step.run()
        return TaskRecord(self.name, time.perf_counter() - started, 0, was_finished)


class DaskSteps:
    """Runs the steps of shards on the workers of a client. Lost workers are replaced, as in a fit.

    Parameters
    ----------
    client : distributed.Client
    """

    def __init__(self, client: Any) -> None:
        import_distributed()
        self._client = client
        self.summary = ClusterSummary()
        with asking_cluster("Starting"):
            self.n_workers = max(sum(client.nthreads().values()), 1)

    def check_folder(self, folder: str) -> None:
        """Raise `ClusterError` if there are no workers, or one of them does not see the folder."""
        with asking_cluster("Starting"), tempfile.NamedTemporaryFile(dir=folder, prefix=".seen-") as file:
            seen = self._client.run(os.path.exists, file.name)
        if not seen:
            message = "the cluster has no workers: start some, or wait until they have joined"
            raise ClusterError(message)
        blind = [worker for worker, exists in seen.items() if exists is not True]
        if blind:
            where = f"{folder} is not seen by worker {blind[0]}"
            message = f"{where}: choose a temporary_folder on storage that all workers share"
            raise ClusterError(message)

    def run(self, stage: str, steps: Sequence[ShardStep], report: Report) -> list[dict[str, Any]]:
        """Run the steps and return their records."""
        if steps[0].shards.in_memory:  # nothing is in files, so there is nothing that workers could share
            return [step.run() for step in steps]
        tasks: Any = [_StepTask(step) for step in steps]
        DaskRunner(self._client, lambda done, total: report(done / total), self.summary).run(stage, tasks)
        return [step.run() for step in steps]  # reads the records that workers have written
