"""labeltrees calibrate."""

from __future__ import annotations

from typing import Any

import click

from labeltrees.cli.data_argument import TextOptions
from labeltrees.cli.model_data import read_unseen
from labeltrees.cli.options import (
    data_argument,
    index_base_option,
    jobs_option,
    json_option,
    label_names_option,
    model_argument,
)
from labeltrees.cli.output import console, number, plural, print_json, step
from labeltrees.cli.saved_models import check_output, load_model
from labeltrees.cli.tables import make_table
from labeltrees.cli.text_options import text_options
from labeltrees.models.common.early_stop import LENGTHS, EarlyStop

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
    metavar="K,...",
    default=",".join(map(str, LENGTHS)),
    show_default=True,
    callback=_lengths,
    help="Lengths of lists to learn; a list of another length is cut from the next longer one.",
)
@click.option("--probabilities", is_flag=True, help="Also learn probabilities from the labels of DATA.")
@click.option(
    "-o", "--output", metavar="MODEL", type=click.Path(), help="Folder to save the model in. [default: MODEL itself]"
)
@label_names_option
@index_base_option
@jobs_option
@json_option
@click.pass_obj
def calibrate(
    show_progress: bool,
    model_folder: str,
    data: str,
    k: list[int],
    probabilities: bool,
    output: str | None,
    label_names: str | None,
    index_base: Any,
    n_jobs: int,
    as_json: bool,
    texts: TextOptions,
) -> None:
    """Learn from DATA when searches of a MODEL may stop early, and save this with the model.

    Then --agreement 0.99 of the other commands, or agreement=0.99 in Python, returns at least that share of the lists
    unchanged from exact search. DATA must be points that the model was not trained on, as for labeltrees evaluate. A
    third of them is used to learn, the rest to check. The table shows, for the points that were checked, the share of
    unchanged lists and the number of nodes opened, relative to exact search.
    """
    target = model_folder if output is None else output
    check_output(target)
    model = load_model(model_folder)
    with step("Reading data", show_progress):
        dataset = read_unseen(data, label_names, index_base, texts, model, n_jobs)
    parameters = model.get_params(deep=False)
    model.set_params(n_jobs=n_jobs)
    with step("Calibrating", show_progress):
        model.calibrate(model.queries(dataset), dataset.Y if probabilities else None, k=k)
    model.set_params(n_jobs=parameters["n_jobs"])  # how it was run is not part of the model
    early_stop = model.early_stop_
    assert early_stop is not None
    model.save(target)
    records = _records(early_stop)
    if as_json:
        print_json({"model": target, "data": data, "n_checked": early_stop.n_checked, "promises": records})
        return
    out = console()
    out.print(f"{target}: checked on {plural(early_stop.n_checked, 'point')} of {data}\n")
    rows = [
        (
            str(record["k"]),
            f"{record['agreement']:g}",
            number(100 * record["unchanged"]),
            number(100 * record["chunks"], 1),
        )
        for record in records
    ]
    out.print(make_table(("k", "agreement", "unchanged lists (%)", "nodes opened (%)"), rows))


def _records(early_stop: EarlyStop) -> list[dict[str, Any]]:
    records = []
    for place, k in enumerate(early_stop.k.tolist()):
        for agreement in _AGREEMENTS:
            unchanged, chunks = early_stop.kept(place, agreement)
            records.append({"k": k, "agreement": agreement, "unchanged": unchanged, "chunks": chunks})
    return records
