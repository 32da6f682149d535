"""labeltrees sweep."""

from __future__ import annotations

import json
from typing import Any

import click

from labeltrees.cli.options import data_argument, json_option
from labeltrees.cli.output import check_folder_of, console, make_table, number
from labeltrees.cli.tuning_options import (
    fanouts_option,
    read_data,
    read_validation,
    reading_options,
    say_no_memory,
    split_parameters,
    tuning_options,
)
from labeltrees.tuning.result import SweepResult
from labeltrees.tuning.settings import COVERS, PATHS
from labeltrees.tuning.sweep import sweep as run_sweep

_EPILOG = """\b
Examples:
  labeltrees sweep debian -o debian.sweep.json
  labeltrees sweep products/ -o products.sweep.json --tradeoffs 0,0.5,1,1.5 --fanouts 16,128 --folder products-sweep
  labeltrees sweep train.txt --validation test.txt -o paper.json --tradeoffs parabel --fanouts 2 --leaf-size 100
      --cover marginal --cover greedy --path weighted --path direct
  labeltrees report debian.sweep.json -o report.html
"""


@click.command(epilog=_EPILOG)
@data_argument
@click.option("-o", "--output", metavar="RESULT", type=click.Path(dir_okay=False), help="File for the result (JSON).")
@click.option("--validation", metavar="DATA", help="What to measure on. [default: the test part of DATA]")
@click.option("--csv", "csv_file", type=click.Path(dir_okay=False), help="Write the table to this file too.")
@fanouts_option("the model's own, 128")
@click.option("--cover", "covers", multiple=True, type=click.Choice(COVERS), default=COVERS[:1], show_default=True)
@click.option("--path", "paths", multiple=True, type=click.Choice(PATHS), default=PATHS[:1], show_default=True)
@tuning_options
@json_option
@click.pass_obj
def sweep(
    show_progress: bool,
    /,
    data: str,
    output: str | None,
    validation: str | None,
    csv_file: str | None,
    as_json: bool,
    **parameters: Any,
) -> None:
    """Train a model of DATA at every setting and measure how right, how deep and how fast each is.

    DATA is a folder with a train and a test file (texts with labels or XMC form), the word debian for the bundled set,
    or a file; then --validation names what to measure on, or --test-share splits it. --cover and --path may be given
    more than once. A sweep with a --folder that was interrupted goes on where it stopped.
    """
    say_no_memory()
    check_folder_of(output)
    check_folder_of(csv_file)
    reading = reading_options(parameters)
    estimator, others = split_parameters(parameters)
    train = read_data(data, reading, show_progress)
    if validation is None:
        measured = read_data(data, reading, show_progress, part="test")
    else:
        measured = read_validation(validation, train, reading, show_progress)
    result = run_sweep(train, measured, estimator=estimator, progress=show_progress, **others)
    if output is not None:
        result.save(output)
    if csv_file is not None:
        result.to_csv(csv_file)
    if as_json:
        click.echo(json.dumps(json.loads(result.to_json())["table"], indent=2, ensure_ascii=False))
        return
    console().print(result_table(result))
    if output is not None:
        console().print(f"\nThe result is in {output}. To look at it: labeltrees report {output} -o report.html")


def result_table(result: SweepResult) -> Any:
    """Return the table of a result for a terminal; settings no other beats in time and the first P@k have a star."""
    ks, largest = result.ks, max(result.ks)
    best = {record["setting"] for record in result.frontier(f"top{largest}_p50_us", f"p{ks[0]}")}
    variants = len({(record["cover"], record["path"]) for record in result.table}) > 1
    rows = []
    for record in result.table:
        row = [f"{record['tradeoff']:.4g}", "-" if record["fanout"] is None else f"{record['fanout']}"]
        row += [f"{record['cover']}, {record['path']}"] if variants else []
        row += [number(100 * record[f"p{k}"]) for k in ks]
        row += [number(record[f"depth{ks[0]}"]), number(record["chunks"], 1)]
        row += [number(record[f"top{largest}_p{percentile}_us"], 1) for percentile in (50, 99)]
        row += [number(record["training_seconds"], 1), number(record["model_bytes"] / 1e6, 1)]
        chosen = " chosen" if record["setting"] == result.chosen else ""
        row.append(("*" if record["setting"] in best else "") + chosen)
        rows.append(row)
    columns = ["tradeoff", "fanout", *(["cover, path"] if variants else []), *(f"P@{k} (%)" for k in ks)]
    columns += [f"depth@{ks[0]}", "chunks", f"top-{largest} us", "p99", "train s", "MB", ""]
    return make_table(columns, rows, left=(0, len(columns) - 1))
