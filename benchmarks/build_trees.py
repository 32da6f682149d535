"""Building trees, compared with PECOS' hierarchical k-means: time, and similarity within leaves.

    python -m benchmarks.build_trees [--sets eurlex4k debian-depends arxiv-authors] [--repeats 3] [--jobs 2]

Both get the same embeddings (PIFA), leaf size and number of threads, and take turns. Each repeat has another seed. Time
is the best of the repeats, similarity their mean. Processor time counts all threads; on a busy machine it is the figure
to trust, with `--jobs 1`.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import labeltrees as lt
from benchmarks.peers.worker import PeerWorker
from benchmarks.shared_data import load
from benchmarks.tables import print_head
from labeltrees.tree.measures import within_node_similarity

LEAF_SIZE = 100
TRADEOFFS = (0.0, 1.0, 2.0)
PECOS = "PECOS"


def compare(name: str, repeats: int, n_jobs: int) -> None:
    train, _ = load(name)
    frequencies = lt.label_frequencies(train.Y)
    cover = lt.cover_frequencies(train.Y)
    placed = np.flatnonzero(frequencies)
    embeddings = lt.pifa(train.X, train.Y, n_jobs=n_jobs)[placed]
    frequencies, cover = frequencies[placed], cover[placed]
    seconds: dict[object, list[float]] = {}
    processor: dict[object, list[float]] = {}
    similarity: dict[object, list[float]] = {}

    with tempfile.TemporaryDirectory() as folder:
        sp.save_npz(Path(folder) / "embeddings.npz", sp.csr_matrix(embeddings), compressed=False)
        with PeerWorker(Path(__file__).parent / "peers" / "pecos_trees.py", Path(folder) / "embeddings.npz") as pecos:
            for seed in range(repeats):
                for tradeoff in TRADEOFFS:
                    start, start_processor = time.perf_counter(), time.process_time()
                    tree = lt.build_tree_from(
                        embeddings,
                        frequencies,
                        cover,
                        tradeoff=tradeoff,
                        fanout=2,
                        leaf_size=LEAF_SIZE,
                        random_state=seed,
                        n_jobs=n_jobs,
                    )
                    seconds.setdefault(tradeoff, []).append(time.perf_counter() - start)
                    processor.setdefault(tradeoff, []).append(time.process_time() - start_processor)
                    similarity.setdefault(tradeoff, []).append(within_node_similarity(tree, embeddings, LEAF_SIZE))
                chain = Path(folder) / f"chain{seed}"
                answer = pecos.ask(seed=seed, leaf_size=LEAF_SIZE, threads=n_jobs, folder=str(chain))
                seconds.setdefault(PECOS, []).append(answer["seconds"])
                processor.setdefault(PECOS, []).append(answer["cpu"])
                tree = lt.LabelTree.from_pecos_chain(chain)
                similarity.setdefault(PECOS, []).append(within_node_similarity(tree, embeddings, LEAF_SIZE))

    for setting in (*TRADEOFFS, PECOS):
        cells = [f"{min(of[setting]):.3f} | {min(of[PECOS]) / min(of[setting]):.1f}" for of in (seconds, processor)]
        print(
            f"| {name} | {setting if setting == PECOS else f'tradeoff {setting:g}'} | {' | '.join(cells)} "
            f"| {np.mean(similarity[setting]):.4f} ± {np.std(similarity[setting]):.4f} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=["eurlex4k", "debian-depends", "arxiv-authors"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    threads = f"{options.jobs} thread{'s' if options.jobs > 1 else ''}"
    print(f"Leaves of at most {LEAF_SIZE} labels, {threads}, best of {options.repeats}")
    print_head(
        "data | tree | seconds | times as fast as PECOS | processor s | times as fast | similarity within leaves"
    )
    for name in options.sets:
        compare(name, options.repeats, options.jobs)


if __name__ == "__main__":
    main()
