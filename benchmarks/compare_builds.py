"""Searches of two builds of the package, side by side: what a change to the core gains.

    pip install --no-deps --target BEFORE .    # at the commit before, and again at the one after
    python -m benchmarks.compare_builds BEFORE AFTER [--sets eurlex4k debian-depends arxiv-authors]

A process for each build loads the same saved default model, in memory; they take turns. Exact top-5, one thread:
processor time for a batch of 3,000 test points, and the median of single calls, the best of all rounds.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from scipy import sparse

from benchmarks.stored_models import float_rows, model_folder, trained

WORKER = """
import sys, time
sys.path.insert(0, sys.argv[1])
import numpy as np
from scipy import sparse
import labeltrees as lt
assert lt.__file__.startswith(sys.argv[1]), lt.__file__
searcher = lt.load(sys.argv[2], in_memory=True).searcher_
X = sparse.csr_array(sparse.load_npz(sys.argv[3]))
X.indices = X.indices.astype(np.int32)
rows = [slice(X.indptr[i], X.indptr[i + 1]) for i in range(X.shape[0])]
queries = [(X.indices[row].copy(), X.data[row].copy()) for row in rows]
predictor = searcher.predictor(5)
np.save(sys.argv[4], searcher.topk(X, 5, n_jobs=1).scores)
print("ready", flush=True)
for line in sys.stdin:
    start = time.process_time()
    searcher.topk(X, 5, n_jobs=1)
    batch = (time.process_time() - start) / X.shape[0] * 1e6
    took = []
    for features, values in queries[int(line) % 3 :: 3]:
        start = time.perf_counter()
        predictor(features, values)
        took.append(time.perf_counter() - start)
    print(batch, np.median(took) * 1e6, flush=True)
"""


class Build:
    """A process that searches with one build."""

    def __init__(self, package: str, model: Path, queries: Path, scores: Path) -> None:
        arguments = [sys.executable, "-c", WORKER, str(Path(package).resolve()), str(model), str(queries), str(scores)]
        self._process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self._read() != "ready":
            message = f"{package} is no folder with a build of the package"
            raise SystemExit(message)

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def measure(self, turn: int) -> tuple[float, ...]:
        """Return microseconds a query, in a batch and in single calls."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{turn}\n")
        self._process.stdin.flush()
        return tuple(map(float, self._read().split()))

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def compare(name: str, packages: list[str], rounds: int, models: Path | None) -> None:
    model, test = trained(name, models)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        model.save(folder / "model")
        sparse.save_npz(folder / "X.npz", float_rows(test.X)[:3000])
        scores = [folder / f"scores{i}.npy" for i in range(len(packages))]
        builds = [
            Build(package, folder / "model", folder / "X.npz", to) for package, to in zip(packages, scores, strict=True)
        ]
        best = np.full((len(builds), 2), np.inf)
        for turn in range(rounds):
            for i, build in enumerate(builds):
                best[i] = np.minimum(best[i], build.measure(turn))
        for build in builds:
            build.close()
        for i, package in enumerate(packages):
            same = np.array_equal(np.load(scores[i]), np.load(scores[0]))
            ratios = best[i] / best[0]
            print(
                f"| {name} | {Path(package).name} | {best[i][0]:.2f} | {ratios[0]:.3f} | {best[i][1]:.2f} "
                f"| {ratios[1]:.3f} | {'yes' if same else 'no'} |",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "packages", nargs="+", metavar="FOLDER", help="builds; the first is what the others are compared with"
    )
    parser.add_argument("--sets", nargs="+", default=["eurlex4k", "debian-depends", "arxiv-authors"])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--models", help='folder in which trained models are kept, or "cache"')
    options = parser.parse_args()
    print("| data | build | batch us | of the first | single p50 us | of the first | same scores |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in options.sets:
        compare(name, options.packages, options.rounds, model_folder(options.models))


if __name__ == "__main__":
    main()
