"""labeltrees baselines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import click
import numpy as np
from rich.console import Console

from labeltrees._validation import check_integer
from labeltrees.baselines.table import BASELINES
from labeltrees.cli.command import Command
from labeltrees.cli.data_options import data_options
from labeltrees.cli.options import data_argument, json_option, seed_option
from labeltrees.cli.output import Cell, Column, console, make_table, plural, print_json, step, with_margin
from labeltrees.cli.search_options import RuleOptions, rule_options
from labeltrees.cli.tuning_options import list_of, read_part, read_validation
from labeltrees.data.files import read_lines
from labeltrees.data.read_data import DataOptions
from labeltrees.errors import FileFormatError
from labeltrees.metrics.table import METRICS, metric_title
from labeltrees.models.linear.estimator import LabelTreeClassifier
from labeltrees.report.tables import asked_metric, model_on_same_points
from labeltrees.tuning.baseline_table import MAX_POINTS, measure_baselines
from labeltrees.tuning.data import AT_RANDOM, as_tuning_data, check_pair, split_data
from labeltrees.tuning.result import SweepResult
from labeltrees.tuning.rules import Rules

_EPILOG = """\b
Examples:
  labeltrees baselines debian
  labeltrees baselines questions.csv --text title --labels tags
  labeltrees baselines shop/ --exclude-seen
  labeltrees baselines shop/ --times shop/train.times.txt --json
