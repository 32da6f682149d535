"""The text model, compared with fastText 0.9.3 (`benchmarks.paper` compares tradeoffs with the Huffman tree).

    python -m benchmarks.text_models [--sets cooking debian-depends arxiv-authors] [--epochs 25] [--seeds 3]

Both use lr 0.5, dim 128, min_count 2 and word_ngrams 2. Our model on a Huffman tree takes turns with fastText's Python
call and command line. Words per second are those of the training loop, per thread; prediction times are the best of the
repeats on one thread.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.fasttext_command import fasttext_command
from benchmarks.peers.worker import PeerWorker
from benchmarks.tables import print_head
from benchmarks.text_data import TextSet, load_texts

FOLDER = Path(__file__).parent / "contestants"
MAX_LINES = 3000  # texts for the command line


def precision(answers: list[list[str]], truth: list[set[str]]) -> list[float]:
    """Return P@1, P@3 and P@5 in percent."""
    hits = np.zeros((len(truth), 5))
    for row, (labels, right) in enumerate(zip(answers, truth, strict=True)):
        hits[row, : len(labels)] = [label in right for label in labels[:5]]
    return [float(100 * hits[:, :k].mean()) for k in (1, 3, 5)]


def command_line(model: Path, data: TextSet, folder: Path, repeats: int) -> float:
    """Return microseconds per text of `fasttext predict`, without the time to load the model."""
    lines = data.texts.read_text(encoding="utf-8").splitlines(keepends=True)[:MAX_LINES]

    def seconds(wanted: list[str]) -> float:
        file = folder / "texts.txt"
        file.write_text("".join(wanted), encoding="utf-8")
        started = time.perf_counter()
        command = [fasttext_command(), "predict", str(model), str(file), "5"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - started

    one = min(seconds(lines[:1]) for _ in range(repeats))
    if seconds(lines) - one < 2.0:  # the time for the texts must exceed the variation of the loading time
        lines = lines * 16
    many = min(seconds(lines) for _ in range(repeats))
    return (many - one) / (len(lines) - 1) * 1e6


def compare(data: TextSet, options: argparse.Namespace) -> None:
    """Print our model on a Huffman tree, our model at tradeoff 1, and fastText."""
    contestants: dict[str, tuple[str, dict[str, Any]]] = {
        "ours, Huffman": ("ours_text.py", {}),
        "fastText": ("fasttext_model.py", {}),
        "ours, tradeoff 1": ("ours_text.py", {"tradeoff": 1.0}),
    }
    rows: dict[str, dict[str, list[Any]]] = {name: {} for name in contestants}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for seed in range(options.seeds):
            for name, (script, settings) in contestants.items():
                python = None if name == "fastText" else sys.executable
                save = str(folder / "model.bin") if name == "fastText" and seed == 0 else ""
                with PeerWorker(FOLDER / script, python=python) as worker:
                    trained = worker.ask(
                        do="train",
                        file=str(data.train),
                        seed=seed,
                        threads=options.threads,
                        epochs=options.epochs,
                        save=save,
                        **settings,
                    )
                    out = folder / "answers.jsonl"
                    request = {"do": "answer", "texts": str(data.texts), "n": 2000, "out": str(out)}
                    trained |= worker.ask(repeats=options.repeats, **request)
                answers = [json.loads(line) for line in out.read_text().splitlines()]
                trained["precision"] = precision(answers, data.labels)
                for key, value in trained.items():
                    rows[name].setdefault(key, []).append(value)
        report(rows)
        cli = command_line(folder / "model.bin", data, folder, 2)
    ours, theirs = rows["ours, Huffman"], rows["fastText"]
    speed = max(ours["words_per_second"]) / max(theirs["words_per_second"])
    call = min(theirs["microseconds"]) / min(ours["microseconds"])
    print(
        f"\nfastText's command line: {cli:.1f} us per text. Ours trains {speed:.2f} times as fast. It predicts "
        f"{call:.1f} times as fast as fastText's Python call and {cli / min(ours['microseconds']):.1f} times as fast "
        "as its command line."
    )


def report(rows: dict[str, dict[str, list[Any]]]) -> None:
    """Print the table of the contestants."""
    print_head("model | P@1 / 3 / 5 | words/s per thread | total training, s | us per call | peak MiB")
    for name, of in rows.items():
        mean, spread = np.mean(of["precision"], axis=0), np.std(of["precision"], axis=0)
        precision_cell = " / ".join(f"{m:.2f} ± {s:.2f}" for m, s in zip(mean, spread, strict=True))
        print(
            f"| {name} | {precision_cell} | {max(of['words_per_second']):,.0f} | {min(of['seconds']):.1f} "
            f"| {min(of['microseconds']):.1f} | {min(of['peak_mib']):.0f} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=["cooking", "debian-depends", "arxiv-authors"])
    parser.add_argument("--epochs", type=int, default=25)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    print(f"{options.epochs} epochs, {options.threads} threads, {options.seeds} seeds")
    for name in options.sets:
        print(f"\n## {name}: compared with fastText\n", flush=True)
        compare(load_texts(name), options)


if __name__ == "__main__":
    main()
