"""Time to add rows of 8-bit weights, compared with half precision, for the rows that real searches add.

    python -m benchmarks.microbenchmarks.eight_bit_rows [--sets eurlex4k debian-depends] [--models cache]

Needs g++ and a processor with AVX-512. Weights are random; shapes and order of the rows are those of exact top-5
searches with the default model. Feature lookup is not included, so a search gains less than this.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.chunk_lines import ChunkLines
from benchmarks.stored_models import float_rows, model_folder, trained
from benchmarks.tables import print_head

SOURCE = Path(__file__).with_suffix(".cpp")


def shapes(model: Any, X: Any) -> np.ndarray[Any, np.dtype[np.int32]]:
    """Return the input of the C++ program: rows of the chunks that searches open, and the rows that each visit adds."""
    store = model.searcher_.stores[0]
    trace = model.searcher_.trace(X, 5)
    lines = ChunkLines(store)
    rows: list[Any] = []
    first_row: dict[int, int] = {}
    ends, hits, n_rows = [0], [], 0
    for query in range(X.shape[0]):
        ranks = np.sort(store.feature_rank[X.indices[X.indptr[query] : X.indptr[query + 1]]].astype(np.int64))
        for node in trace.nodes[trace.ends[query] : trace.ends[query + 1]]:
            for part in lines.parts(int(node)):
                if id(part) not in first_row:
                    first_row[id(part)] = n_rows
                    rows.append(np.stack([part.form, np.full(len(part.form), part.n_padded), part.n_weights()], axis=1))
                    n_rows += len(part.form)
                found = part.rows_of(ranks)
                hits.append(first_row[id(part)] + found[part.form[found] > 0])
                ends.append(ends[-1] + len(hits[-1]))
    every, chosen = np.concatenate(rows), np.concatenate(hits)
    head = [len(every), len(ends) - 1, len(chosen)]
    return np.concatenate([head, every.ravel(), ends, chosen]).astype("<i4")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=["eurlex4k", "debian-depends", "arxiv-authors"])
    parser.add_argument("--points", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--models", help='folder for trained models, or "cache" for the benchmark cache')
    options = parser.parse_args()
    print_head("data | MB of rows: 16 bits | 8 bits | ns per visit: 16 bits | 8 bits | ratio")
    with tempfile.TemporaryDirectory() as temporary:
        program, data = Path(temporary) / "program", Path(temporary) / "shapes"
        # No warnings: GCC 12 reports uninitialised vectors inside its own AVX-512 intrinsics.
        command = ["g++", "-std=c++20", "-O3", "-march=native", "-w", "-o", str(program), str(SOURCE)]
        subprocess.run(command, check=True)
        for name in options.sets:
            model, test = trained(name, model_folder(options.models))
            data.write_bytes(shapes(model, float_rows(test.X)[: options.points]).tobytes())
            answer = subprocess.run(
                [program, data, str(options.rounds)], check=True, capture_output=True, text=True
            ).stdout
            sixteen, eight, slow, fast, difference = map(float, answer.split())
            if difference > 1e-2:
                message = f"results of 8 and 16 bits differ by {difference}"
                raise SystemExit(message)
            print(
                f"| {name} | {sixteen / 1e6:.2f} | {eight / 1e6:.2f} | {slow:.0f} | {fast:.0f} | {fast / slow:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
