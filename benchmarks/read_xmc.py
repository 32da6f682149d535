"""Time read_xmc against scikit-learn's reader on EURLex-4K, plain and compressed.

    python -m benchmarks.read_xmc [--repeats 3]

The readers take turns, and the best time of each counts. Both must give the same matrices. Both run on one thread, so
the processor time, which other programs on the machine disturb less, is told too.
"""

from __future__ import annotations

import argparse
import lzma
import platform
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn
from sklearn.datasets import load_svmlight_file

import labeltrees as lt
from benchmarks.shared_data import data_folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    compressed = data_folder("eurlex4k") / "train.txt.xz"
    content = lzma.decompress(compressed.read_bytes())
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder, "train.txt")
        plain.write_bytes(content)
        # scikit-learn knows no header, so its plain file has none and its compressed one starts behind it.
        headless = Path(folder, "headless.txt")
        headless.write_bytes(content[content.index(b"\n") + 1 :])
        rows = []
        for name, ours, theirs in (
            ("plain", lambda: lt.read_xmc(plain), lambda: read_with_sklearn(str(headless))),
            ("xz", lambda: lt.read_xmc(compressed), lambda: read_xz_with_sklearn(compressed)),
        ):
            check_equal(ours(), theirs())
            our_best, their_best = best_times([ours, theirs], repeats)
            rows.append((name, "labeltrees", our_best, their_best / our_best))
            rows.append((name, "scikit-learn", their_best, their_best / their_best))
    megabytes = len(content) / 1e6
    print(f"EURLex-4K train, {megabytes:.1f} MB of text; best of {repeats}, one thread.")
    print(f"{processor()}; Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__},")
    print(f"scikit-learn {sklearn.__version__}, labeltrees {lt.__version__}\n")
    print("| file | reader | seconds | MB/s of text | times as fast | processor seconds | times as fast |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for file, reader, (wall, cpu), (wall_ratio, cpu_ratio) in rows:
        speed = megabytes / wall
        print(f"| {file} | {reader} | {wall:.3f} | {speed:.0f} | {wall_ratio:.1f} | {cpu:.3f} | {cpu_ratio:.1f} |")


def read_with_sklearn(file: Any) -> Any:
    return load_svmlight_file(file, n_features=5000, dtype=np.float32, multilabel=True, zero_based=True)


def read_xz_with_sklearn(path: Path) -> Any:
    with lzma.open(path) as stream:
        stream.readline()
        return read_with_sklearn(stream)


def best_times(functions: list[Callable[[], Any]], repeats: int) -> list[Any]:
    """Return the least wall-clock and the least processor time of each function."""
    times = np.empty((len(functions), repeats, 2))
    for repeat in range(repeats):
        for i, function in enumerate(functions):
            start = np.array([time.perf_counter(), time.thread_time()])
            function()
            times[i, repeat] = np.array([time.perf_counter(), time.thread_time()]) - start
    return list(times.min(axis=1))


def check_equal(dataset: lt.Dataset, theirs: Any) -> None:
    X, labels = theirs
    X.sort_indices()
    np.testing.assert_array_equal(dataset.X.indptr, X.indptr)
    np.testing.assert_array_equal(dataset.X.indices, X.indices)
    np.testing.assert_array_equal(dataset.X.data, X.data)
    np.testing.assert_array_equal(np.diff(dataset.Y.indptr), [len(row) for row in labels])
    np.testing.assert_array_equal(dataset.Y.indices, np.concatenate([np.sort(row) for row in labels]))


def processor() -> str:
    with open("/proc/cpuinfo") as lines:
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0]}, {len(names)} cores" if names else platform.processor()


if __name__ == "__main__":
    main()