"""


@click.command(cls=Command, epilog=_EPILOG)
@data_argument
@click.option(
    "--validation",
    metavar="DATA",
    help="Data to measure on. [default: the test part of DATA; a fifth of a single file, held out at random]",
)
@click.option(
    "-k", "ks", metavar="1,3,5", callback=list_of(int), default="1,3,5", show_default=True, help="Values of k."
)
@click.option(
    "--times",
    type=click.Path(exists=True, dir_okay=False),
    help="File with the time of each training point (of each point of a single file), one number or date per line. "
    "Needed to measure recent popularity.",
)
@click.option(
    "--max-points",
    type=int,
    default=MAX_POINTS,
    show_default=True,
    help="Measure on at most this many points, chosen at random; 0 for all.",
)
@data_options()
@rule_options
@seed_option
@json_option
@click.pass_obj
def baselines(
    show_progress: bool,
    data: str,
    validation: str | None,
    ks: list[int],
    times: str | None,
    max_points: int,
    random_state: int,
    as_json: bool,
    rules: RuleOptions,
    reading: DataOptions,
) -> None:
    """Measure simple recommenders on DATA, as a baseline for a model.

    DATA is a folder with a train and a test file (texts with labels, or XMC format), the word debian for the bundled
    data, or one file. A fifth of one file is held out at random to measure on, unless --validation names other data or
    --test-share another share. A model that does not beat these baselines is not worth its training. To compare with
    labeltrees evaluate under rules, such as --exclude-seen, give the same rules.
    """
    sizes = tuple(sorted({check_integer("ks", k, 1, 10_000) for k in ks}))
    check_integer("max_points", max_points, 0)
    train = read_part(data, reading, show_progress)
    points = as_tuning_data(train, "train", LabelTreeClassifier())
    if times is not None:
        points = replace(points, times=_read_times(times, points.n_points))
    other = read_validation(data, validation, train, reading, show_progress)
    parts = split_data(points, other, LabelTreeClassifier(), random_state)
    check_pair(parts.train, parts.validation)
    served = Rules.of(rules.for_training(train, diversity=None), LabelTreeClassifier(), points)
    with step("Measuring", show_progress):
        table = measure_baselines(parts.train, parts.validation, sizes, random_state, max_points or None, served)
    if as_json:
        facts = {
            "n_train": parts.train.n_points,
            "n_points": len(table.rows),
            "held_out": bool(parts.held_out),
            "k": sizes,
        }
        print_json({"data": data, **facts, "rules": rules.described(), "baselines": table.records})
        return
    out = console()
    measured = plural(len(table.rows), "point")
    if len(table.rows) < parts.validation.n_points:
        measured = f"{len(table.rows):,} of {parts.validation.n_points:,} points"
    learnt = plural(parts.train.n_points, "point")
    under = f" with the rules: {served.words}" if served.words else ""
    out.print(f"{data}: learnt from {learnt}, measured on {measured}{under}\n")
    print_comparison(out, table.records, sizes, table.notes)
    if parts.train.times is None:
        out.print("recent popularity: not measured, because the points have no times (--times FILE)")
    if parts.held_out:
        out.print(f"\n{held_out_note(parts.validation.n_points, data, parts.held_out, random_state)}")


def _read_times(path: str, n_points: int) -> Any:
    lines = read_lines(path)
    if len(lines) != n_points:
        message = (
            f"{path}: {plural(len(lines), 'time')} for {plural(n_points, 'training point')}; it must have one per line"
        )
        raise FileFormatError(message)
    values = np.array(lines, dtype=object)
    try:
        return values.astype(np.float64)
    except ValueError:
        return values  # dates


def print_baselines_of(out: Console, result: SweepResult) -> None:
    """Print one line for the model of a sweep (the chosen or else the most precise one) and one per baseline."""
    if not result.baselines:
        return
    largest, first = max(result.ks), f"p{result.ks[0]}"
    weighted = f"weighted_p{largest}"
    columns = [asked_metric(result), *(f"p{k}" for k in result.ks)]
    columns = list(dict.fromkeys([*columns, weighted if weighted in result.table[0] else f"ndcg{largest}"]))
    n_all = result.facts["data"]["n_validation_points"]
    n_measured = result.facts["measured"].get("baseline_points", n_all)
    points = "the same points" if n_measured == n_all else f"{n_measured:,} of the {n_all:,} validation points"
    best = result.chosen or max(result.table, key=lambda record: record[first])["setting"]
    model = model_on_same_points(result, best)
    rows = [("chosen model" if result.chosen else "most precise model", *(cell(model, column) for column in columns))]
    rows += [(record["baseline"], *(cell(record, column) for column in columns)) for record in result.baselines]
    rules = result.facts["measured"].get("rules", "")
    points += f" with the same rules: {rules}" if rules else ""
    out.print(f"\nBaselines, measured on {points} (%, ± half of the 95 % interval):")
    out.print(make_table(("", *map(metric_title, columns)), rows))


def print_comparison(
    out: Console, records: Sequence[dict[str, Any]], ks: Sequence[int], notes: dict[str, str] | None = None
) -> None:
    """Print baselines side by side: one column each, one line per metric."""
    others = [metric for metric in METRICS if metric.column != "p"]
    names = [f"p{k}" for k in ks] + [f"{metric.column}{max(ks)}" for metric in others]
    names += [f"weighted_p{k}" for k in ks] + [f"weighted_{metric.column}{max(ks)}" for metric in others]
    names = [name for name in names if name in records[0]]
    rows: list[tuple[str | Cell, ...]] = [
        (metric_title(name), *(cell(record, name) for record in records)) for name in names
    ]
    out.print(make_table(("%", *(_column(record["baseline"]) for record in records)), rows))
    out.print("\n± is half of the 95 % confidence interval.")
    for record in records:
        name = record["baseline"]
        out.print(f"{name}: {BASELINES[name].meaning}" + (f" ({notes[name]})" if notes and name in notes else ""))


def _column(baseline: str) -> Column:
    return Column(baseline, short=baseline.split()[0])


def cell(record: dict[str, Any], column: str) -> Cell:
    """Return a value in percent with the half-width of its interval."""
    return with_margin(record[column], *record["intervals"][column])


def held_out_note(n_points: int, data: str, how: str, seed: int) -> str:
    """Return the sentence that describes the held-out points; used if no validation data was given."""
    drawn = f" (seed {seed})" if how == AT_RANDOM else ""
    return f"Measured on {plural(n_points, 'point')} of {data}, held out from training {how}{drawn}."
