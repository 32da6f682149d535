"""labeltrees calibrate."""

from __future__ import annotations

from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from scipy import sparse

from labeltrees._matrices import Float32s
from labeltrees.cli.command import Command
from labeltrees.cli.data_options import data_options
from labeltrees.cli.options import (
    data_argument,
    is_given,
    jobs_option,
    json_option,
    model_argument,
    option_of,
    refuse_option,
)
from labeltrees.cli.output import Column, Table, check_plot, console, make_table, number, plural, print_json, step
from labeltrees.cli.saved_models import check_output, load_model, read_unseen
from labeltrees.data import Dataset
from labeltrees.data.label_sets import has_label
from labeltrees.data.read_data import DataOptions
from labeltrees.errors import InputError
from labeltrees.metrics.groups import Reliability, reliability
from labeltrees.metrics.thresholds import suggest_limits, suggest_thresholds
from labeltrees.models.common.early_stop import LENGTHS, EarlyStop
from labeltrees.models.common.prediction import LEARNED_LABELS
from labeltrees.models.common.protocol import Model
from labeltrees.models.common.scores import fit_calibration
from labeltrees.report.charts import save, styled
from labeltrees.report.figures import reliability_chart
from labeltrees.search.request import SearchRequest

_AGREEMENTS = (0.9, 0.95, 0.99, 0.999)
_EPILOG = """\b
Examples:
  labeltrees calibrate debian.model debian
  labeltrees calibrate debian.model debian --threshold best-f1
  labeltrees calibrate debian.model debian --suggest
  labeltrees predict debian.model debian --threshold 0.5
  labeltrees predict debian.model debian --agreement 0.99
  labeltrees calibrate products.model held-out.txt --k 5 --plot reliability.png -o calibrated.model
"""


def _lengths(_context: click.Context, _parameter: click.Parameter, value: str) -> list[int]:
    try:
        return [int(part) for part in value.split(",")]
    except ValueError:
        message = f"{value!r} is not a list of whole numbers such as 1,5,10."
        raise click.BadParameter(message) from None


class ThresholdChoice(NamedTuple):
    """The threshold to store: a number, or the name of a suggested one."""

    name: str
    value: float | None

    def of(self, suggested: list[dict[str, Any]]) -> float:
        """Return the threshold."""
        if self.value is not None:
            return self.value
        place = list(_SUGGESTED).index(self.name)
        if place >= len(suggested):
            message = f"no threshold reaches a {_SUGGESTED[self.name]}; give a number, such as --threshold 0.5"
            raise InputError(message)
        return float(suggested[place]["threshold"])


_SUGGESTED = {"best-f1": "best F1", "precise": "precision of 90 %"}


def _read_threshold(_context: click.Context, _parameter: click.Parameter, value: str | None) -> ThresholdChoice | None:
    if value is None or value in _SUGGESTED:
        return None if value is None else ThresholdChoice(value, None)
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0 < number <= 1:
        message = f"{value!r} is neither a number in (0, 1] nor one of {', '.join(_SUGGESTED)}."
        raise click.BadParameter(message)
    return ThresholdChoice("", number)


threshold_option = click.option(
    "--threshold",
    metavar="|".join([*_SUGGESTED, "T"]),
    callback=_read_threshold,
    help="Store a threshold for predict and serve: the one with the best F1, the one with 90 % precision, or a number.",
)


