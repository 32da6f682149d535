"""The packages of the extra ``labeltrees[dask]``, imported when they are needed."""

from __future__ import annotations

from typing import Any

from labeltrees._extras import import_extra


def import_distributed() -> Any:
    """Return the module `distributed`, or raise the error that names the extra."""
    return import_extra("distributed", "dask", "training on a cluster")


def import_dask() -> Any:
    """Return the module `dask`, or raise the error that names the extra."""
    return import_extra("dask", "dask", "training on a cluster")
