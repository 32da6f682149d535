"""Steps of a log that work on one shard each. Their results are files, so any process can run them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from labeltrees.logs.shards import Shards

Report = Callable[[float], object]  # gets the share of the work that is done


@dataclass(frozen=True)
class ShardStep:
    """One step for one shard.

    Parameters
    ----------
    name : str
        Of the record that says that the step is finished.
    function : callable(shards, number, **arguments) -> record
        A function of a module, so that other processes can import it. It keeps its frames in `shards` and returns
        JSON values. Two runs give the same frames, perhaps with their rows in another order.
    shards : Shards
    number : int
        Of the shard.
    arguments : dict
    """

    name: str
    function: Callable[..., dict[str, Any]]
    shards: Shards
    number: int
    arguments: dict[str, Any]

    def run(self) -> dict[str, Any]:
        """Return the record of the step; do the work unless this or another process has finished it."""
        record = self.shards.finished(self.name, self.number)
        if record is None:
            record = self.function(self.shards, self.number, **self.arguments)
            self.shards.finish(self.name, self.number, record)
        return record


class StepRunner(Protocol):
    """Runs steps and returns their records in the same order; `n_workers` can run at a time."""

    n_workers: int

    def check_folder(self, folder: str) -> None:
        """Raise an error if a worker cannot use the folder of the shards."""

    def run(self, stage: str, steps: Sequence[ShardStep], report: Report) -> list[dict[str, Any]]:
        """Run the steps in any order; `stage` says what they do."""


class SerialSteps:
    """Runs steps one after the other in this process. Polars uses all cores for each."""

    n_workers = 1

    def check_folder(self, folder: str) -> None:
        """Do nothing: this process has made the folder."""

    def run(self, stage: str, steps: Sequence[ShardStep], report: Report) -> list[dict[str, Any]]:
        """Run the steps."""
        records = []
        for step in steps:
            records.append(step.run())
            report(len(records) / len(steps))
        return records
