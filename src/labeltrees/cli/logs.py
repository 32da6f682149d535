"""labeltrees logs."""

from __future__ import annotations

from typing import Any

import click

from labeltrees.cli.options import json_option, setting_options
from labeltrees.cli.output import check_parent_folder, console, make_table, plural, print_json, step
from labeltrees.data.logs import PreparedLogs, prepare_logs
from labeltrees.data.logs.folder import check_dataset_folder
from labeltrees.data.logs.settings import LogSettings

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


@logs.command(epilog=_EPILOG)
@click.argument("events", metavar="EVENTS", type=click.Path(exists=True))
@click.option("-o", "--output", metavar="DATASET", type=click.Path(), required=True, help="Folder to save the data in.")
@setting_options(LogSettings, skip=("random_state",))
@click.option("--seed", "random_state", type=int, default=0, show_default=True, help="Random seed of the test part.")
@click.option(
    "--temporary-folder",
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
