"""Synthetic data shaped like the paper's logs: its numbers of points, features and labels, a power law and topics.

    python -m benchmarks.scale.shapes [amazon-1m-shape amazon-3m-shape] [--tradeoffs 0 1 2] [--scale 1.0] [--jobs 2]
        [--max-memory 8GiB]

Trains each shape completely in the paper's setting and reports time, peak memory, precision and expected depth. Each
model runs in its own process, so that its peak memory can be measured (data included). With --max-memory the points are
on disk, in parts; the model is the same.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import resource
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import labeltrees as lt
from benchmarks.scale.logs import power_law
from benchmarks.tables import print_head, slashed
from labeltrees.labels import imbalance

RECORDS = Path(__file__).resolve().parents[1] / "results" / "paper" / "scale.jsonl"
LABELS_PER_TOPIC = 200
ELSEWHERE = 0.1  # share of label occurrences in points of another topic
MOST_IN_TOPIC = 100  # further occurrences of a very frequent label go to random topics, as best sellers do
WORDS_PER_LABEL, WORDS_PER_OCCURRENCE, NOISE_WORDS = 12, 5, 4
POINTS_PER_PART = 250_000
_BLOCK = 2**22  # occurrences whose words are drawn at once


class Shape(NamedTuple):
    """One row of the paper's Table 2."""

    n_train: int
    n_features: int
    n_labels: int
    n_test: int
    labels_per_point: float

    def scaled(self, scale: float) -> Shape:
        """Return the shape with a share of points, features and labels."""
        counts = (max(10, int(n * scale)) for n in self[:4])
        return Shape(*counts, self.labels_per_point)


SHAPES = {
    "amazon-1m-shape": Shape(1_300_000, 200_000, 1_200_000, 66_000, 2.94),
    "amazon-3m-shape": Shape(7_900_000, 794_000, 2_700_000, 364_000, 3.12),
    "amazon-10m-shape": Shape(29_900_000, 1_600_000, 9_900_000, 1_600_000, 6.03),
}


def load_shape(name: str, scale: float = 1.0, seed: int = 0) -> tuple[lt.Dataset, lt.Dataset]:
    """Return training and test points of a shape."""
    return make_data(SHAPES[name].scaled(scale), seed)


def make_data(shape: Shape, seed: int = 0) -> tuple[lt.Dataset, lt.Dataset]:
    """Make points whose labels come from one topic and whose features are words of their labels.

    Every label occurs at least once; the other occurrences follow a power law over labels. Occurrences are sorted by
    topic and cut into points of 1 + Poisson labels, so that a point's labels are of one topic, except for those that
    move to a random topic first: a tenth of all, and most occurrences of the very frequent labels.
    """
    drawn = _draw(shape, seed)
    n_points = shape.n_train + shape.n_test
    X, Y = drawn.rows(0, n_points)
    _weigh(X, np.bincount(X.indices, minlength=shape.n_features), n_points)
    train, test = slice(shape.n_test, None), slice(0, shape.n_test)
    return lt.Dataset(X[train], Y[train]), lt.Dataset(X[test], Y[test])


def write_shape(name: str, folder: Path, scale: float = 1.0, seed: int = 0) -> lt.Dataset:
    """Write the training points of `load_shape` in parts, block by block, and return the test points."""
    shape = SHAPES[name].scaled(scale)
    drawn, n_points = _draw(shape, seed), shape.n_train + shape.n_test
    starts = [0, *range(shape.n_test, n_points, POINTS_PER_PART), n_points]
    blocks = list(itertools.pairwise(starts))
    found = np.zeros(shape.n_features, np.int64)
    for first, last in blocks:
        found += np.bincount(drawn.rows(first, last)[0].indices, minlength=shape.n_features)
    test = None
    with lt.PartsWriter(folder, shape.n_features, shape.n_labels, points_per_part=POINTS_PER_PART) as writer:
        for first, last in blocks:
            X, Y = drawn.rows(first, last)
            _weigh(X, found, n_points)
            if test is None:
                test = lt.Dataset(X, Y)
            else:
                writer.add(X, Y)
    assert test is not None
    return test