@click.command(cls=Command, epilog=_EPILOG)
@model_argument
@data_argument
@data_options()
@click.option(
    "--k",
    metavar="K,...",
    default=",".join(map(str, LENGTHS)),
    show_default=True,
    callback=_lengths,
    help="List lengths to learn early stopping for; other lengths use the next longer one.",
)
@click.option(
    "--probabilities/--no-probabilities",
    default=True,
    show_default=True,
    help="Learn probabilities from the labels of DATA.",
)
@threshold_option
@click.option(
    "--suggest",
    is_flag=True,
    help="Change nothing: show the number of labels (-k) and the threshold that give the best F1 on DATA.",
)
@click.option("--plot", type=click.Path(dir_okay=False), help="Draw the reliability to this file (.png, .svg, .pdf).")
@click.option(
    "-o", "--output", metavar="MODEL", type=click.Path(), help="Folder to save the model in. [default: MODEL itself]"
)
@jobs_option
@json_option
@click.pass_obj
def calibrate(
    show_progress: bool,
    model_folder: str,
    data: str,
    k: list[int],
    probabilities: bool,
    threshold: ThresholdChoice | None,
    suggest: bool,
    plot: str | None,
    output: str | None,
    n_jobs: int,
    as_json: bool,
    reading: DataOptions,
) -> None:
    """Learn probabilities and early stopping of a MODEL from DATA, and save them with the model.

    Probabilities: how often a label with a given score is correct. Then --proba of labeltrees predict and evaluate, and
    predict_proba in Python, return probabilities. The first table shows how reliable they are: each half of the points
    is checked with a calibration learned from the other half. The saved calibration is learned from all points. The
    second table suggests thresholds: labels with a smaller probability are left out. --threshold stores one with the
    model, which labeltrees predict and serve then use by default. --suggest changes nothing: for lists of 1 to 15
    labels, it shows the threshold with the best F1 for the current scores of the model, and marks the best combination.

    Early stopping: when a search may stop. Then --agreement 0.99 of the other commands, or agreement=0.99 in Python,
    returns at least that share of the lists unchanged from exact search. A third of the points is used to learn, the
    rest to check. The last table shows, for the points that were checked, the share of unchanged lists and the number
    of nodes opened, relative to exact search.

    DATA must be points that the model was not trained on, as for labeltrees evaluate.
    """
    if suggest:
        _suggest(model_folder, data, reading, n_jobs, as_json, show_progress)
        return
    target = model_folder if output is None else output
    check_output(target)
    check_plot(plot)
    if plot is not None and not probabilities:
        refuse_option("--plot", "--no-probabilities", "it draws how reliable probabilities are")
    if threshold is not None and not probabilities:
        refuse_option("--threshold", "--no-probabilities", "it is a probability")
    model = load_model(model_folder)
    with step("Reading data", show_progress):
        dataset = read_unseen(data, reading, model, n_jobs)
    if probabilities and dataset.Y.nnz == 0:
        message = f"{data}: has no labels to learn probabilities from; --no-probabilities learns early stopping alone"
        raise InputError(message)
    parameters = model.get_params(deep=False)
    model.set_params(n_jobs=n_jobs, verbose=int(show_progress))
    model.calibrate(model.queries(dataset), dataset.Y if probabilities else None, k=k)
    checked = check_probabilities(model, dataset, n_jobs) if probabilities else None
    # The saved model keeps its own n_jobs and verbose.
    model.set_params(n_jobs=parameters["n_jobs"], verbose=parameters["verbose"])
    early_stop = model.early_stop_
    assert early_stop is not None
    stored = None if threshold is None or checked is None else threshold.of(checked["thresholds"])
    if stored is not None:
        model.set_params(threshold=stored)
    model.save(target)
    if plot is not None and checked is not None:
        save(styled(reliability_chart(checked["probabilities"]["bins"])), plot)
    records = _records(early_stop)
    if as_json:
        facts = {"model": target, "data": data, "probabilities": checked, "threshold": model.get_params()["threshold"]}
        print_json({**facts, "n_checked": early_stop.n_checked, "promises": records})
        return
    out = console()
    if checked is not None:
        labels = f"{plural(checked['n_labels'], 'returned label')} of {plural(dataset.n_points, 'point')}"
        out.print(f"{target}: probabilities, checked on {labels} of {data}\n")
        print_reliability(out, checked["probabilities"], checked["scores"])
        print_thresholds(out, checked["thresholds"], target, stored)
    out.print(f"{target}: early stopping, checked on {plural(early_stop.n_checked, 'point')} of {data}\n")
    rows = [
        (
            str(record["k"]),
            f"{record['agreement']:g}",
            number(100 * record["unchanged"]),
            number(100 * record["chunks"], 1),
        )
        for record in records
    ]
    out.print(make_table(("k", "agreement", "unchanged lists (%)", "nodes opened (%)"), rows, left=()))
    if getattr(model, "trend_", None) is None:
        out.print(f"\nTo use it: labeltrees predict {target} DATA --agreement 0.99")
    else:
        out.print("\nThis model has a trend, so all its searches are exact: --agreement changes nothing.")


