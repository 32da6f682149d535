"""Time of read_xmc, compared with scikit-learn's reader, on EURLex-4K as plain and as compressed file.

    python -m benchmarks.read_xmc [--repeats 3]

The readers take turns and must return the same matrices; the best time of each counts. Both run on one thread. On a
busy machine processor seconds are the better guide.
"""

from __future__ import annotations

import argparse
import lzma
import platform
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn
from sklearn.datasets import load_svmlight_file

import labeltrees as lt
from benchmarks.measures import best_times
from benchmarks.shared_data import data_folder
from benchmarks.tables import print_head


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    compressed = data_folder("eurlex4k") / "train.txt.xz"
    content = lzma.decompress(compressed.read_bytes())
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder, "train.txt")
        plain.write_bytes(content)
        # scikit-learn cannot read the header line, so it gets a plain file without one, and a stream that is past it.
        headless = Path(folder, "headless.txt")
        headless.write_bytes(content[content.index(b"\n") + 1 :])
        rows = []
        for name, ours, theirs in (
            ("plain", lambda: lt.read_xmc(plain), lambda: read_with_sklearn(str(headless))),
            ("xz", lambda: lt.read_xmc(compressed), lambda: read_xz_with_sklearn(compressed)),
        ):
            check_equal(ours(), theirs())
            our_best, their_best = best_times([ours, theirs], repeats)
            rows += [(name, "labeltrees", our_best, their_best), (name, "scikit-learn", their_best, their_best)]
    megabytes = len(content) / 1e6
    print(f"EURLex-4K train, {megabytes:.1f} MB of text; best of {repeats}, one thread.")
    print(f"{processor()}; Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__},")
    print(f"scikit-learn {sklearn.__version__}, labeltrees {lt.__version__}\n")
    print_head("file | reader | seconds | MB/s of text | times as fast | processor seconds | times as fast")
    for file, reader, own, theirs in rows:
        ratios = [f"{slow / fast:.1f}" for slow, fast in zip(theirs, own, strict=True)]
        print(
            f"| {file} | {reader} | {own.wall:.3f} | {megabytes / own.wall:.0f} | {ratios[0]} | {own.processor:.3f} "
            f"| {ratios[1]} |"
        )


def read_with_sklearn(file: Any) -> Any:
    return load_svmlight_file(file, n_features=5000, dtype=np.float32, multilabel=True, zero_based=True)


def read_xz_with_sklearn(path: Path) -> Any:
    with lzma.open(path) as stream:
        stream.readline()
        return read_with_sklearn(stream)


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