class Drawn(NamedTuple):
    """What points are made of: the labels and words of their occurrences, and noise words.

    Occurrences are sorted by point; `ends` are their ends (n_points + 1).
    """

    shape: Shape
    ends: NDArray[np.int64]
    labels: NDArray[np.int32]
    words: NDArray[np.int32]
    noise: NDArray[np.int32]

    def rows(self, first: int, last: int) -> tuple[sp.csr_array, sp.csr_array]:
        """Return the number of each word and the labels of the points from `first` to `last`."""
        n, (begin, end) = last - first, self.ends[[first, last]]
        rows = np.repeat(np.arange(n), np.diff(self.ends[first : last + 1]))
        Y = _summed(rows, self.labels[begin:end], (n, self.shape.n_labels))
        Y.data[:] = 1
        of_words = np.concatenate([np.repeat(rows, WORDS_PER_OCCURRENCE), np.repeat(np.arange(n), NOISE_WORDS)])
        words = np.concatenate([self.words[begin:end].ravel(), self.noise[first:last].ravel()])
        return _summed(of_words, words, (n, self.shape.n_features)), Y


def _draw(shape: Shape, seed: int) -> Drawn:
    rng = np.random.default_rng(seed)
    n_points = shape.n_train + shape.n_test
    sizes = 1 + rng.poisson(shape.labels_per_point - 1, n_points)
    labels, topics = _occurrences(shape, int(sizes.sum()), rng)
    order = np.lexsort((rng.random(len(labels)), topics))
    labels = labels[order].astype(np.int32)
    points = np.repeat(rng.permutation(n_points), sizes)[: len(labels)]  # neighbours of a topic are not in file order
    words = _words(labels, shape, rng)
    noise = power_law(rng, shape.n_features, n_points * NOISE_WORDS, 1.05).astype(np.int32)
    order = np.argsort(points, kind="stable")
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(points, minlength=n_points))])
    return Drawn(shape, ends, labels[order], words[order], noise.reshape(n_points, NOISE_WORDS))


