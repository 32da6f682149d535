"""Optional dependencies, installed as extras."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from labeltrees.errors import MissingExtraError


def import_extra(package: str, extra: str, purpose: str) -> Any:
    """Import a package of an extra.

    Parameters
    ----------
    package : str
    extra : str
        Name of the extra in pyproject.toml.
    purpose : str
        The feature that needs it, at the start of the message: ``"reading Parquet files"``.

    Raises
    ------
    MissingExtraError
        If the package is not installed.

    Examples
    --------
    >>> import_extra("json", "logs", "this example").__name__
    'json'
    """
    try:
        return import_module(package)
    except ImportError as error:
        message = f"{purpose} needs {package}, which is not installed: pip install 'labeltrees[{extra}]'"
        raise MissingExtraError(message) from error