_LONGEST_LIST = 15  # labels per point that --suggest tries


def _suggest(folder: str, data: str, reading: DataOptions, n_jobs: int, as_json: bool, show_progress: bool) -> None:
    """Print the threshold with the best F1 for each number of labels; the model does not change."""
    for name in ("threshold", "plot", "output", "k", "probabilities"):
        if is_given(name):
            refuse_option(option_of(name), "--suggest", "it changes nothing")
    model = load_model(folder)
    with step("Reading data", show_progress):
        dataset = read_unseen(data, reading, model, n_jobs)
    if dataset.Y.nnz == 0:
        message = f"{data}: has no labels to compare with"
        raise InputError(message)
    request = model.complete_request(SearchRequest(min(_LONGEST_LIST, len(model.classes_))))
    queries = model.check_queries(model.queries(dataset), n_jobs)
    result = model.searcher_.topk(queries, request, n_jobs=n_jobs)
    found = suggest_limits(_wide_enough(dataset, model), result.labels, result.scores)
    best = max(found, key=lambda own: own.f1)
    what = "probability" if request.calibration is not None else "score"
    if as_json:
        print_json(
            {
                "model": folder,
                "data": data,
                "scores": what,
                "best": best._asdict(),
                "limits": [own._asdict() for own in found],
            }
        )
        return
    out = console()
    out.print(f"{folder}: the best F1 on {plural(dataset.n_points, 'point')} of {data}, over all points together\n")
    titles = ("labels (-k)", f"threshold ({what})", "precision (%)", "recall (%)", "F1 (%)", "labels per point")
    rows = [
        (
            f"{own.limit}{' *' if own is best else ''}",
            f"{own.threshold:g}",
            *(number(100 * value, 1) for value in (own.precision, own.recall, own.f1)),
            number(own.labels_per_point, 2),
        )
        for own in found
    ]
    out.print(make_table(titles, rows, left=()))
    out.print(
        f"\n* the best. To use it: labeltrees predict {folder} DATA -k {best.limit} --threshold {best.threshold:g}"
    )


def _wide_enough(dataset: Dataset, model: Model) -> Any:
    """Return the labels of points with a column for every label of the model.

    The first columns of the dataset are labels of the model. Labels that only its vocabulary has come last; their
    columns may be missing.
    """
    n_more = len(model.classes_) - dataset.n_labels
    return (
        dataset.Y
        if n_more <= 0
        else sparse.hstack([dataset.Y, sparse.csr_array((dataset.n_points, n_more))], format="csr")
    )


def check_probabilities(model: Model, dataset: Dataset, n_jobs: int) -> dict[str, Any]:
    """Return how reliable raw scores and calibrated probabilities of returned labels are, and suggested thresholds."""
    request = SearchRequest(min(LEARNED_LABELS, len(model.classes_)), raw_scores=True)
    truth = _wide_enough(dataset, model)
    found = returned_labels(model, dataset, model.complete_request(request), n_jobs, truth)
    probabilities = cross_checked(found, dataset.n_points)
    lists = np.full((dataset.n_points, request.k), -1, dtype=np.int64)
    values = np.zeros(lists.shape, dtype=np.float32)
    lists[found.points, found.places], values[found.points, found.places] = found.labels, probabilities
    return {
        "n_labels": len(found.scores),
        "scores": reliability_record(reliability(found.scores, found.hits)),
        "probabilities": reliability_record(reliability(probabilities, found.hits)),
        "thresholds": [own._asdict() for own in suggest_thresholds(truth, lists, values)],
    }


