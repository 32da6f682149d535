"""labeltrees inspect."""

from __future__ import annotations

from typing import Any

import click

from labeltrees.cli.label_view import LabelInspector, label_text
from labeltrees.cli.model_options import (
    Model,
    disk_bytes,
    is_given,
    load_model,
    model_argument,
    refuse_option,
    trees_of,
)
from labeltrees.cli.model_report import model_facts
from labeltrees.cli.options import json_option
from labeltrees.cli.output import console, make_table, print_json, size
from labeltrees.cli.tree import summary_rows
from labeltrees.models.linear.text_features import feature_names_of
from labeltrees.models.text.estimator import TextLabelTreeClassifier

_EPILOG = """\b
Examples:
  labeltrees inspect debian.model
  labeltrees inspect debian.model --label python3 --features 20
"""


@click.command("inspect", epilog=_EPILOG)
@model_argument
@click.option("--label", metavar="NAME", help="Show by which features the model goes to this label (name or id).")
@click.option(
    "--features", "n_features", type=click.IntRange(min=1), default=10, show_default=True, help="Shown of a classifier."
)
@click.option("--verify", is_flag=True, help="Read the whole model first and compare checksums.")
@json_option
def inspect_model(model_folder: str, label: str | None, n_features: int, verify: bool, as_json: bool) -> None:
    """Show what is in a MODEL: parameters, tree and sizes, or the way to one label.

    Every step of the way to a label has a classifier. Shown are its strongest weights: the features that speak for
    going that way, and those against it (negative). A text model has no features: shown are the steps alone.
    """
    model = load_model(model_folder, verify=verify)
    if isinstance(model, TextLabelTreeClassifier) and is_given("n_features"):
        refuse_option("features", "a TextLabelTreeClassifier", "it has vectors of words, and no features")
    if label is not None:
        record = LabelInspector(model).look(label, n_features)
        if as_json:
            print_json(record)
        else:
            out = console()
            out.print(label_text(record), soft_wrap=not out.is_terminal)
        return
    record = _describe(model, model_folder)
    if as_json:
        print_json(record)
        return
    _print(model, record)


def _describe(model: Model, folder: str) -> dict[str, Any]:
    reads_texts = isinstance(model, TextLabelTreeClassifier)
    return {
        **model_facts(model, folder),
        "has_label_names": model.label_names_ is not None,
        "has_feature_names": not reads_texts and feature_names_of(model) is not None,
        "takes_texts": reads_texts or model.vectorizer_ is not None,
        "files": disk_bytes(folder),
    }


def _print(model: Model, record: dict[str, Any]) -> None:
    out = console()
    names = [kind for kind in ("label", "feature") if record[f"has_{kind}_names"]]
    counts = " and ".join(
        f"{record[f'n_{kind}']:,} {kind}" for kind in ("labels", "features", "words") if f"n_{kind}" in record
    )
    trained = "" if record["n_points"] is None else f", trained on {record['n_points']:,} points"
    named = f", with {' and '.join(names)} names" if names else ""
    named += "; it takes texts" if record["takes_texts"] else ""
    out.print(f"{record['model']}: {type(model).__name__} of {counts}{trained}{named}")
    trees = trees_of(model)
    for number, tree in enumerate(trees):
        out.print("\n" + ("tree" if len(trees) == 1 else f"tree {number}"))
        out.print(make_table(None, summary_rows(tree.summary())))
    out.print("\nparameters")
    out.print(make_table(None, [(name, str(value)) for name, value in record["parameters"].items()], left=(0, 1)))
    out.print(f"\nsize on disk: {size(record['disk_bytes'])}, {record['n_weights'] or 0:,} weights")
    out.print(make_table(None, [(name, size(n_bytes)) for name, n_bytes in record["files"].items()]))
