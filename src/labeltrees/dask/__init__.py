"""Training on a Dask cluster; the model is byte-identical to one from one machine (extra ``labeltrees[dask]``)."""

from labeltrees.dask.estimator import DaskLabelTreeClassifier, fit
from labeltrees.tasks.on_dask import ClusterError, ClusterSummary

__all__ = ["ClusterError", "ClusterSummary", "DaskLabelTreeClassifier", "fit"]
