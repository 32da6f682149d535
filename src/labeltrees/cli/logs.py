"""labeltrees logs."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import click

from labeltrees.cli.command import LOG_GROUPS, Command, rare_option
from labeltrees.cli.options import json_option, seed_option, setting_options
from labeltrees.cli.output import check_parent_folder, console, make_table, plural, print_json, step
from labeltrees.data.parts.writer import POINTS_PER_PART
from labeltrees.logs import PreparedLogs, prepare_with
from labeltrees.logs.folder import check_dataset_folder
from labeltrees.logs.settings import LogSettings

_EPILOG = """\b
Examples:
  labeltrees logs prepare clicks.parquet -o clicks --context query --item product --min-engagement 3
  labeltrees logs prepare sales/ -o sales --context customer --item article --weight quantity \\
      --time date --history-before 2011-09-01 --min-item-contexts 2
  labeltrees logs prepare baskets.csv -o baskets --context basket --item article --features basket
  labeltrees logs prepare baskets.csv -o related --context basket --item article --item-name name --features related
  labeltrees logs prepare sales/ -o sales --context customer --item article --features basket --parts --cluster local
  labeltrees fit clicks -o clicks.model
"""


@click.group(epilog=_EPILOG)
def logs() -> None:
    """Turn logs of events into training data."""


@logs.command(cls=Command, groups=LOG_GROUPS, epilog=_EPILOG)
@click.argument("events", metavar="EVENTS", type=click.Path(exists=True))
@click.option("-o", "--output", metavar="DATASET", type=click.Path(), required=True, help="Folder to save the data in.")
@setting_options(LogSettings, skip=("random_state",))
@seed_option
@rare_option(
    "--work-folder",
    type=click.Path(exists=True, file_okay=False),
    help="Where a log of more than 4 million events is sharded by context. [default: beside DATASET]",
)
@click.option("--parts", "in_parts", is_flag=True, help="Write a dataset in parts, which can be larger than memory.")
@rare_option(
    "--points-per-part", type=click.IntRange(1), help=f"With --parts, points per part. [default: {POINTS_PER_PART}]"
)
@click.option(
    "--cluster",
    metavar="local|ADDRESS",
    help="Work on a Dask cluster: local processes, or a scheduler's address. Its workers must see EVENTS and DATASET.",
)
@rare_option("--workers", type=click.IntRange(1), help="Processes of --cluster local. [default: one per core]")
@json_option
@click.pass_obj
def prepare(
    show_progress: bool,
    /,
    events: str,
    output: str,
    work_folder: str | None,
    in_parts: bool,
    points_per_part: int | None,
    cluster: str | None,
    workers: int | None,
    as_json: bool,
    **settings: Any,
) -> None:
    """Turn the log EVENTS into the folder DATASET, which every command takes as DATA.

    EVENTS is a CSV, TSV or Parquet file, or a folder of such files, with one event per line: a context, an item, and
    optionally a weight and a time. It is read in blocks and may be larger than memory; with --parts, so may DATASET. If
    the command is interrupted, the same command continues with the shards that are finished.
    """
    check_parent_folder(output)
    target = check_dataset_folder(output)  # fail before the work starts
    if points_per_part is not None and not in_parts:
        message = "--points-per-part needs --parts"
        raise click.UsageError(message)
    with _client(cluster, workers) as client:
        prepared = prepare_with(
            events,
            LogSettings(**settings),
            parts=(output, points_per_part or POINTS_PER_PART) if in_parts else None,
            work_folder=Path(work_folder or target.parent) / f".{target.name}.preparing",
            client=client,
            progress=show_progress,
        )
    if not in_parts:
        with step("Writing", show_progress):
            prepared.save(output)
    if as_json:
        print_json({"dataset": output, **prepared.summary.to_json()})
    else:
        _print(prepared, output)


def _client(cluster: str | None, workers: int | None) -> AbstractContextManager[Any]:
    """Return a context manager of a client; of None without a cluster."""
    if workers is not None and cluster != "local":
        message = "--workers needs --cluster local"
        raise click.UsageError(message)
    if cluster is None:
        return nullcontext()
    from labeltrees.tasks.on_dask import connect

    return connect(cluster, workers)


def _print(prepared: PreparedLogs, output: str) -> None:
    out, summary = console(), prepared.summary
    n_train, n_test = summary.train["n_points"], summary.test["n_points"]
    out.print(f"{plural(n_train, 'training point')} and {plural(n_test, 'test point')} -> {output}\n")
    rows = [(what, f"{count:,}", f"{100 * count / summary.events_read:.1f} %") for what, count in summary.rows()]
    out.print(make_table(("", "events", ""), rows))
    for title, counts in (("pairs", summary.pairs), ("contexts", summary.contexts), ("items", summary.items)):
        out.print()
        out.print(make_table(("", title), [(what, f"{count:,}") for what, count in counts.items()]))
    for title, notes in (("not dropped, but worth knowing", summary.notes), ("leakage", summary.leakage)):
        if notes:
            out.print()
            out.print(make_table((title, ""), [(what, f"{n:,}") for what, n in notes.items()]))
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
