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
from labeltrees.dask.collections import as_parts
from labeltrees.models.linear.estimator import LabelTreeClassifier
from labeltrees.models.linear.in_parts.fit import PartsFit
from labeltrees.models.linear.in_parts.local import WORK_FOLDER, check_in_parts
from labeltrees.tasks.on_dask import DaskRunner, import_distributed

_logger = logging.getLogger("labeltrees")


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
    with _work_folder(parts, work_folder) as folder:
        runner = DaskRunner(client, folder, progress or bool(model.verbose), memory_per_worker)
        if progress:
            runner.show_dashboard()
        data = as_parts(client, parts, Y, folder, model, label_names)
        runner.check_folder("work_folder")
        PartsFit(model, data, runner, tree_jobs=runner.threads_of_host).run(label_names)
    model.cluster_summary_ = runner.summary
    if progress:
        for line in runner.summary.lines():
            _logger.info(line)
    return model


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
