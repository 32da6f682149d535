"""labeltrees calibrate."""

from __future__ import annotations

from typing import Any

import click

from labeltrees.cli.data_argument import TextOptions
from labeltrees.cli.model_data import read_measured
from labeltrees.cli.model_options import check_output, load_model, model_argument
from labeltrees.cli.options import (
    data_argument,
    index_base_option,
    jobs_option,
    json_option,
    label_names_option,
    text_options,
)
from labeltrees.cli.output import console, make_table, number, print_json, step
from labeltrees.models.common.early_stop import LENGTHS, EarlyStop
from labeltrees.models.text.estimator import TextLabelTreeClassifier

_AGREEMENTS = (0.9, 0.95, 0.99, 0.999)
_EPILOG = """\b
Examples:
  labeltrees calibrate debian.model debian
  labeltrees predict debian.model debian --agreement 0.99
  labeltrees calibrate products.model held-out.txt --k 5 --probabilities -o calibrated.model
"""


def _lengths(_context: click.Context, _parameter: click.Parameter, value: str) -> list[int]:
    try:
        return [int(part) for part in value.split(",")]
    except ValueError:
        message = f"{value!r} is not a list of whole numbers such as 1,5,10."
        raise click.BadParameter(message) from None


@click.command(epilog=_EPILOG)
@model_argument
@data_argument
@text_options
@click.option(
    "--k",
    "lengths",
    metavar="K,...",
    default=",".join(map(str, LENGTHS)),
    show_default=True,
    callback=_lengths,
    help="Lengths of lists to learn; a list of another length is cut from the next longer.",
)
@click.option("--probabilities", is_flag=True, help="Learn what scores mean as probabilities too, from DATA's labels.")
@click.option("-o", "--output", metavar="MODEL", type=click.Path(), help="Folder for the model. [default: in place]")
@label_names_option
@index_base_option
@jobs_option
@json_option
@click.pass_obj
def calibrate(
    show_progress: bool,
    model_folder: str,
    data: str,
    lengths: list[int],
    probabilities: bool,
    output: str | None,
    label_names: str | None,
    index_base: Any,
    n_jobs: int,
    as_json: bool,
    texts: TextOptions,
) -> None:
    """Learn on DATA when the searches of a MODEL may stop early, and save it with the model.

    After it, --agreement 0.99 of the other commands, and agreement=0.99 in Python, leave at least that share of the
    lists as exact search would make them. DATA are points that the model was not trained on, as in labeltrees evaluate;
    a third of them teach, the others check, and it is these that the table tells of: the share of lists unchanged, and
    the nodes opened, relative to exact search.
    """
    target = model_folder if output is None else output
    check_output(target)
    model = load_model(model_folder)
    with step("Reading data", show_progress):
        dataset = read_measured(data, label_names, index_base, texts, model, n_jobs)
    X: Any = dataset.texts if isinstance(model, TextLabelTreeClassifier) else dataset.X
    own_jobs, model.n_jobs = model.n_jobs, n_jobs
    with step("Calibrating", show_progress):
        model.calibrate(X, dataset.Y if probabilities else None, k=lengths)
    model.n_jobs = own_jobs
    learnt = model.early_stop_
    assert learnt is not None
    model.save(target)
    records = _records(learnt)
    if as_json:
        print_json({"model": target, "data": data, "n_checked": learnt.n_checked, "promises": records})
        return
    out = console()
    out.print(f"{target}: checked on {learnt.n_checked:,} points of {data}\n")
    rows = [
        (
            str(record["k"]),
            f"{record['agreement']:g}",
            number(100 * record["unchanged"]),
            number(100 * record["chunks"], 1),
        )
        for record in records
    ]
    out.print(make_table(("k", "agreement", "lists unchanged (%)", "nodes opened (%)"), rows))


def _records(learnt: EarlyStop) -> list[dict[str, Any]]:
    records = []
    for place, k in enumerate(learnt.k.tolist()):
        for agreement in _AGREEMENTS:
            unchanged, chunks = learnt.kept(place, agreement)
            records.append({"k": k, "agreement": agreement, "unchanged": unchanged, "chunks": chunks})
    return records
