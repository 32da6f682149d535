"""labeltrees sweep."""

from __future__ import annotations

import json
from typing import Any

import click

from labeltrees.cli.baselines import held_out_note, print_baselines_of
from labeltrees.cli.cluster_options import TrainingPlace, only_cluster_options
from labeltrees.cli.command import Command
from labeltrees.cli.options import Decorator, data_argument, json_option
from labeltrees.cli.output import Column, Table, check_parent_folder, console, number
from labeltrees.cli.search_options import RuleOptions
from labeltrees.cli.tuning_options import (
    fanouts_option,
    hide_memory_log,
    read_part,
    read_validation,
    saying_how_to_continue,
    split_parameters,
    tuning_options,
)
from labeltrees.data.data_folder import name_of_data
from labeltrees.data.read_data import DataOptions
from labeltrees.models.linear.estimator import LabelTreeClassifier
from labeltrees.tuning.candidates import COVERS, PATHS, TRADEOFFS
from labeltrees.tuning.result import SweepResult
from labeltrees.tuning.sweep import sweep as run_sweep

_EPILOG = """\b
Examples:
  labeltrees sweep debian -o debian.sweep.json
  labeltrees sweep products/ -o products.sweep.json --tradeoffs 0,0.5,1,1.5 --fanouts 16,128 --folder products-sweep
  labeltrees sweep train.txt --validation test.txt -o paper.json --preset paper
  labeltrees convert debian.sweep.json -o report.html
"""


def _repeated(flag: str, name: str, choices: tuple[str, ...], help: str) -> Decorator:
    kind = click.Choice(choices)
    return click.option(flag, name, multiple=True, type=kind, default=choices[:1], show_default=True, help=help)


@click.command(cls=Command, epilog=_EPILOG)
@data_argument
@click.option(
    "-o", "--output", metavar="RESULT", type=click.Path(dir_okay=False), help="File to save the result in (JSON)."
)
@click.option(
    "--validation",
    metavar="DATA",
    help="Data to measure on. [default: the test part of DATA; a fifth of a single file, held out at random]",
)
@click.option("--csv", "csv_file", type=click.Path(dir_okay=False), help="Also write the table to this file.")
@click.option(
    "--preset",
    type=click.Choice(["paper"]),
    help="The paper's setting, for options that are not given: Parabel's trees, C and search; its grid of tradeoffs.",
)
@fanouts_option("256")
@_repeated("--cover", "covers", COVERS, "Cover frequencies to try, as in labeltrees tree build.")
@_repeated("--path", "paths", PATHS, "Paths to try, as in labeltrees tree build.")
@tuning_options
@only_cluster_options
@json_option
@click.pass_obj
def sweep(
    show_progress: bool,
    /,
    data: str,
    output: str | None,
    validation: str | None,
    preset: str | None,
    csv_file: str | None,
    as_json: bool,
    place: TrainingPlace,
    rules: RuleOptions,
    diversity: float | None,
    reading: DataOptions,
    **parameters: Any,
) -> None:
    """Train a model on DATA at every setting, and measure its precision, expected depth and speed.

    DATA is a folder with a train and a test file (texts with labels, or XMC format), the word debian for the bundled
    data, or one file. A fifth of one file is held out at random to measure on, unless --validation names other data or
    --test-share another share. Simple baselines are measured on the same points (at most 5,000 of them). --cover and
    --path can be repeated. With --folder, an interrupted sweep continues where it stopped. With --cluster, the models
    are trained as tasks of a Dask cluster, and all are timed on one worker; all workers must have access to --folder.
    The rules of labeltrees evaluate (--exclude-seen, --candidates, ...; --help-all shows them) hold for models, times
    and baselines.
    """
    hide_memory_log()
    check_parent_folder(output)
    check_parent_folder(csv_file)
    if parameters["tradeoffs"] is None:
        parameters["tradeoffs"] = "parabel" if preset is not None else TRADEOFFS
    variants = {"tree__cover": parameters.pop("covers"), "tree__path": parameters.pop("paths")}
    grid = {name: values for name, values in variants.items() if values not in (COVERS[:1], PATHS[:1])}
    make = LabelTreeClassifier if preset is None else LabelTreeClassifier.parabel
    estimator, others = split_parameters(parameters, show_progress, make)
    train = read_part(data, reading, show_progress)
    others["rules"] = rules.for_training(train, diversity)
    measured = read_validation(data, validation, train, reading, show_progress)
    with place.client() as client, saying_how_to_continue(others["folder"]):
        result = run_sweep(train, measured, estimator=estimator, grid=grid, client=client, **others)
    result.data_name = name_of_data(data)
    if output is not None:
        result.save(output)
    if csv_file is not None:
        result.to_csv(csv_file)
    if as_json:
        record = json.loads(result.to_json())
        shown = {name: record[name] for name in ("table", "baselines", "comparison")}
        click.echo(
            json.dumps({"held_out": result.facts["measured"]["held_out"], **shown}, indent=2, ensure_ascii=False)
        )
        return
    out = console()
    out.print(result_table(result))
    print_baselines_of(out, result)
    if result.comparison is not None:
        out.print(f"\n{result.comparison}")
    if result.facts["measured"]["held_out"]:
        n_points = result.facts["data"]["n_validation_points"]
        how = result.facts["measured"]["held_out_how"]
        out.print(f"\n{held_out_note(n_points, data, how, estimator.random_state)}")
    if output is not None:
        out.print(f"\nThe result is in {output}. For a report: labeltrees convert {output} -o report.html")


def result_table(result: SweepResult) -> Table:
    """Return the table of a result; a star marks settings on the frontier of time and P@k, at the first k."""
    ks, largest = result.ks, max(result.ks)
    best = {record["setting"] for record in result.frontier(f"top{largest}_p50_us", f"p{ks[0]}")}
    variants = len({(record["cover"], record["path"]) for record in result.table}) > 1
    varied = result.facts.get("varied", [])  # without them, rows of one tree would look the same
    rows = []
    for record in result.table:
        row = [f"{record['tradeoff']:.4g}", "-" if record["fanout"] is None else f"{record['fanout']}"]
        row += [f"{record['cover']}, {record['path']}"] if variants else []
        row += [", ".join(f"{name} {record[name]}" for name in varied)] if varied else []
        row += [number(100 * record[f"p{k}"]) for k in ks]
        row += [number(record[f"depth{ks[0]}"]), number(record["chunks"], 1)]
        row += [number(record[f"top{largest}_p{percentile}_us"], 1) for percentile in (50, 99)]
        row += [number(record["training_seconds"], 1), number(record["model_bytes"] / 1e6, 1)]
        chosen = "chosen" if record["setting"] == result.chosen else ""
        row.append(("*" if record["setting"] in best else "") + chosen)
        rows.append(row)
    columns = [Column("tradeoff", "trade", align="left"), Column("fanout", "fan", 1)]
    columns += [Column("cover, path", align="left")] if variants else []
    columns += [Column("other settings", "other", align="left")] if varied else []
    # The first and the last k matter most; a table without the first P@k or the time is useless.
    columns += [Column(f"P@{k} %", f"P@{k}", 0 if k == ks[0] else 2 if k == largest else 4) for k in ks]
    columns += [Column(f"depth@{ks[0]}", priority=3), Column("nodes", priority=6), Column(f"top-{largest} us", "us")]
    columns += [Column("p99 us", "p99", 3), Column("train s", priority=5), Column("MB", priority=5)]
    return Table([*columns, Column("", align="left")], rows)
