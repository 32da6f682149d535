"""labeltrees inspect."""

from __future__ import annotations

from typing import Any

import click

from labeltrees.cli.command import Command
from labeltrees.cli.label_view import LabelInspector, label_text
from labeltrees.cli.model_report import c_text, evidence_words, model_facts
from labeltrees.cli.options import is_given, json_option, model_argument, refuse_option
from labeltrees.cli.output import console, plural, print_json, size
from labeltrees.cli.saved_models import disk_bytes, load_model
from labeltrees.cli.tables import make_table
from labeltrees.cli.tree import summary_rows
from labeltrees.models.common.protocol import Model
from labeltrees.models.linear.contexts import feature_names_of

_EPILOG = """\b
Examples:
  labeltrees inspect debian.model
  labeltrees inspect debian.model --label python3 --features 20
"""


@click.command("inspect", cls=Command, epilog=_EPILOG)
@model_argument
@click.option(
    "--label", metavar="NAME", help="Show the path to this label (name or id) and the strongest features on it."
)
@click.option(
    "--features",
    "n_features",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Number of features to show per classifier.",
)
@click.option("--verify", is_flag=True, help="First read the whole model and compare checksums.")
@json_option
def inspect_model(model_folder: str, label: str | None, n_features: int, verify: bool, as_json: bool) -> None:
    """Show the parameters, trees and sizes of a MODEL, or the path to one label.

    Every step of the path to a label has a classifier. For each step, --label shows the features with the strongest
    weights: positive ones favour this step, negative ones oppose it. A text model has no features; only the steps are
    shown.
    """
    model = load_model(model_folder, verify=verify)
    if model.READS_TEXTS and is_given("n_features"):
        refuse_option("--features", f"a {model.KIND}", "it has vectors of words instead of features")
    if label is not None:
        record = LabelInspector(model, model_folder).inspect(label, n_features)
        if as_json:
            print_json(record)
        else:
            out = console()
            out.print(label_text(record))
        return
    record = _describe(model, model_folder)
    if as_json:
        print_json(record)
        return
    _print(model, record)


def _describe(model: Model, folder: str) -> dict[str, Any]:
    return {
        **model_facts(model, folder),
        "has_label_names": model.label_names_ is not None,
        "has_feature_names": feature_names_of(model) is not None,
        "takes_texts": model.takes_texts,
        "takes": None if model.encoder_ is None else model.encoder_.TAKES,
        "evidence": model.stats_.get("evidence"),
        "files": disk_bytes(folder),
    }


def _print(model: Model, record: dict[str, Any]) -> None:
    out = console()
    names = [kind for kind in ("label", "feature") if record[f"has_{kind}_names"]]
    counts = " and ".join(
        plural(record[f"n_{noun}s"], noun) for noun in ("label", "feature", "word") if f"n_{noun}s" in record
    )
    trained = "" if record["n_points"] is None else f", trained on {plural(record['n_points'], 'point')}"
    named = f", with {' and '.join(names)} names" if names else ""
    named += "; takes texts" if record["takes_texts"] else ""
    named += f"; takes {record['takes']}" if record["takes"] and not record["takes_texts"] else ""
    out.print(f"{record['model']}: {model.KIND} with {counts}{trained}{named}")
    trees = model.trees_
    for number, tree in enumerate(trees):
        out.print("\n" + ("tree" if len(trees) == 1 else f"tree {number}"))
        out.print(make_table(None, summary_rows(tree.summary())))
    out.print("\nparameters")
    out.print(make_table(None, [(name, str(value)) for name, value in record["parameters"].items()], left=(0, 1)))
    if record["evidence"] is not None:
        out.print(f"\nevidence: {evidence_words(record['evidence'])}")
    if "C" in record:
        out.print(f"\nC by depth: {c_text(record['C'])}")
    out.print(f"\nsize on disk: {size(record['disk_bytes'])}, {plural(record['n_weights'] or 0, 'weight')}")
    out.print(make_table(None, [(name, size(n_bytes)) for name, n_bytes in record["files"].items()]))
