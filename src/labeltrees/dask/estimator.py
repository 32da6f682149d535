"""DaskLabelTreeClassifier: LabelTreeClassifier trained on a Dask cluster."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from sklearn.base import clone

from labeltrees.dask.collections import is_array, is_bag, predict_lazily
from labeltrees.dask.fitting import fit
from labeltrees.models.linear.estimator import LabelTreeClassifier
from labeltrees.tasks.on_dask import import_distributed

_OWN = ("client",)  # parameters that LabelTreeClassifier does not have


@dataclass(eq=False, repr=False, kw_only=True)
class DaskLabelTreeClassifier(LabelTreeClassifier):
    """`LabelTreeClassifier` on a Dask cluster: the same parameters and, for the same data, the same model.

    Parameters
    ----------
    client : distributed.Client, optional
        By default the current client of this process. It is never pickled or saved.
    **parameters
        Of `LabelTreeClassifier`.

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
        label_names : L str, optional
        work_folder : path, optional
            Seen by all workers; a fit that was interrupted continues with the results in it.
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
        """Return the k best labels and their scores; of a Dask array or bag as lazy collections."""
        if is_array(X) or is_bag(X):
            return predict_lazily(self.to_local(), X, k, **options)
        return super().predict_topk(X, k, **options)

    def to_local_parameters(self) -> LabelTreeClassifier:
        """Return an ordinary classifier with the same parameters, not fitted."""
        parameters = {name: value for name, value in self.get_params(deep=False).items() if name not in _OWN}
        return LabelTreeClassifier(**parameters)

    def to_local(self) -> LabelTreeClassifier:
        """Return the fitted model as an ordinary `LabelTreeClassifier`."""
        local = self.to_local_parameters()
        own = set(self.get_params(deep=False))
        local.__dict__.update({name: value for name, value in vars(self).items() if name not in own})
        return local

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Save the model as an ordinary one; `labeltrees.load` opens it."""
        self.to_local().save(folder)

    def __sklearn_clone__(self) -> DaskLabelTreeClassifier:
        # A client cannot be copied: clones share it.
        parameters = clone(self.to_local_parameters()).get_params(deep=False)
        return type(self)(client=self.client, **parameters)

    def __getstate__(self) -> Any:
        state: Any = super().__getstate__()
        return {**state, "client": None}
