"""A folder with a few arrays, for the tests of storage."""

import numpy as np
import pytest

from labeltrees.storage import save_arrays

ARRAYS = {
    "weights": np.linspace(0, 1, 1000, dtype=np.float32).reshape(10, 100),
    "ids": np.arange(7, dtype=np.int32),
    "tree0.offsets": np.arange(5),
    "bytes": np.arange(256, dtype=np.uint8),
    "flags": np.array([True, False]),
    "nothing": np.zeros(0, np.float64),
}
PARAMETERS = {"tradeoff": 1.0, "names": ["é", "b"], "nested": {"k": None}}


@pytest.fixture
def folder(tmp_path):
    save_arrays(tmp_path / "model", "Example", PARAMETERS, ARRAYS)
    return tmp_path / "model"
