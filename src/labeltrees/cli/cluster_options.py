"""Options for where a model is trained: within a limit of memory, or on a cluster."""

from __future__ import annotations

import functools
import logging
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from labeltrees.cli.convert import convert_file
from labeltrees.cli.options import add_options, refuse_option
from labeltrees.cli.output import step
from labeltrees.data import Dataset, TfidfVectorizer, open_parts
from labeltrees.data.parts.writer import POINTS_PER_PART
from labeltrees.data.read_data import DataOptions, find_parts
from labeltrees.errors import InputError
from labeltrees.models.linear.estimator import LabelTreeClassifier

_logger = logging.getLogger("labeltrees")
_CLUSTER_OPTIONS = [
    click.option(
        "--cluster", metavar="local|ADDRESS", help="Train on a Dask cluster: local processes, or a scheduler's address."
    ),
    click.option("--workers", type=click.IntRange(1), help="Processes of --cluster local. [default: one per core]"),
    click.option("--memory-per-worker", metavar="SIZE", help="Memory of a worker, such as 4GiB. [default: its limit]"),
]
_OPTIONS = [
    click.option("--max-memory", metavar="SIZE", help="Read DATA part by part if training would take more than this."),
    *_CLUSTER_OPTIONS,
    click.option(
        "--work-folder",
        type=click.Path(file_okay=False),
        help="Where results of tasks are written; an interrupted training continues with them. [default: temporary]",
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
        """Refuse options that do not belong together."""
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
        """Yield a client for the cluster, None if there is none."""
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


def fit_in_parts(
    model: LabelTreeClassifier,
    data: str,
    output: str,
    place: TrainingPlace,
    reading: DataOptions,
    vectorizer: TfidfVectorizer | None,
    label_names_of: Callable[[Dataset], Any],
    label_texts: Any,
    show_progress: bool,
) -> None:
    """Fit a model on DATA in parts; other data is converted first, beside the model."""
    model.set_params(vectorizer=None)
    with ExitStack() as stack:
        found = find_parts(data, "train")
        if found is None:
            if reading.test_share is not None:
                message = "--test-share cannot be combined with --cluster or --max-memory: run labeltrees convert first"
                raise InputError(message)
            beside = stack.enter_context(tempfile.TemporaryDirectory(prefix=".parts-", dir=Path(output).parent))
            with step("Converting", show_progress):
                convert_file(data, f"{beside}/parts", POINTS_PER_PART, reading, vectorizer)
            data = f"{beside}/parts"
        elif vectorizer is not None or (reading.label_names, reading.feature_names) != (None, None):
            message = f"{data}: is in parts; give names and options of texts to labeltrees convert"
            raise InputError(message)
        parts = open_parts(data if found is None else found)
        if place.cluster is None:
            model.fit(
                parts.with_label_names(label_names_of(parts)),
                label_texts=label_texts,
                max_memory=place.max_memory,
                work_folder=place.work_folder,
            )
            return
        if label_texts is not None:
            refuse_option("--label-texts", "--cluster", "parts do not hold texts of labels")
        from labeltrees.dask import fit

        client = stack.enter_context(place.client())
        fit(
            client,
            parts,
            model=model,
            label_names=label_names_of(parts),
            work_folder=place.work_folder,
            memory_per_worker=place.memory_per_worker if place.cluster != "local" else None,
            progress=show_progress,
        )
