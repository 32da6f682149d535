"""labeltrees logs."""

from __future__ import annotations

import inspect
from typing import Any

import click

from labeltrees.cli.options import Decorator, json_option
from labeltrees.cli.output import check_parent_folder, console, make_table, plural, print_json, step
from labeltrees.data.logs import PreparedLogs, prepare_logs
from labeltrees.data.logs.folder import check_dataset_folder
from labeltrees.data.logs.settings import FEATURES, POINT_WEIGHTS

_DEFAULTS = {name: parameter.default for name, parameter in inspect.signature(prepare_logs).parameters.items()}
_EPILOG = """\b
Examples:
  labeltrees logs prepare clicks.parquet -o clicks --context query --item product --min-engagement 3
  labeltrees logs prepare sales/ -o sales --context customer --item article --weight quantity \\
      --time date --history-before 2011-09-01 --min-item-contexts 2
  labeltrees fit clicks -o clicks.model
"""


@click.group(epilog=_EPILOG)
def logs() -> None:
    """Turn logs of events into training data."""


def _option(flag: str, name: str, **settings: Any) -> Decorator:
    default = _DEFAULTS[name]
    return click.option(flag, name, default=default, show_default=default is not None, **settings)


@logs.command(epilog=_EPILOG)
@click.argument("events", metavar="EVENTS", type=click.Path(exists=True))
@click.option("-o", "--output", metavar="DATASET", type=click.Path(), required=True, help="Folder to save the data in.")
@_option("--context", "context", help="Column with the context: a customer, a query, a page.")
@_option("--item", "item", help="Column with the item, which becomes a label.")
@_option("--weight", "weight", help="Column with the weight of an event. [default: weight, if it exists]")
@_option("--time", "time", help="Column with the time. [default: time, if it exists]")
@_option("--item-name", "item_name", help="Column with a readable name of the item.")
@_option(
    "--features",
    "features",
    type=click.Choice(FEATURES),
    help="Words of the context, its history before a time, or a column. [default: by the other options, else words]",
)
@_option("--feature-column", "feature_column", help="Column with features: a text, or a list of names or ids.")
@_option("--feature-separator", "feature_separator", help="Separates the names in the feature column.")
@_option(
    "--history-before",
    "history_before",
    metavar="TIME",
    help="Items before this time are features, items from then on are labels.",
)
@_option("--since", "since", metavar="TIME", help="Leave out events before this time.")
@_option("--until", "until", metavar="TIME", help="Leave out events from this time on.")
@_option(
    "--period",
    "period",
    metavar="LENGTH",
    help="Use only a period such as 36h, 90d, 12w or 1y; without --since or --until, the last one.",
)
@_option("--time-format", "time_format", help="auto, or a strptime format such as %d/%m/%Y %H:%M.")
@_option("--encoding", "encoding", help="Encoding of CSV files.")
@_option("--separator", "separator", help="Separator of CSV files. [default: detected from the first line]")
@_option(
    "--min-engagement", "min_engagement", type=float, help="Drop pairs of context and item with a smaller total weight."
)
@_option("--min-item-contexts", "min_item_contexts", type=int, help="Drop items that occur in fewer contexts.")
@click.option("--drop-duplicates", is_flag=True, help="Count events that are equal in all used columns only once.")
@_option(
    "--point-weights",
    "point_weights",
    type=click.Choice(POINT_WEIGHTS),
    help="Weight of a point: number of events of its context, sum of their weights, or none.",
)
@_option("--test-share", "test_share", type=float, help="Share of contexts for the test part, drawn at random.")
@_option(
    "--test-since", "test_since", metavar="TIME", help="Use the events from this time on as the test part instead."
)
@_option("--seed", "random_state", type=int, help="Random seed of the test part.")
@_option(
    "--temporary-folder",
    "temporary_folder",
    type=click.Path(exists=True, file_okay=False),
    help="Where a log of more than 4 million events is sharded by context.",
)
@json_option
@click.pass_obj
def prepare(show_progress: bool, /, events: str, output: str, as_json: bool, **settings: Any) -> None:
    """Turn the log EVENTS into the folder DATASET, which every command takes as DATA.

    EVENTS is a CSV, TSV or Parquet file, or a folder of such files, with one event per line: a context, an item, and
    optionally a weight and a time. It is read in blocks and may be larger than memory.
    """
    check_parent_folder(output)
    check_dataset_folder(output)  # before the work, not after it
    prepared = prepare_logs(events, progress=show_progress, **settings)
    with step("Writing", show_progress):
        prepared.save(output)
    if as_json:
        print_json({"dataset": output, **prepared.summary.to_json()})
    else:
        _print(prepared, output)


def _print(prepared: PreparedLogs, output: str) -> None:
    out, summary = console(), prepared.summary
    n_train, n_test = summary.train["n_points"], summary.test["n_points"]
    out.print(f"{plural(n_train, 'training point')} and {plural(n_test, 'test point')} -> {output}\n")
    rows = [(what, f"{count:,}", f"{100 * count / summary.events_read:.1f} %") for what, count in summary.rows()]
    out.print(make_table(("", "events", ""), rows))
    for title, counts in (("pairs", summary.pairs), ("contexts", summary.contexts), ("items", summary.items)):
        out.print()
        out.print(make_table(("", title), [(what, f"{count:,}") for what, count in counts.items()]))
    if summary.notes:
        out.print()
        out.print(
            make_table(("not dropped, but worth knowing", ""), [(what, f"{n:,}") for what, n in summary.notes.items()])
        )
    out.print()
    shapes = [
        (
            name,
            *(f"{part[key]:,}" for key in ("n_points", "n_labels_with_points", "n_features")),
            *(f"{part[key]:.2f}" for key in ("labels_a_point", "features_a_point")),
        )
        for name, part in (("train", summary.train), ("test", summary.test))
    ]
    out.print(make_table(("", "points", "labels", "features", "labels per point", "features per point"), shapes))
