"""What a model is: facts that the commands tell of it, and the summary after training."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from labeltrees._files import naming_file
from labeltrees.cli.model_options import Model, disk_bytes, settings_of, trees_of
from labeltrees.cli.output import console, make_table, print_json, size
from labeltrees.cli.tree import summary_rows
from labeltrees.models.text.estimator import TextLabelTreeClassifier


def model_facts(model: Model, folder: str) -> dict[str, Any]:
    """Return parameters, counts, trees and size of the model saved in a folder."""
    with naming_file(folder):  # a mapped tree is checked when it is first looked at
        trees = [asdict(tree.summary()) for tree in trees_of(model)]
    return {
        "model": folder,
        "parameters": settings_of(model),
        "n_labels": len(model.classes_),
        **_counts(model),
        "trees": trees,
        "disk_bytes": sum(disk_bytes(folder).values()),
    }


def _counts(model: Model) -> dict[str, Any]:
    if not isinstance(model, TextLabelTreeClassifier):
        return {
            "n_points": model.n_points_,
            "n_features": model.n_features_in_,
            "n_weights": model.stats_.get("n_weights"),
        }
    store = model.searcher_.store
    n_rows, n_nodes = len(store.input), len(store.output)
    return {
        "n_points": model.n_points_ if "seconds" in model.stats_ else None,  # fastText's files do not tell it
        "n_words": store.n_words,
        "n_ngrams": n_rows - store.n_words,
        "n_weights": (n_rows + n_nodes) * store.dim,
    }


def report_fit(model: Model, folder: str, as_json: bool) -> None:
    """Tell what training has made and saved."""
    facts, stats = model_facts(model, folder), model.stats_
    of_training = {name: stats[name] for name in ("seconds", "tree_seconds", "loss") if name in stats}
    if as_json:
        print_json({**facts, **of_training})
        return
    out, trees = console(), trees_of(model)
    out.print(f"{facts['n_labels']:,} labels of {facts['n_points']:,} points -> {folder}")
    rows = [("time", f"{stats['seconds']:.1f} s, of which {stats['tree_seconds']:.1f} s for the tree")]
    if "n_words" in facts:
        rows += [
            ("words", f"{facts['n_words']:,}, and {facts['n_ngrams']:,} n-grams"),
            ("loss", f"{stats['loss']:.4f}"),
        ]
    rows += [("weights", f"{facts['n_weights']:,}"), ("size on disk", size(facts["disk_bytes"]))]
    if len(trees) > 1:
        rows.append(("trees", f"{len(trees)}, of which this is the first"))
    out.print(make_table(None, [*rows, *summary_rows(trees[0].summary())]))
