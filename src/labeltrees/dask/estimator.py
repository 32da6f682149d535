"""Training on a Dask cluster: the function `fit`, and the estimator `DaskLabelTreeClassifier`."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass, field
from typing import Any

from sklearn.base import clone

from labeltrees._settings import check_settings, refusing
from labeltrees.dask.collections import as_parts, is_array, is_bag, predict_lazily
from labeltrees.models.linear.estimator import LabelTreeClassifier
from labeltrees.models.linear.fit import fit as fit_points
from labeltrees.models.linear.fit import work_folder_for
from labeltrees.models.linear.points import read_parts, refuse_in_parts
from labeltrees.models.linear.settings import GONE
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

    Four parameters matter most. `client` is the cluster. `parts` is the data: a dataset in parts is read by the workers
    directly, while Dask collections are first written as parts, through the client. `work_folder` lets an interrupted
    fit continue. `memory_per_worker` limits the size of a task, so that workers do not run out of memory.

    Parameters
    ----------
    client : distributed.Client
    parts : PartsDataset, path, Dask array with sparse blocks, or Dask bag of (text, labels)
        Arrays and bags are written to the work folder as parts first.
    Y : Dask array with sparse blocks, optional
        The labels for an array `parts`.
    model : LabelTreeClassifier, optional
        The model to fit, in place. By default a new one.
    work_folder : path, optional
        A folder that all workers can access. Results of tasks are written here, and an interrupted fit continues with
        them. By default a temporary folder next to the parts, removed at the end.
    memory_per_worker : int or str, optional
        By default the smallest memory limit of the workers. The threads of a worker share it; a task is planned to use
        half of its share.
    label_names : sequence of L str, optional
    progress : bool
        Show a progress bar per stage, and a summary at the end.
    **parameters
        Parameters of `LabelTreeClassifier`, set on `model`.

    Returns
    -------
    LabelTreeClassifier
        With `cluster_summary_`, a ClusterSummary.
    """
    import_distributed()
    model = LabelTreeClassifier(**parameters) if model is None else model.set_params(**parameters)
    check_settings(model)
    refuse_in_parts(model)
    beside = getattr(parts, "folder", None) or (parts if isinstance(parts, str | os.PathLike) else None)
    with work_folder_for(beside, work_folder) as folder:
        runner = DaskRunner(client, folder, progress or bool(model.verbose), memory_per_worker)
        if progress:
            runner.show_dashboard()
        data = as_parts(client, parts, Y, folder)
        runner.check_folder("work_folder")
        fit_points(model, read_parts(model, data, label_names), runner)
    model.cluster_summary_ = runner.summary
    if progress:
        for line in runner.summary.lines():
            _logger.info(line)
    return model


_OWN = ("client",)  # parameters that LabelTreeClassifier does not have


@refusing(GONE)
@dataclass(eq=False, repr=False, kw_only=True)
class DaskLabelTreeClassifier(LabelTreeClassifier):
    """`LabelTreeClassifier` on a Dask cluster: the same parameters and, for the same data, the same model.

    Four parameters matter most, as for `LabelTreeClassifier`: `tradeoff` and `fanout` shape the tree, `beam` limits the
    search, and `C` is the cost of errors. A number for `C` saves the time in which "auto" chooses it.

    Parameters
    ----------
    client : distributed.Client, optional
        By default the current client of this process. It is never pickled or saved.
    **parameters
        Parameters of `LabelTreeClassifier`.

    Attributes
    ----------
    client_ : distributed.Client
    cluster_summary_ : ClusterSummary
        Tasks, bytes moved and peak memory of the last fit.
    """

    client: Any = field(default=None, metadata={})

    def fit(  # type: ignore[override]
        self,
        X: Any,
        Y: Any = None,
        *,
        label_names: Any = None,
        work_folder: str | os.PathLike[str] | None = None,
        memory_per_worker: int | str | None = None,
    ) -> DaskLabelTreeClassifier:
        """Fit the model on the cluster.

        Parameters
        ----------
        X : PartsDataset, path of one, Dask array with sparse blocks, or Dask bag of (text, labels)
        Y : Dask array with sparse blocks, optional
            The labels for an array X.
        label_names : sequence of L str, optional
        work_folder : path, optional
            A folder that all workers can access; an interrupted fit continues with the results in it.
        memory_per_worker : int or str, optional
            By default the smallest memory limit of the workers.
        """
        local = fit(
            self.client_,
            X,
            Y,
            model=clone(self.to_local_parameters()),
            label_names=label_names,
            work_folder=work_folder,
            memory_per_worker=memory_per_worker,
            progress=bool(self.verbose),
        )
        fitted = {name: value for name, value in vars(local).items() if name not in local.get_params(deep=False)}
        self.__dict__.update(fitted)
        return self

    @property
    def client_(self) -> Any:
        """The client in use."""
        return import_distributed().get_client() if self.client is None else self.client

    def predict_topk(self, X: Any, k: int = 5, **options: Any) -> Any:
        """Return the k best labels and their scores; for a Dask array or bag, as lazy collections."""
        if is_array(X) or is_bag(X):
            return predict_lazily(self.to_local(), X, k, **options)
        return super().predict_topk(X, k, **options)

    def to_local_parameters(self) -> LabelTreeClassifier:
        """Return an unfitted `LabelTreeClassifier` with the same parameters."""
        parameters = {name: value for name, value in self.get_params(deep=False).items() if name not in _OWN}
        return LabelTreeClassifier(**parameters)

    def to_local(self) -> LabelTreeClassifier:
        """Return the fitted model as an ordinary `LabelTreeClassifier`."""
        local = self.to_local_parameters()
        own = set(self.get_params(deep=False))
        local.__dict__.update({name: value for name, value in vars(self).items() if name not in own})
        return local

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Save the model as a `LabelTreeClassifier`; `labeltrees.load` opens it."""
        self.to_local().save(folder)

    def __sklearn_clone__(self) -> DaskLabelTreeClassifier:
        # A client cannot be copied: clones share it.
        parameters = clone(self.to_local_parameters()).get_params(deep=False)
        return type(self)(client=self.client, **parameters)

    def __getstate__(self) -> Any:
        state: Any = super().__getstate__()
        return {**state, "client": None}
