"""The text model, compared with fastText 0.9.3, and its precision and depth for several tradeoffs.

    python -m benchmarks.text_models [--sets cooking debian-depends arxiv-authors] [--epochs 25] [--threads 2]
        [--seeds 3] [--parts peers grid]

Both use lr 0.5, dim 128, min_count 2 and word_ngrams 2. The first part (`peers`) compares our model on a Huffman tree
with fastText's Python call and command line; they take turns. Words per second are those of the training loop, per
thread; prediction times are the best of the repeats on one thread. The second part (`grid`) compares the paper's grid
of tradeoffs with the Huffman tree, with mean and standard deviation over seeds. The chart is written to
benchmarks/results/text_models-<set>.png.
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

import labeltrees as lt
from benchmarks.peers.fasttext_command import fasttext_command
from benchmarks.peers.worker import PeerWorker
from benchmarks.tables import print_head
from benchmarks.text_data import TextSet, load_texts

FOLDER = Path(__file__).parent / "contestants"
RESULTS = Path(__file__).parent / "results"
GRID = [2 * t / (1 + t) for t in (0, 0.25, 0.5, 0.75, 1, 2, 4, 16, 64, 256, 1e5)]
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


def sweep(data: TextSet, options: argparse.Namespace) -> None:
    """Print and draw precision, depth and nodes for several tradeoffs."""
    texts = data.texts.read_text(encoding="utf-8").splitlines()
    named = {"Huffman": {"tree": "huffman"}, "semantic Huffman": {"tree": "semantic_huffman"}}
    settings: dict[str, dict[str, Any]] = {**named, **{f"{t:.4g}": {"tradeoff": t} for t in options.grid}}
    table: dict[str, Any] = {}
    print_head("tree | P@1 | P@5 | expected depth@1 | change from Huffman | expected depth | nodes for top-5")
    for name, tree in settings.items():
        runs = []
        for seed in range(options.seeds):
            model = lt.TextLabelTreeClassifier(epochs=options.epochs, n_jobs=options.threads, random_state=seed, **tree)
            model.fit_file(data.train)
            labels, _, stats = model.predict_topk(texts, 5, return_stats=True)
            shares = precision(labels.tolist(), data.labels)
            number = {name: label for label, name in enumerate(model.classes_)} | {None: -1}
            ids = np.array([[number[best]] for best in labels[:, 0]])
            depth = lt.metrics.expected_depth_at_k(model.tree_, ids, 1)
            under_f = model.tree_.expected_depth(model.label_counts_ / model.label_counts_.sum())
            runs.append([shares[0], shares[2], depth, under_f, stats.chunks.mean()])
            del model
        mean, spread = np.mean(runs, axis=0), np.std(runs, axis=0)
        table[name] = (mean, spread)
        change = mean[2] / table["Huffman"][0][2] - 1
        print(
            f"| {name} | {mean[0]:.2f} ± {spread[0]:.2f} | {mean[1]:.2f} ± {spread[1]:.2f} | {mean[2]:.2f} "
            f"| {change:+.1%} | {mean[3]:.2f} | {mean[4]:.1f} |",
            flush=True,
        )
    draw(data.name, table, options.epochs)


def draw(name: str, table: dict[str, Any], epochs: int) -> None:
    """Save the paper's figure: precision against expected depth, and against the number of nodes evaluated."""
    import altair as alt

    records = [
        {
            "tree": tree,
            "kind": tree if "Huffman" in tree else "tradeoffs 0 to 2",
            "order": place,
            "P@1, %": mean[0],
            "low": mean[0] - spread[0],
            "high": mean[0] + spread[0],
            "expected depth@1": mean[2],
            "nodes evaluated for top-5": mean[4],
        }
        for place, (tree, (mean, spread)) in enumerate(table.items())
    ]
    panels = []
    for measure in ("expected depth@1", "nodes evaluated for top-5"):
        base = alt.Chart(alt.Data(values=records), width=380, height=280).encode(
            x=alt.X(f"{measure}:Q", scale=alt.Scale(zero=False)), color=alt.Color("kind:N", title=None)
        )
        precision_axis = alt.Y("P@1, %:Q", scale=alt.Scale(zero=False))
        line = base.mark_line(opacity=0.5).encode(y=precision_axis, order="order:Q")
        points = base.mark_point(filled=True, size=50).encode(y=precision_axis)
        spreads = base.mark_rule().encode(y="low:Q", y2="high:Q")
        names = base.mark_text(align="left", dx=5, dy=-5, fontSize=9).encode(y=precision_axis, text="tree:N")
        panels.append(line + points + spreads + names)
    RESULTS.mkdir(exist_ok=True)
    chart = alt.hconcat(*panels).properties(title=f"{name}, {epochs} epochs: tradeoffs 0 to 2 and Huffman")
    chart.save(RESULTS / f"text_models-{name}.png", scale_factor=1.5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=["cooking", "debian-depends", "arxiv-authors"])
    parser.add_argument("--epochs", type=int, default=25)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--grid", nargs="+", type=float, default=GRID, help="tradeoffs to try")
    parser.add_argument("--parts", nargs="+", choices=["peers", "grid"], default=["peers", "grid"])
    options = parser.parse_args()
    print(f"{options.epochs} epochs, {options.threads} threads, {options.seeds} seeds")
    for name in options.sets:
        data = load_texts(name)
        if "peers" in options.parts:
            print(f"\n## {name}: compared with fastText\n", flush=True)
            compare(data, options)
        if "grid" in options.parts:
            print(f"\n## {name}: tradeoffs\n", flush=True)
            sweep(data, options)


if __name__ == "__main__":
    main()
