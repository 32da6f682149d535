"""Training on a Dask cluster, with the same bytes as on one machine (extra ``labeltrees[dask]``)."""

from labeltrees.dask.estimator import DaskLabelTreeClassifier, fit
from labeltrees.tasks.on_dask import ClusterError, ClusterSummary

__all__ = ["ClusterError", "ClusterSummary", "DaskLabelTreeClassifier", "fit"]
