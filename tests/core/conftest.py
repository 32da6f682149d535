"""Fixtures for the tests of the native code."""

import pytest

from labeltrees import _core


@pytest.fixture(params=_core.available_kernels())
def kernels(request):
    """Run a test once per instruction set that this machine has."""
    before = _core.active_kernels()
    assert _core.use_kernels(request.param)
    yield request.param
    _core.use_kernels(before)
