"""Preparing logs on a cluster: the steps of shards as tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labeltrees.logs.steps import Report, ShardStep
from labeltrees.tasks import Outcome, Results, Task
from labeltrees.tasks.on_dask import ClusterSummary, DaskRunner


def run_step(results: Results, *, name: str, number: int, step: ShardStep) -> Outcome:
    """Run a step, which writes its own files."""
    step.run()
    return {}, {}


class DaskSteps:
    """Runs the steps of shards on the workers of a client. Lost workers are replaced, as in a fit.

    Parameters
    ----------
    client : distributed.Client
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self.summary = ClusterSummary()
        self.n_workers = DaskRunner(client, ".").n_workers

    def check_folder(self, folder: str) -> None:
        """Raise `ClusterError` if there are no workers, or one of them does not see the folder."""
        DaskRunner(self._client, folder).check_folder("temporary_folder")

    def run(self, stage: str, steps: Sequence[ShardStep], report: Report) -> list[dict[str, Any]]:
        """Run the steps and return their records."""
        if steps[0].shards.in_memory:  # nothing is in files, so there is nothing that workers could share
            return [step.run() for step in steps]
        tasks = [Task(run_step, {"name": step.name, "number": step.number}, {"step": step}) for step in steps]
        runner = DaskRunner(self._client, steps[0].shards.folder)
        runner.summary = self.summary
        runner.run(stage, tasks, lambda done, total: report(done / total))
        return [step.run() for step in steps]  # reads the records that workers have written