def _occurrences(shape: Shape, n: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the labels of n occurrences, and for each the topic of the point that it goes to."""
    by_rank = rng.permutation(shape.n_labels)
    more = by_rank[power_law(rng, shape.n_labels, max(0, n - shape.n_labels), 0.9)]
    labels = np.concatenate([np.arange(shape.n_labels), more])[:n]
    n_topics = max(1, shape.n_labels // LABELS_PER_TOPIC)
    topics = labels % n_topics
    order = np.argsort(labels, kind="stable")
    earlier = np.empty(n, np.int64)  # occurrences of the same label before this one
    earlier[order] = np.arange(n) - np.searchsorted(labels[order], labels[order])
    moved = (rng.random(n) < ELSEWHERE) | (earlier >= MOST_IN_TOPIC)
    topics[moved] = rng.integers(0, n_topics, moved.sum())
    return labels, topics


def _words(labels: NDArray[np.int32], shape: Shape, rng: np.random.Generator) -> NDArray[np.int32]:
    """Return the words of each occurrence: a third of a label's words are its own, the others its topic's."""
    d, n_topics = shape.n_features, max(1, shape.n_labels // LABELS_PER_TOPIC)
    topic_words = rng.integers(0, d, (n_topics, 64), dtype=np.int32)
    words = rng.integers(0, d, (shape.n_labels, WORDS_PER_LABEL), dtype=np.int32)
    shared = 2 * WORDS_PER_LABEL // 3
    topic = np.arange(shape.n_labels) % n_topics
    words[:, :shared] = topic_words[topic[:, None], rng.integers(0, 64, (shape.n_labels, shared))]
    drawn = np.empty((len(labels), WORDS_PER_OCCURRENCE), np.int32)
    for first in range(0, len(labels), _BLOCK):
        block = labels[first : first + _BLOCK]
        places = rng.integers(0, WORDS_PER_LABEL, (len(block), WORDS_PER_OCCURRENCE))
        drawn[first : first + _BLOCK] = words[block[:, None], places]
    return drawn


def _weigh(X: sp.csr_array, found: NDArray[np.int64], n_points: int) -> None:
    """Turn numbers of words into tf-idf rows of length 1; `found` has the number of points with each word."""
    X.data = ((1 + np.log(X.data)) * (1 + np.log((1 + n_points) / (1 + found)))[X.indices]).astype(np.float32)
    lengths = np.sqrt(np.add.reduceat(X.data.astype(np.float64) ** 2, X.indptr[:-1]))
    X.data /= np.repeat(lengths, np.diff(X.indptr)).astype(np.float32)


def _summed(rows: NDArray[np.int64], columns: NDArray[Any], shape: tuple[int, int]) -> sp.csr_array:
    """Return how often each pair of row and column occurs."""
    ones = np.ones(len(rows), np.float32)
    matrix = sp.csr_array((ones, (rows.astype(np.int32), columns.astype(np.int32))), shape=shape)
    matrix.sum_duplicates()
    return matrix


def measure(name: str, tradeoff: float, scale: float, n_jobs: int, max_memory: str | None = None) -> dict[str, Any]:
    """Train one model on a shape; return time, memory, precision and depth. With `max_memory`, train from parts."""
    started = time.perf_counter()
    model = lt.LabelTreeClassifier.parabel(tradeoff=tradeoff, n_jobs=n_jobs)
    if max_memory is None:
        train, test = load_shape(name, scale)
        facts = _facts(train.Y, test)
        made, processor = time.perf_counter(), time.process_time()
        model.fit(train.X, train.Y)
        seconds, processor = time.perf_counter() - made, time.process_time() - processor
    else:
        with tempfile.TemporaryDirectory() as folder:
            # In a process of its own, so that the peak memory is that of the fit.
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
                facts = pool.submit(_write_parts, name, scale, folder).result()
            made, processor = time.perf_counter(), time.process_time()
            model.fit(lt.open_parts(Path(folder) / "train"), max_memory=max_memory)
            seconds, processor = time.perf_counter() - made, time.process_time() - processor
            test = lt.Dataset(*lt.open_parts(Path(folder) / "test").parts[0].matrices())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    labels, _ = model.predict_topk(test.X, 5)
    return {
        "dataset": name,
        "scale": scale,
        "tradeoff": tradeoff,
        **facts,
        "max_memory": max_memory,
        "make_seconds": round(made - started, 1),
        "seconds": round(seconds, 1),
        "processor": round(processor, 1),
        "peak_gib": round(peak / 2**20, 2),
        **{f"p{k}": round(100 * lt.metrics.precision_at_k(test.Y, labels, k), 3) for k in (1, 3, 5)},
        **{f"depth{k}": round(lt.metrics.expected_depth_at_k(model.tree_, labels, k), 4) for k in (1, 3)},
    }


def _write_parts(name: str, scale: float, folder: str) -> dict[str, Any]:
    train = Path(folder) / "train"
    test = write_shape(name, train, scale)
    lt.write_parts(test, Path(folder) / "test", test.n_points)
    parts = lt.open_parts(train).parts
    Y = sp.vstack([part.matrices()[1] for part in parts], format="csr")
    return _facts(Y, test)


def _facts(Y: sp.csr_array, test: lt.Dataset) -> dict[str, Any]:
    """Return the numbers of a set, with the labels of its training points."""
    return {
        "points": Y.shape[0],
        "features": test.n_features,
        "labels": test.n_labels,
        "test_points": test.n_points,
        "labels_per_point": round(Y.nnz / Y.shape[0], 3),
        "top_percent": round(imbalance(Y).top_percent, 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="*", default=["amazon-1m-shape"], metavar="SHAPE", help=", ".join(SHAPES))
    parser.add_argument("--tradeoffs", type=float, nargs="+", default=[0.0, 1.0, 4 / 3, 1.935484, 2.0])
    parser.add_argument("--scale", type=float, default=1.0, help="share of points, features and labels")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--max-memory", help="train from parts on disk within this memory, such as 8GiB")
    parser.add_argument("--records", type=Path, default=RECORDS)
    parser.add_argument("--one", nargs=2, metavar=("SHAPE", "TRADEOFF"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        name, tradeoff = options.one
        print(json.dumps(measure(name, float(tradeoff), options.scale, options.jobs, options.max_memory)))
        return
    unknown = set(options.shapes) - set(SHAPES)
    if unknown:
        parser.error(f"unknown shape: {', '.join(sorted(unknown))}; choose from {', '.join(SHAPES)}")
    print_head("shape | scale | tradeoff | P@1 / 3 / 5 | depth@1 / 3 | seconds | processor s | peak GiB")
    options.records.parent.mkdir(parents=True, exist_ok=True)
    for name in options.shapes:
        for tradeoff in options.tradeoffs:
            command = [sys.executable, "-m", "benchmarks.scale.shapes", "--one", name, str(tradeoff)]
            command += ["--scale", str(options.scale), "--jobs", str(options.jobs)]
            if options.max_memory is not None:
                command += ["--max-memory", options.max_memory]
            row = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
            with open(options.records, "a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            print(
                f"| {name} | {options.scale:g} | {tradeoff:.4g} | {slashed(row[f'p{k}'] for k in (1, 3, 5))} | "
                f"{slashed(row[f'depth{k}'] for k in (1, 3))} | {row['seconds']:.0f} | {row['processor']:.0f} | "
                f"{row['peak_gib']:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
