"""How well the cost model of `labeltrees.profile` predicts search times.

    python -m benchmarks.cost_model [--sets eurlex4k debian-depends delicious arxiv-authors] [--texts cooking ...]
                                    [--runs 3] [--queries 1000] [--repeats 10] [--models FOLDER]

One model per set with default settings; exact search for 1 and for 5 labels on one thread. Each run draws other test
points and measures the costs again: half of the points fit the costs, the other half validates them. Times are of the
search only, for each query the best of the repeats. With --models, models are loaded from FOLDER/<set> if they exist.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import labeltrees as lt
from benchmarks.shared_data import load
from benchmarks.tables import print_head
from benchmarks.text_data import load_texts

SETS = ["eurlex4k", "debian-depends", "delicious", "arxiv-authors"]
TEXTS = ["cooking", "debian-depends"]


def saved(options: Any, name: str) -> Any:
    """Return the saved model of a set, or None."""
    folder = None if options.models is None else Path(options.models) / name
    return lt.load(folder, in_memory=True) if folder is not None and folder.is_dir() else None


def linear(name: str, options: Any) -> tuple[Any, Any, dict[str, Any]]:
    train, test = load(name)
    model = saved(options, name) or lt.LabelTreeClassifier(n_jobs=options.jobs).fit(train.X, train.Y)
    return model, test.X, {"beam": None}


def text(name: str, options: Any) -> tuple[Any, Any, dict[str, Any]]:
    data = load_texts(name)
    model = lt.TextLabelTreeClassifier(epochs=options.epochs, n_jobs=options.jobs).fit_file(data.train)
    return model, data.texts.read_text(encoding="utf-8").splitlines(), {}


def profiles(model: Any, X: Any, k: int, arguments: dict[str, Any], options: Any) -> list[lt.Profile]:
    """Return one profile per run, each of other points."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    runs = []
    for run in range(options.runs):
        rows = np.sort(np.random.default_rng(run).permutation(n)[: options.queries])
        runs.append(lt.profile(model, X, k, rows=rows, repeats=options.repeats, random_state=run, **arguments))
    return runs


def report(name: str, made: tuple[Any, Any, dict[str, Any]], options: Any) -> float:
    """Print the rows of one set; return the largest error."""
    model, X, arguments = made
    largest = 0.0
    for k in (1, 5):
        runs = profiles(model, X, k, arguments, options)
        summaries = [run.summary() for run in runs]
        errors = [100 * summary["error"] for summary in summaries]
        largest = max(largest, *map(abs, errors))
        means = {
            key: np.mean([s[key]["mean"] for s in summaries])
            for key in ("nodes", "oracle", "microseconds", "predicted")
        }
        parts = [np.mean([s["parts"][part]["share"] for s in summaries]) for part in runs[0].parts]
        print(
            f"| {name} | {k} | {means['nodes']:.1f} | {means['oracle']:.1f} | {means['microseconds']:.2f} "
            f"| {means['predicted']:.2f} | {', '.join(f'{error:+.1f}' for error in errors)} "
            f"| {' | '.join(f'{100 * share:.0f}' for share in parts)} |",
            flush=True,
        )
    return largest


def head(parts: list[str]) -> None:
    columns = [
        "data",
        "k",
        "nodes",
        "oracle",
        "measured us",
        "predicted us",
        "error % of each run",
        *(f"{p} %" for p in parts),
    ]
    print()
    print_head(" | ".join(columns))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--texts", nargs="*", default=TEXTS)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=5, help="epochs of the text models")
    parser.add_argument("--jobs", type=int, default=2, help="threads for training")
    parser.add_argument("--models", help="folder of saved linear models, one subfolder per set")
    options = parser.parse_args()
    print(f"Exact search, one thread; {options.queries:,} test points per run, best of {options.repeats} repeats.")
    print("The error is that of the predicted mean, on the half of the points that did not fit the costs.")
    errors = []
    if options.sets:
        head(["prepare", "visits", "lookups", "weights", "children", "heap"])
        errors += [report(name, linear(name, options), options) for name in options.sets]
    if options.texts:
        print(f"\nThe text model, {options.epochs} epochs:")
        head(["prepare", "rows", "visits", "heap"])
        errors += [report(name, text(name, options), options) for name in options.texts]
    print(f"\nThe largest error is {max(errors):.1f} %.")


if __name__ == "__main__":
    main()
