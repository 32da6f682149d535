"""Training on parts and on a Dask cluster: the same bytes, lost workers, memory, time."""
