"""The packages of the extra ``labeltrees[dask]``, imported when they are needed."""

from __future__ import annotations

from typing import Any

from labeltrees.errors import MissingExtraError


def import_distributed() -> Any:
    """Return the module `distributed`, or raise the error that names the extra."""
    try:
        import distributed
    except ImportError as error:
        message = "training on a cluster needs Dask: pip install 'labeltrees[dask]'"
        raise MissingExtraError(message) from error
    return distributed


def import_dask() -> Any:
    """Return the module `dask`, or raise the error that names the extra."""
    import_distributed()
    import dask

    return dask
