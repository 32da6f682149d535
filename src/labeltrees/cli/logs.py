"""labeltrees logs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import click

from labeltrees.cli.options import Command, json_option
from labeltrees.cli.output import check_folder_of, console, make_table, print_json, step
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
    """From a log of who engaged with what to data to train on."""


def _option(flag: str, name: str, **settings: Any) -> Callable[[Command], Command]:
    default = _DEFAULTS[name]
    return click.option(flag, name, default=default, show_default=default is not None, **settings)


@logs.command(epilog=_EPILOG)
@click.argument("events", metavar="EVENTS", type=click.Path(exists=True))
@click.option("-o", "--output", metavar="DATASET", type=click.Path(), required=True, help="Folder for the data.")
@_option("--context", "context", help="Column of the context: a customer, a query, a page.")
@_option("--item", "item", help="Column of the item engaged with: the labels.")
@_option("--weight", "weight", help="Column of how much an event counts. [default: weight, if there is one]")
@_option("--time", "time", help="Column of the time. [default: time, if there is one]")
@_option("--item-name", "item_name", help="Column of the item's name for people.")
@_option(
    "--features",
    "features",
    type=click.Choice(FEATURES),
    help="Words of the context, its history before a cut, or a column. [default: by the options given, else words]",
)
@_option("--feature-column", "feature_column", help="Column with a text or a list of names or ids.")
@_option("--feature-separator", "feature_separator", help="Cuts the feature column into names.")
@_option("--history-before", "history_before", metavar="TIME", help="Items before are features, from then on labels.")
@_option("--since", "since", metavar="TIME", help="Leave out events before.")
@_option("--until", "until", metavar="TIME", help="Leave out events from then on.")
@_option("--period", "period", metavar="LENGTH", help="Such as 36h, 90d, 12w or 1y; alone: up to the last event.")
@_option("--time-format", "time_format", help="auto, or a format of strptime such as %d/%m/%Y %H:%M.")
@_option("--encoding", "encoding", help="Encoding of CSV files.")
@_option("--separator", "separator", help="Separator of CSV files. [default: found in the first line]")
@_option("--min-engagement", "min_engagement", type=float, help="Drop pairs of context and item with less.")
@_option("--min-item-contexts", "min_item_contexts", type=int, help="Drop items in fewer contexts.")
@click.option("--drop-duplicates", is_flag=True, help="Count events equal in all columns used once.")
@_option(
    "--point-weights",
    "point_weights",
    type=click.Choice(POINT_WEIGHTS),
    help="Weight of a point: the events of its context, their weights' sum, or none.",
)
@_option("--test-share", "test_share", type=float, help="Share of the contexts for test, at random.")
@_option("--test-since", "test_since", metavar="TIME", help="Test on the events from then on instead.")
@_option("--seed", "random_state", type=int, help="The same seed draws the same contexts for test.")
@_option(
    "--temporary-folder",
    "temporary_folder",
    type=click.Path(exists=True, file_okay=False),
    help="Where a log of more than 4 million events is put apart by context.",
)
@json_option
@click.pass_obj
def prepare(show_progress: bool, /, events: str, output: str, as_json: bool, **settings: Any) -> None:
    """Make the folder DATASET from the log EVENTS, for every command that takes DATA.

    EVENTS is a CSV, TSV or Parquet file or a folder of them, one event a line: a context, an item, perhaps a weight and
    a time. It is read some events at a time and may be larger than memory.
    """
    check_folder_of(output)
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
    out.print(f"{n_train:,} points to train on and {n_test:,} to test on -> {output}\n")
    rows = [(what, f"{count:,}", f"{100 * count / summary.events_read:.1f} %") for what, count in summary.rows()]
    out.print(make_table(("", "events", ""), rows))
    for title, counts in (("pairs", summary.pairs), ("contexts", summary.contexts), ("items", summary.items)):
        out.print()
        out.print(make_table(("", title), [(what, f"{count:,}") for what, count in counts.items()]))
    if summary.notes:
        out.print()
        out.print(make_table(("not dropped, but to note", ""), [(what, f"{n:,}") for what, n in summary.notes.items()]))
    out.print()
    shapes = [
        (
            name,
            *(f"{part[key]:,}" for key in ("n_points", "n_labels_with_points", "n_features")),
            *(f"{part[key]:.2f}" for key in ("labels_a_point", "features_a_point")),
        )
        for name, part in (("train", summary.train), ("test", summary.test))
    ]
    out.print(make_table(("", "points", "labels", "features", "labels a point", "features a point"), shapes))
