"""Fitting a model on a cluster."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from labeltrees._settings import check_settings
from labeltrees.dask.cluster import ask_workers, bytes_per_task, threads_of_host
from labeltrees.dask.collections import as_parts
from labeltrees.dask.extra import import_distributed
from labeltrees.dask.runner import ClusterError, DaskRunner, asking_cluster
from labeltrees.models.linear.estimator import LabelTreeClassifier
from labeltrees.models.linear.in_parts.fit import PartsFit
from labeltrees.models.linear.in_parts.local import WORK_FOLDER, check_in_parts

_logger = logging.getLogger("labeltrees")
# Of a worker's memory: the rest is for the interpreter, for pages of mapped files, and for Dask itself, which pauses a
# worker at 80 % of its limit.
SHARE_FOR_TASK = 0.5
_LEAST_BYTES = 64 * 2**20


def fit(
    client: Any,
    parts: Any,
    Y: Any = None,
    *,
    model: LabelTreeClassifier | None = None,
    work_folder: str | os.PathLike[str] | None = None,
    memory_per_worker: int | str | None = None,
    label_names: Any = None,
    progress: bool = False,
    **parameters: Any,
) -> LabelTreeClassifier:
    """Fit a `LabelTreeClassifier` on a Dask cluster; the result is the same as on one machine, to the last bit.

    Parameters
    ----------
    client : distributed.Client
    parts : PartsDataset, path, Dask array with sparse blocks, or Dask bag of (text, labels)
        Arrays and bags are written to the work folder as parts first.
    Y : Dask array with sparse blocks, optional
        The labels for an array `parts`.
    model : LabelTreeClassifier, optional
        Fitted in place; or give its `parameters`.
    work_folder : path, optional
        Seen by all workers. Results of tasks are written here; a fit that was interrupted continues with them. By
        default a temporary folder beside the parts, removed at the end.
    memory_per_worker : int or str, optional
        By default the smallest memory limit of the workers. The threads of a worker share it; tasks are planned for
        half of their share.
    label_names : L str, optional
    progress : bool
        Show a bar per stage, and at the end a summary.

    Returns
    -------
    LabelTreeClassifier
        With `cluster_summary_`, a ClusterSummary.
    """
    import_distributed()
    model = LabelTreeClassifier(**parameters) if model is None else model.set_params(**parameters)
    check_settings(model)
    check_in_parts(model)
    runner = DaskRunner(client, progress or bool(model.verbose))
    if progress:
        show_dashboard(client)
    with _work_folder(parts, work_folder) as folder:
        data = as_parts(client, parts, Y, folder, model, label_names)
        with asking_cluster("Starting"):
            check_shared(client, folder)
            task_bytes = _task_bytes(client, memory_per_worker)
            tree_jobs = threads_of_host(client)
        PartsFit(model, data, runner, folder, task_bytes, tree_jobs=tree_jobs).run(label_names)
    model.cluster_summary_ = runner.summary
    if progress:
        for line in runner.summary.lines():
            _logger.info(line)
    return model


def _task_bytes(client: Any, memory_per_worker: int | str | None) -> int:
    given = bytes_per_task(client, memory_per_worker)
    return 2**62 if given is None else max(int(given * SHARE_FOR_TASK), _LEAST_BYTES)


@contextmanager
def _work_folder(parts: Any, given: str | os.PathLike[str] | None) -> Iterator[Path]:
    if given is not None:
        folder = Path(os.path.abspath(given)) / WORK_FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        shutil.rmtree(folder, ignore_errors=True)
        return
    beside = getattr(parts, "folder", None) or (parts if isinstance(parts, str | os.PathLike) else None)
    parent = None if beside is None else Path(os.path.abspath(beside)).parent
    usable = parent if parent is not None and os.access(parent, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix=f"{WORK_FOLDER}-", dir=usable, ignore_cleanup_errors=True) as temporary:
        yield Path(temporary)


def show_dashboard(client: Any) -> None:
    """Log the address of Dask's dashboard, if there is one."""
    link = getattr(client, "dashboard_link", None)
    if link:
        _logger.info("Dask dashboard: %s", link)


def check_shared(client: Any, folder: Path, name: str = "work_folder") -> None:
    """Raise `ClusterError` if a worker does not see the folder, which the user chooses with the argument `name`."""
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".seen-") as file:
        seen = ask_workers(client, os.path.exists, file.name)
    blind = [worker for worker, exists in seen.items() if exists is not True]
    if blind:
        message = f"{folder} is not seen by worker {blind[0]}: choose a {name} on storage that all workers share"
        raise ClusterError(message)
