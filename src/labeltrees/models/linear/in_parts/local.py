"""Fitting on parts in this process, within a limit of memory."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labeltrees._memory import free_bytes, parse_bytes
from labeltrees._validation import refuse
from labeltrees.data.parts.parts_dataset import PartsDataset
from labeltrees.models.linear.in_parts.fit import PartsFit
from labeltrees.tasks import FolderResults, LocalRunner, TaskMemory

if TYPE_CHECKING:
    from labeltrees.models.linear.estimator import LabelTreeClassifier

_logger = logging.getLogger("labeltrees.training")
WORK_FOLDER = "labeltrees-fit"  # in the folder that the user names


def fit_parts(
    model: LabelTreeClassifier,
    data: PartsDataset,
    others: Mapping[str, Any],
    max_memory: int | str | None = None,
    work_folder: str | os.PathLike[str] | None = None,
) -> bool:
    """Fit a model part by part; return False, and do nothing, if all points fit into the memory given.

    Parameters
    ----------
    others : mapping
        Further arguments of `fit`, which a dataset in parts has itself.
    """
    limit = free_bytes() * 3 // 4 if max_memory is None else parse_bytes("max_memory", max_memory)
    whole = bytes_in_memory(data)
    if whole <= limit and work_folder is None:
        return False
    for name, value in others.items():
        if value is not None:
            refuse(name, "None for a dataset in parts that is read part by part", value)
    check_in_parts(model)
    _logger.info(
        "Training part by part: up to %.0f MiB at once (all points in memory would take about %.0f MiB)",
        limit / 2**20,
        whole / 2**20,
    )
    with working_folder(data, work_folder) as folder:
        runner = LocalRunner(FolderResults(folder), bool(model.verbose), TaskMemory(limit))
        PartsFit(model, data, runner, model.n_jobs, in_memory=False).run()
    return True


def check_in_parts(model: LabelTreeClassifier) -> None:
    """Refuse settings that need all points in memory."""
    where = "for a dataset in parts that is not read whole: it needs all points in memory (raise max_memory)"
    if model.evidence is not None:
        refuse("evidence", f"None {where}", model.evidence)
    if model.vectorizer is not None:
        refuse("vectorizer", "None for a dataset in parts: give it to `labeltrees convert` or `read_texts`", "one")


def bytes_in_memory(data: PartsDataset) -> int:
    """Return about how much memory a fit takes that holds all points: X, Y, embeddings, and the classifiers."""
    parts = data.manifest.parts
    n_values, n_pairs = sum(part.n_values for part in parts), sum(part.n_pairs for part in parts)
    of_labels = n_pairs * (n_values // max(data.n_points, 1) + 1)
    return n_values * 16 + n_pairs * 24 + of_labels * 24 + data.n_labels * 200 + data.n_features * 16


@contextmanager
def working_folder(data: PartsDataset, given: str | os.PathLike[str] | None) -> Iterator[Path]:
    """Yield a folder for results, removed at the end; after an error it stays if the user has named it."""
    if given is None:
        beside = data.folder.parent
        with tempfile.TemporaryDirectory(
            prefix=f"{WORK_FOLDER}-", dir=beside if os.access(beside, os.W_OK) else None
        ) as temporary:
            yield Path(temporary)
        return
    folder = Path(os.path.abspath(given)) / WORK_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
