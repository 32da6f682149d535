"""Options for where a model is trained: within a memory limit, or on a cluster."""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import click

from labeltrees.cli.command import rare_option
from labeltrees.cli.options import add_options, refuse_option
from labeltrees.errors import InputError

_logger = logging.getLogger("labeltrees")
_CLUSTER_OPTIONS = [
    click.option(
        "--cluster", metavar="local|ADDRESS", help="Train on a Dask cluster: local processes, or a scheduler's address."
    ),
    rare_option("--workers", type=click.IntRange(1), help="Processes of --cluster local. [default: one per core]"),
    rare_option("--memory-per-worker", metavar="SIZE", help="Memory of a worker, such as 4GiB. [default: its limit]"),
]
_OPTIONS = [
    click.option("--max-memory", metavar="SIZE", help="Read DATA part by part if training would take more than this."),
    *_CLUSTER_OPTIONS,
    rare_option(
        "--work-folder",
        type=click.Path(file_okay=False),
        help="Folder for task results, from which an interrupted training continues. [default: temporary]",
    ),
]


@dataclass(frozen=True)
class TrainingPlace:
    """Where to train: the options as they were given."""

    cluster: str | None
    workers: int | None
    memory_per_worker: str | None
    max_memory: str | None = None
    work_folder: str | None = None

    @property
    def in_parts(self) -> bool:
        """Whether training reads parts, even if DATA is not in parts yet."""
        return any(option is not None for option in (self.max_memory, self.cluster, self.work_folder))

    def check(self) -> None:
        """Raise `InputError` for options that cannot be combined."""
        if self.cluster is None:
            for name in ("workers", "memory_per_worker"):
                if getattr(self, name) is not None:
                    message = f"--{name.replace('_', '-')} needs --cluster"
                    raise InputError(message)
        elif self.max_memory is not None:
            refuse_option("--max-memory", "--cluster", "give --memory-per-worker")
        elif self.cluster != "local" and self.workers is not None:
            refuse_option("--workers", "the address of a cluster", "its workers are running already")

    @contextmanager
    def client(self) -> Iterator[Any]:
        """Yield a client for the cluster; None without --cluster."""
        if self.cluster is None:
            yield None
            return
        from labeltrees.tasks.on_dask import connect

        with connect(self.cluster, self.workers, self.memory_per_worker) as client:
            yield client


def cluster_options(command: Any) -> Any:
    """Add the options for training on parts or on a cluster; the command gets them as one TrainingPlace, `place`."""
    return add_options(_OPTIONS)(_packed(command, ("max_memory", "work_folder")))


def only_cluster_options(command: Any) -> Any:
    """Add the options for a cluster to a command that reads DATA into memory."""
    return add_options(_CLUSTER_OPTIONS)(_packed(command))


def _packed(command: Any, others: tuple[str, ...] = ()) -> Any:
    @functools.wraps(command)
    def packed(*arguments: Any, **given: Any) -> Any:
        names = ("cluster", "workers", "memory_per_worker", *others)
        place = TrainingPlace(**{name: given.pop(name) for name in names})
        place.check()
        return command(*arguments, place=place, **given)

    return packed
