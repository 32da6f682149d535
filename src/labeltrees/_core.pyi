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

# labels
def transpose_indicator(indptr: Int64s, indices: Int32s, n_columns: int) -> tuple[Int64s, Int32s]: ...
def greedy_cover(
    indptr: Int64s, indices: Int32s, point_weights: Float64s, whole_weights: bool, covered: Float64s
) -> None: ...
def pifa_sparse(
    label_ptr: Int64s,
    points: Int32s,
    indptr: Int64s,
    indices: Int32s,
    values: Float32s,
    n_columns: int,
    canonical: bool,
    n_threads: int,
) -> tuple[Int64s, Int32s, Float32s]: ...
def pifa_dense(
    label_ptr: Int64s, points: Int32s, x: Float32s, n_columns: int, n_threads: int, out: Float32s
) -> None: ...