def print_thresholds(out: Console, suggested: list[dict[str, Any]], model: str, stored: float | None) -> None:
    """Print suggested thresholds with their precision and recall, and how to use one."""
    out.print("\nSuggested thresholds, and the sets of all labels that reach them:\n")
    shares = ("precision", "recall", "f1", "without_labels")
    columns = [
        Column("", align="left"),
        Column("threshold"),
        *(Column(title) for title in ("precision (%)", "recall (%)", "F1 (%)")),
        Column("labels per point", "labels", 1),
        Column("points without (%)", "without (%)", 2),
    ]
    rows = [
        (
            own["name"],
            f"{own['threshold']:g}",
            *(number(100 * own[name], 1) for name in shares[:3]),
            number(own["labels_per_point"], 2),
            number(100 * own["without_labels"], 1),
        )
        for own in suggested
    ]
    out.print(Table(columns, rows))
    if stored is None:
        best = suggested[0]["threshold"] if suggested else 0.5
        out.print(f"\nTo use one: labeltrees predict {model} DATA --threshold {best:g}\n")
    else:
        out.print(f"\nStored with the model: labeltrees predict and serve leave out labels below {stored:g}.\n")


def _records(early_stop: EarlyStop) -> list[dict[str, Any]]:
    records = []
    for place, k in enumerate(early_stop.k.tolist()):
        for agreement in _AGREEMENTS:
            unchanged, chunks = early_stop.kept(place, agreement)
            records.append({"k": k, "agreement": agreement, "unchanged": unchanged, "chunks": chunks})
    return records


class ScoredLabels(NamedTuple):
    """Returned labels: the point of each, its place in the list, its id and score, and whether it is correct."""

    points: NDArray[np.int64]
    places: NDArray[np.int64]
    labels: NDArray[np.int64]
    scores: Float32s
    hits: NDArray[np.bool_]


def returned_labels(
    model: Model, dataset: Dataset, request: SearchRequest, n_jobs: int, truth: Any = None
) -> ScoredLabels:
    """Search the points of a dataset and compare the lists with `truth`, by default the labels of the dataset."""
    queries = model.check_queries(model.queries(dataset), n_jobs)
    result = model.searcher_.topk(queries, request, n_jobs=n_jobs)
    points, places = np.nonzero(result.labels >= 0)
    labels = result.labels[points, places]
    hits = has_label(dataset.Y if truth is None else truth, points, labels)
    return ScoredLabels(points, places, labels, result.scores[points, places], hits)


def cross_checked(found: ScoredLabels, n_points: int, seed: int = 0) -> Float32s:
    """Return calibrated probabilities of returned labels; each half of the points is calibrated on the other half."""
    in_first = np.random.default_rng(seed).permutation(n_points)[found.points] < n_points // 2
    probabilities = np.empty(len(found.scores), dtype=np.float32)
    for checked in (in_first, ~in_first):
        probabilities[checked] = fit_calibration(found.scores[~checked], found.hits[~checked])(found.scores[checked])
    return probabilities


def reliability_record(found: Reliability) -> dict[str, Any]:
    """Return the reliability as a plain record."""
    return {"error": found.error, "brier": found.brier, "bins": [row._asdict() for row in found.bins]}


def print_reliability(out: Console, record: dict[str, Any], raw: dict[str, Any] | None) -> None:
    """Print the reliability as a table, and its errors next to those of the raw scores."""
    columns = [
        Column("probability", align="left"),
        Column("labels", priority=2),
        Column("mean probability (%)", "mean (%)", 1),
        Column("correct (%)"),
        Column("95 % interval", "interval", 3),
    ]
    rows = [
        (
            f"{row['low']:.1f} to {row['high']:.1f}",
            f"{row['n_labels']:,}",
            number(100 * row["probability"], 1),
            number(100 * row["correct"], 1),
            f"{number(100 * row['correct_low'], 1)} to {number(100 * row['correct_high'], 1)}",
        )
        for row in record["bins"]
    ]
    out.print(Table(columns, rows))
    beside = "" if raw is None else f" (raw scores: {number(100 * raw['error'], 1)} %)"
    out.print(f"mean error of a probability: {number(100 * record['error'], 1)} %{beside}")
    beside = "" if raw is None else f" (raw scores: {raw['brier']:.4f})"
    out.print(f"Brier score: {record['brier']:.4f}{beside}")
