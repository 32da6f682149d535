"""Types of the native module."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Float32s = NDArray[np.float32]
Float64s = NDArray[np.float64]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
UInt8s = NDArray[np.uint8]
Progress = Callable[[int], object] | None

# simd
def available_kernels() -> list[str]: ...
def active_kernels() -> str: ...
def use_kernels(name: str) -> bool: ...
def gather_dot(columns: Int32s, values: Float32s, dense: Float32s) -> float: ...

# search
def half_round_trip(values: Float32s) -> Float32s: ...
def pack_chunks(
    child_ptr: Int64s,
    children: Int32s,
    indptr: Int64s,
    features: Int32s,
    values: Float32s,
    bias: Float32s,
    n_features: int,
    feature_rank: Int32s,
    node_mass: Float64s,
    n_threads: int,
    progress: Progress,
) -> tuple[UInt8s, Int64s]: ...
def pack_matrix_chunks(
    child_ptr: Int64s,
    children: Int32s,
    matrix: Float32s,
    bias: Float32s,
    n_features: int,
    node_mass: Float64s,
    half: bool,
    n_threads: int,
    progress: Progress,
) -> tuple[UInt8s, Int64s]: ...

class SearchEngine:
    def __init__(self, n_features: int, n_labels: int, matrices: bool, normalize: bool, power: float) -> None: ...
    def add_tree(
        self,
        chunks: UInt8s,
        offsets: Int64s,
        feature_rank: Int32s,
        child_ptr: Int64s,
        children: Int32s,
        checked: bool,
        source: str,
    ) -> None: ...
    def check_all(self) -> None: ...
    def search(
        self,
        indptr: Int64s | None,
        features: Int32s | None,
        values: Float32s,
        n_queries: int,
        k: int,
        mode: str,
        beam: int,
        prune: bool,
        max_chunks: int,
        max_microseconds: int,
        candidate_ptr: Int64s | None,
        candidates: Int32s | None,
        exclude_ptr: Int64s | None,
        exclude: Int32s | None,
        n_threads: int,
        labels: Int64s,
        scores: Float32s,
        chunks: Int64s | None,
        classifiers: Int64s | None,
        depth: Int32s | None,
        microseconds: Float32s | None,
        partial: UInt8s | None,
    ) -> None: ...

class Predictor:
    def __init__(
        self,
        engine: SearchEngine,
        k: int,
        mode: str,
        beam: int,
        prune: bool,
        max_chunks: int,
        max_microseconds: int,
    ) -> None: ...
    def __call__(
        self, indices: object, values: object | None = None, k: int | None = None
    ) -> tuple[Int64s, Float32s]: ...

# storage
def xxh64(bytes: UInt8s) -> int: ...
def copy_to_huge_pages(bytes: UInt8s) -> UInt8s: ...
def exchange_paths(first: str, second: str) -> int: ...
