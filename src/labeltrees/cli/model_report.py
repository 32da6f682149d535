"""Facts about a saved model, and the summary after training."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from labeltrees._files import naming_file
from labeltrees.cli.output import console, make_table, plural, print_json, size
from labeltrees.cli.saved_models import disk_bytes, simple_parameters
from labeltrees.cli.tree import summary_rows
from labeltrees.models.common.protocol import Model


def model_facts(model: Model, folder: str) -> dict[str, Any]:
    """Return parameters, counts, trees and size of the model saved in a folder."""
    with naming_file(folder):  # a mapped tree is checked when it is first used
        trees = [asdict(tree.summary()) for tree in model.trees_]
    return {
        "model": folder,
        "parameters": simple_parameters(model),
        **({"C": model.stats_["C"]} if "C" in model.stats_ else {}),
        "n_labels": len(model.classes_),
        "n_points": model.n_points_,
        **model.sizes(),
        "trees": trees,
        "disk_bytes": sum(disk_bytes(folder).values()),
    }


def c_text(costs: list[float]) -> str:
    """Return the cost of errors at each depth of a tree.

    Examples
    --------
    >>> c_text([0.3, 1.0])
    '0.3, 1'
    """
    return ", ".join(f"{cost:g}" for cost in costs)


def report_fit(model: Model, folder: str, as_json: bool) -> None:
    """Print a summary of the model that was trained and saved."""
    facts, stats = model_facts(model, folder), model.stats_
    training = {name: stats[name] for name in ("seconds", "tree_seconds", "loss") if name in stats}
    if as_json:
        print_json({**facts, **training})
        return
    out, trees = console(), model.trees_
    out.print(f"{plural(facts['n_labels'], 'label')}, {plural(facts['n_points'], 'point')} -> {folder}")
    rows = [("training time", f"{stats['seconds']:.1f} s, of which {stats['tree_seconds']:.1f} s for the tree")]
    if "n_words" in facts:
        rows.append(("vocabulary", f"{plural(facts['n_words'], 'word')}, {plural(facts['n_ngrams'], 'n-gram')}"))
    if "C" in facts:
        rows.append(("C by depth", c_text(facts["C"])))
    if "loss" in training:
        rows.append(("loss", f"{training['loss']:.4f}"))
    rows += [("weights", f"{facts['n_weights']:,}"), ("size on disk", size(facts["disk_bytes"]))]
    if len(trees) > 1:
        rows.append(("trees", f"{len(trees)}; the first one:"))
    out.print(make_table(None, [*rows, *summary_rows(trees[0].summary())]))
