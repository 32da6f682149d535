"""Facts about a saved model, and the summary after training."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from labeltrees._files import naming_file
from labeltrees.cli.output import console, plural, print_json, size
from labeltrees.cli.saved_models import disk_bytes, simple_parameters
from labeltrees.cli.tables import make_table
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


def evidence_words(stats: dict[str, Any]) -> str:
    """Return in words what was learned about evidence, from ``stats_["evidence"]`` of a model.

    Examples
    --------
    >>> evidence_words({"used": False, "held_out_points": 900, "gain": 0.001, "gain_lower": -0.002})
    'off: no significant gain on 900 held-out points (+0.10 percentage points)'
    """
    points = f"{plural(stats['held_out_points'], 'held-out point')}"
    gain = f"{100 * stats['gain']:+.2f} percentage points" if "gain" in stats else None
    if not stats["used"]:
        return (
            f"off: too few points to learn from ({points})"
            if gain is None
            else (f"off: no significant gain on {points} ({gain})")
        )
    weights = f"weight {stats['neighbour_weight']:g} of neighbours, {stats['centroid_weight']:g} of centroids"
    learned = "not learned: too few points" if gain is None else f"{gain} on {points}"
    return f"{weights} ({learned}), {size(stats['bytes'])}"


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
    training = {name: stats[name] for name in ("seconds", "tree_seconds", "loss", "evidence") if name in stats}
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
    if "evidence" in stats:
        rows.append(("evidence", evidence_words(stats["evidence"])))
    if len(trees) > 1:
        rows.append(("trees", f"{len(trees)}; the first one:"))
    out.print(make_table(None, [*rows, *summary_rows(trees[0].summary())], left=(0, 1)))
