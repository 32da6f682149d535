"""labeltrees choose."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from labeltrees.cli.options import data_argument, json_option
from labeltrees.cli.output import check_folder_of, console, print_json
from labeltrees.cli.sweep import result_table
from labeltrees.cli.tuning_options import (
    fanouts_option,
    read_data,
    reading_options,
    say_no_memory,
    split_parameters,
    tuning_options,
)
from labeltrees.storage.save import check_target
from labeltrees.tuning.choose import choose as run_choose

_EPILOG = """\b
Examples:
  labeltrees choose debian -o debian.model --max-precision-loss 0.005
  labeltrees choose questions.csv -o questions.model --text title --labels tags --max-precision-loss 0.01
  labeltrees choose products/ -o products.model --max-latency-us 50 -k 5 --result products.json
"""


@click.command(epilog=_EPILOG)
@data_argument
@click.option("-o", "--output", metavar="MODEL", type=click.Path(), required=True, help="Folder for the model.")
@click.option(
    "--max-precision-loss", type=float, help="Take the fastest that is within this of the best, such as 0.005."
)
@click.option("--max-latency-us", type=float, help="Take the most precise within these microseconds a call (p99).")
@click.option("--metric", default="p1", show_default=True, help="p1, p3, ndcg5, ...; its k at most -k.")
@click.option("-k", type=int, default=5, show_default=True, help="Labels a call returns.")
@click.option(
    "--validation", "share", type=float, default=0.2, show_default=True, help="Share of DATA to measure settings on."
)
@click.option("--result", "result_file", type=click.Path(dir_okay=False), help="File for what was measured (JSON).")
@click.option("--early-rounds/--no-early-rounds", default=True, help="Try all settings on a part of DATA first.")
@fanouts_option("16 and the model's own, 128")
@tuning_options
@json_option
@click.pass_obj
def choose(
    show_progress: bool,
    /,
    data: str,
    output: str,
    share: float,
    result_file: str | None,
    as_json: bool,
    **parameters: Any,
) -> None:
    """Choose the tradeoff and fanout for DATA by a limit, and save the model as the folder MODEL.

    With --max-precision-loss the fastest model is taken whose metric is, with 95 % confidence, not below the best by
    more than that; with --max-latency-us the most precise whose calls are that fast; with both, the fastest that keeps
    to both. Part of DATA is held out to find out; the model is then trained on all of it. Of texts it keeps the
    vectorizer, so that it takes texts.
    """
    say_no_memory()
    check_folder_of(output)
    check_folder_of(result_file)
    check_target(Path(os.path.abspath(output)))  # before the work, not after it
    reading = reading_options(parameters)
    estimator, others = split_parameters(parameters)
    others["k"] = parameters["k"]  # of calls, and so of the model's `predict`
    train = read_data(data, reading, show_progress)
    choice = run_choose(train, estimator=estimator, validation=share, progress=show_progress, **others)
    choice.model.save(output)
    if result_file is not None:
        choice.result.save(result_file)
    if as_json:
        print_json(
            {
                "model": output,
                "parameters": choice.parameters,
                "record": choice.record,
                "explanation": choice.explanation,
                "table": choice.result.table,
            }
        )
        return
    out = console()
    out.print(result_table(choice.result))
    out.print(f"\n{choice.explanation}", soft_wrap=True)
    out.print(f"\nThe model is in {output}. To try it: labeltrees evaluate {output} TEST-DATA")
    if result_file is not None:
        out.print(f"What was measured is in {result_file}: labeltrees report {result_file} -o report.html")
