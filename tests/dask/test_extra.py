"""Without Dask the error names the extra."""

import sys

import pytest

from labeltrees.dask.extra import import_distributed
from labeltrees.errors import MissingExtraError


def test_the_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"labeltrees\[dask\]"):
        import_distributed()
