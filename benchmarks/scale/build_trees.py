"""Time and memory to build trees over 100K, 1M and 10M synthetic labels.

    python -m benchmarks.scale.build_trees [--labels 100000 1000000 10000000] [--repeats 1] [--jobs 2]

Each size runs in its own process, so that its peak memory can be measured (input included). "ns per split" is the
processor time divided by the number of labels and by the mean number of splits above a label.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np

import labeltrees as lt
from benchmarks.scale.synthetic import N_NONZEROS, synthetic_labels
from benchmarks.tables import print_head


def measure(n_labels: int, tradeoff: float, leaf_size: int, n_jobs: int, repeats: int) -> dict[str, float]:
    labels = synthetic_labels(n_labels)
    seconds, processor = [], []
    for _ in range(repeats):
        start, cpu = time.perf_counter(), time.process_time()
        tree = lt.build_tree_from(
            labels.embeddings, labels.frequencies, tradeoff=tradeoff, fanout=2, leaf_size=leaf_size, n_jobs=n_jobs
        )
        seconds.append(time.perf_counter() - start)
        processor.append(time.process_time() - cpu)
    levels = float(tree.expected_depth(np.ones(n_labels))) - 1  # splits above a label
    return {
        "labels": n_labels,
        "tradeoff": tradeoff,
        "nonzeros": n_labels * N_NONZEROS,
        "seconds": min(seconds),
        "levels": levels,
        "processor": min(processor),
        "ns": min(processor) / n_labels / levels * 1e9,
        "peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", type=int, nargs="+", default=[100_000, 1_000_000, 10_000_000])
    parser.add_argument("--tradeoffs", type=float, nargs="+", default=[0.0, 1.0])
    parser.add_argument("--leaf-size", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--one", type=float, nargs=2, metavar=("LABELS", "TRADEOFF"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        labels, tradeoff = options.one
        print(json.dumps(measure(int(labels), tradeoff, options.leaf_size, options.jobs, options.repeats)))
        return
    print_head("labels | tradeoff | seconds | processor s | splits per label | ns per split | ratio | peak GiB")
    for tradeoff in options.tradeoffs:
        smallest = None
        for n_labels in options.labels:
            command = [sys.executable, "-m", "benchmarks.scale.build_trees", "--one", str(n_labels), str(tradeoff)]
            for option in ("leaf_size", "jobs", "repeats"):
                command += [f"--{option.replace('_', '-')}", str(getattr(options, option))]
            row = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            smallest = smallest or row["ns"]
            print(
                f"| {n_labels:,} | {tradeoff:g} | {row['seconds']:.2f} | {row['processor']:.2f} | {row['levels']:.1f} "
                f"| {row['ns']:.0f} | {row['ns'] / smallest:.2f} | {row['peak_gib']:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
