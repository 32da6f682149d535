"""Types of the native module."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Float32s = NDArray[np.float32]
Float64s = NDArray[np.float64]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Progress = Callable[[int], object] | None

# simd
def available_kernels() -> list[str]: ...
def active_kernels() -> str: ...
def use_kernels(name: str) -> bool: ...
def gather_dot(columns: Int32s, values: Float32s, dense: Float32s) -> float: ...
