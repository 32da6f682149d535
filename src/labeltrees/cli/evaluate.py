"""labeltrees evaluate."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, cast

import click
import numpy as np
from rich.console import Console
from scipy import sparse

from labeltrees._matrices import Int64s
from labeltrees._progress import watch
from labeltrees.cli.calibrate import print_reliability, reliability_record, returned_labels
from labeltrees.cli.command import SEARCH_GROUPS, Command
from labeltrees.cli.data_files import data_files, several_data_argument, shown
from labeltrees.cli.data_options import TitleOf, data_options, titles_of, vocabulary_options
from labeltrees.cli.options import jobs_option, json_option, model_argument, refuse_option
from labeltrees.cli.output import (
    Cell,
    check_parent_folder,
    console,
    make_table,
    no_formula,
    number,
    plural,
    print_json,
    size,
    step,
    with_margin,
)
from labeltrees.cli.saved_models import disk_bytes, load_model, read_unseen
from labeltrees.cli.search_options import (
    RuleOptions,
    ScoreOptions,
    SearchOptions,
    rule_options,
    score_options,
    search_options,
    seen_labels,
)
from labeltrees.data import Dataset
from labeltrees.data.files import write_any
from labeltrees.data.read_data import DataOptions
from labeltrees.metrics import propensities_of_counts
from labeltrees.metrics.groups import reliability
from labeltrees.metrics.intervals import estimate_sets
from labeltrees.metrics.propensity import MIN_POINTS
from labeltrees.metrics.table import METRICS, Metric, measure_lists
from labeltrees.models.common.label_rules import predictor_under_rules
from labeltrees.models.common.protocol import Model
from labeltrees.models.common.scores import scores_above
from labeltrees.models.linear.features import labels_of_features
from labeltrees.profiling import single_call_microseconds
from labeltrees.search.request import SearchRequest
from labeltrees.search.result import SearchResult, SearchStats

_KS = (1, 3, 5)
_MAX_CALLS = 2000
_BLOCK = 65_536  # points searched between two updates of the progress bar
_WEIGHT_NOTES = {
    False: "Every point counts the same.",
    True: "Weighted: each point counts with its weight.",
}
_WORK = {
    "chunks": "nodes opened per point",
    "classifiers": "classifiers evaluated per point",
    "nodes": "nodes evaluated per point",
}
_EPILOG = """\b
Examples:
  labeltrees evaluate debian.model debian
  labeltrees evaluate products.model test.txt.xz --beam none --json
  labeltrees evaluate products.model test.txt.xz --label-weight propensity
  labeltrees evaluate products.model test.txt.xz --threshold 0.5
  labeltrees evaluate shop.model shop/test --exclude-seen --candidates in-stock.txt --limit-per brands.tsv:2
"""


@click.command(cls=Command, groups=SEARCH_GROUPS, epilog=_EPILOG)
@model_argument
@several_data_argument
@data_options()
@data_files
@click.option(
    "-k",
    type=click.IntRange(min=1),
    default=max(_KS),
    show_default=True,
    help="Number of labels per point, K. Metrics are shown at K, and at 1, 3 and 5 below it.",
)
@score_options("Also measure the sets of all labels whose probability (score, if not calibrated) is at least T.")
@search_options
@click.option(
    "--propensity",
    type=(float, float),
    default=(0.55, 1.5),
    show_default=True,
    metavar="A B",
    help="Constants of PSP; use 0.5 0.4 for Wikipedia data sets and 0.6 2.6 for Amazon data sets.",
)
@click.option(
    "--label-results",
    type=click.Path(dir_okay=False),
    help="Write the precision, recall and F1 of each label among the first K to this file (tab-separated).",
)
@vocabulary_options(help="Texts of labels for --label-results. [default: those that the model keeps]")
@rule_options
@jobs_option
@json_option
@click.pass_obj
def evaluate(
    show_progress: bool,
    model_folder: str,
    data: str,
    k: int,
    score: ScoreOptions,
    search: SearchOptions,
    propensity: tuple[float, float],
    label_results: str | None,
    vocabulary: str | None,
    language: str | None,
    rules: RuleOptions,
    n_jobs: int,
    as_json: bool,
    reading: DataOptions,
) -> None:
    """Measure the precision and the speed of a MODEL on DATA.

    DATA is a file of texts with labels (if the model was trained on texts), a file in XMC format, a folder with one
    such file named test*, or the word debian for the test part of the bundled data. With --test-share it is the part of
    one file that was not used for training. Several files of texts are joined; - is standard input.

    The lists are those of labeltrees predict with the same rules (--exclude-seen, --candidates, --limit-per, ...).

    The tables show precision (P), recall, the hit rate (points with a correct label), F1, nDCG, coverage (the share of
    the true labels that were found at least once), the catalogue (the share of all labels that were returned at least
    once) and propensity-scored precision (PSP) in percent, with half of the 95 % confidence interval (±). If the points
    have weights, such as their traffic, weighted values are shown beside the unweighted ones. Then follow the expected
    depth, novelty and diversity of the returned labels, the nodes opened and the classifiers evaluated per point, and
    the latency of single calls for up to 2,000 points.

    --threshold T also measures sets of labels: all labels that reach T. For a calibrated model (labeltrees calibrate)
    the last table shows how reliable its probabilities are; DATA must not have been used to calibrate it.
    """
    check_parent_folder(label_results)
    model = load_model(model_folder)
    titles = titles_of(model, vocabulary, language)
    score.check(model, model_folder, rules.label_weight)
    given = rules.read(model, propensity)
    with step("Reading data", show_progress):
        dataset = read_unseen(data, reading, model, n_jobs)
    others, items = given["exclude"], None
    if rules.exclude_seen:
        points = model.check_queries(model.queries(dataset), n_jobs)
        given["exclude"] = seen_labels(model, points, others)
        items = labels_of_features(model)
    request = search.make_request(model, k, **given)
    with watch("Searching", dataset.n_points, show_progress, unit="points") as advance:
        found = search_all(model, dataset, request, n_jobs, advance)
    with step("Measuring", show_progress):
        record = measure(model, dataset, request, propensity, found)
        record |= time_calls(predictor_under_rules(model, replace(request, exclude=others), items), model, dataset)
        is_probability = score.proba or request.calibration is not None
        record |= {"reliability": _reliability(model, dataset, request, n_jobs) if is_probability else None}
        record |= {"sets": None if not score.threshold else measure_sets(model, dataset, request, score, n_jobs)}
        if label_results is not None:
            write_label_results(label_results, model, dataset, request, titles, n_jobs)
    record = {
        "model": model_folder,
        "data": shown(data),
        "agreement": request.agreement,
        "label_weight": rules.label_weight,
        "rules": rules.described(),
        **record,
        "disk_bytes": sum(disk_bytes(model_folder).values()),
    }
    if as_json:
        print_json(record)
        return
    _print(record)


def lengths_up_to(k: int) -> tuple[int, ...]:
    """Return the list lengths that are measured: 1, 3 and 5 below k, and k."""
    return (*(own for own in _KS if own < k), k)


def search_all(
    model: Model,
    dataset: Dataset,
    request: SearchRequest,
    n_jobs: int,
    advance: Callable[[int], object] | None = None,
) -> SearchResult:
    """Return the lists of all points, with search statistics; `advance` gets the number of points done."""
    points = model.check_queries(model.queries(dataset), n_jobs)
    results = []
    for first in range(0, dataset.n_points, _BLOCK):
        rows = np.arange(first, min(first + _BLOCK, dataset.n_points))
        results.append(model.searcher_.topk(points[rows], _request_of(request, rows), n_jobs=n_jobs, stats=True))
        if advance is not None:
            advance(int(rows[-1]) + 1)
    stats = [cast(SearchStats, result.stats) for result in results]
    merged = SearchStats(*(np.concatenate([getattr(own, item.name) for own in stats]) for item in fields(SearchStats)))
    labels, scores = (np.concatenate([getattr(own, name) for own in results]) for name in ("labels", "scores"))
    return SearchResult(labels, scores, merged)


def _request_of(request: SearchRequest, rows: Any) -> SearchRequest:
    """Return the request for the points in `rows`: each point may have its own labels to exclude."""
    differs: bool = sparse.issparse(request.exclude)
    return replace(request, exclude=request.exclude[rows]) if differs else request


def measure(
    model: Model, dataset: Dataset, request: SearchRequest, propensity: tuple[float, float], result: SearchResult
) -> dict[str, Any]:
    """Return the metrics and the search work of a model on a dataset, for a completed request."""
    Y, ks = dataset.Y, lengths_up_to(request.k)
    labels, stats = result.labels, cast(SearchStats, result.stats)
    propensities = None
    counts = np.pad(model.label_counts_, (0, dataset.n_labels - len(model.label_counts_)))
    if model.n_points_ is not None and model.n_points_ >= MIN_POINTS:
        propensities = propensities_of_counts(counts, model.n_points_, *propensity)
    given = {"propensities": propensities, "label_counts": counts, "trees": model.trees_}
    measured = measure_lists(Y, labels, ks, sample_weight=dataset.sample_weight, given=given)
    has_weights = dataset.sample_weight is not None
    record: dict[str, Any] = {
        "n_points": dataset.n_points,
        **measured.by_name(ks),
        "weighted": measured.by_name(ks, weighted=True) if has_weights else None,
    }
    nodes, children = float(stats.chunks.mean()), float(stats.classifiers.mean())
    return {
        **record,
        "k": request.k,
        "beam": None if "beam" in model.UNSUPPORTED else request.beam,
        **({"nodes": nodes} if model.READS_TEXTS else {"chunks": nodes, "classifiers": children}),
    }


def time_calls(predictor: Callable[..., Any], model: Model, dataset: Dataset) -> dict[str, Any]:
    """Return the latency of single calls."""
    times = single_call_microseconds(predictor, model.queries(dataset), max_points=_MAX_CALLS)
    shown = {f"p{percentile}": float(np.percentile(times, percentile)) for percentile in (50, 99)}
    return {"single_calls": len(times), "microseconds": shown}


def _reliability(model: Model, dataset: Dataset, request: SearchRequest, n_jobs: int) -> dict[str, Any]:
    found = returned_labels(model, dataset, request, n_jobs)
    return reliability_record(reliability(found.scores, found.hits))


def _print(record: dict[str, Any]) -> None:
    out = console()
    out.print(f"{record['model']} on {plural(record['n_points'], 'point')} of {record['data']}\n")
    ks = lengths_up_to(record["k"])
    rows = [row for metric in METRICS if not metric.needs for row in _metric_row(record, metric)]
    weighted = record["weighted"] or {}
    rows += [row for metric in METRICS for row in _metric_row(weighted, metric, "weighted ")]
    rows += [row for metric in METRICS if metric.needs for row in _metric_row(record, metric)]
    out.print(make_table(("", *(f"@{k}" for k in ks)), rows))
    out.print("\n± is half of the 95 % confidence interval. " + _WEIGHT_NOTES[record["weighted"] is not None])
    times = record["microseconds"]
    search = "exact" if record["beam"] is None else f"beam {record['beam']}"
    if record["agreement"] is not None:
        search = f"agreement {record['agreement']:g}"
    for name, value in record["rules"].items():
        search += f", {name.replace('_', ' ')}" + ("" if value is True else f": {value}")
    work = [
        (f"search for {record['k']} labels", search),
        *((title, number(record[key], 1)) for key, title in _WORK.items() if key in record),
        (f"us per call, median of {plural(record['single_calls'], 'call')}", number(times["p50"], 1)),
        ("us per call, 99th percentile", number(times["p99"], 1)),
        ("size on disk", size(record["disk_bytes"])),
    ]
    out.print()
    out.print(make_table(None, work))
    if record["sets"] is not None:
        print_sets(out, record["sets"])
    if record["reliability"] is not None:
        out.print("\nOf the returned labels with a probability in each range, this share is correct:\n")
        print_reliability(out, record["reliability"], None)


def _metric_row(record: dict[str, Any], metric: Metric, prefix: str = "") -> list[tuple[str | Cell, ...]]:
    """Return the row of a metric, or nothing if it was not measured."""
    if metric.name not in record:
        return []
    title, values = f"{prefix}{metric.title}" + (" (%)" if metric.is_share else ""), record[metric.name]
    bounds, ks = record["intervals"].get(metric.name), sorted(values)
    if bounds is not None:
        return [(title, *(with_margin(values[k], *bounds[k]) for k in ks))]
    return [(title, *(number((100 if metric.is_share else 1) * values[k]) for k in ks))]


COLUMNS = ("label", "text", "true", "returned", "correct", "precision", "recall", "f1")


def write_label_results(
    path: str, model: Model, dataset: Dataset, request: SearchRequest, titles: TitleOf | None, n_jobs: int
) -> None:
    """Write one row per label that is true or returned, the most frequent first; tab-separated, with a header.

    A name that a spreadsheet would read as a formula starts with a backslash, as in the output of `predict`.
    """
    queries = model.check_queries(model.queries(dataset), n_jobs)
    labels = model.searcher_.topk(queries, request, n_jobs=n_jobs).labels
    text = io.StringIO(newline="")
    table = csv.writer(text, delimiter="\t", lineterminator="\n")
    table.writerow(COLUMNS)
    n_known = len(model.classes_)  # the data may have labels that the model does not know
    for label, true, returned, correct in count_labels(dataset.Y, labels):
        title = titles(label) if titles is not None and label < n_known else None
        shares = (_share(correct, returned), _share(correct, true), _share(2 * correct, true + returned))
        name = label if dataset.label_names is None else dataset.label_names[label]
        texts = (cell if isinstance(cell, int) else no_formula(str(cell)) for cell in (name, title or ""))
        table.writerow([*texts, true, returned, correct, *shares])
    with write_any(path) as stream:
        stream.write(text.getvalue().encode())


def count_labels(Y: Any, labels: Int64s) -> list[tuple[int, int, int, int]]:
    """Return, for each label that is true or returned, how often it is true, returned and both, most frequent first.

    Examples
    --------
    >>> from scipy import sparse
    >>> Y = sparse.csr_array([[1, 1, 0], [0, 1, 0]])
    >>> count_labels(Y, np.array([[1, 2], [1, -1]]))
    [(1, 2, 2, 2), (0, 1, 0, 0), (2, 0, 1, 0)]
    """
    n_labels = Y.shape[1]
    rows = np.repeat(np.arange(len(labels)), labels.shape[1])[labels.ravel() >= 0]
    returned = labels.ravel()[labels.ravel() >= 0]
    hits = np.asarray(Y[rows, returned]).ravel() > 0
    n_true = np.bincount(Y.indices[Y.data > 0], minlength=n_labels)
    n_returned = np.bincount(returned, minlength=n_labels)
    n_correct = np.bincount(returned[hits], minlength=n_labels)
    order = np.argsort(-n_true, kind="stable")
    seen = order[(n_true + n_returned)[order] > 0]
    return list(
        zip(*(array[seen].tolist() for array in (np.arange(n_labels), n_true, n_returned, n_correct)), strict=True)
    )


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.4f}" if whole else ""


_TITLES = {"precision": "precision (%)", "recall": "recall (%)", "f1": "F1 (%)"}


def measure_sets(
    model: Model, dataset: Dataset, request: SearchRequest, score: ScoreOptions, n_jobs: int
) -> dict[str, Any]:
    """Return the quality of the sets of all labels that reach the threshold."""
    assert score.threshold is not None
    if request.agreement is not None:
        refuse_option("--threshold", "--agreement", "it holds for lists of a given length")

    def topk(points: Any, k: int) -> tuple[Any, Any]:
        result = model.searcher_.topk(points, replace(request, k=k), n_jobs=n_jobs)
        return result.labels, result.scores

    queries = model.check_queries(model.queries(dataset), n_jobs)
    predicted = scores_above(score.threshold, queries, topk, len(model.classes_))
    if dataset.n_labels > predicted.shape[1]:  # labels that the model does not know
        predicted.resize((predicted.shape[0], dataset.n_labels))
    found = estimate_sets(dataset.Y, predicted)
    return {
        "threshold": score.threshold,
        "proba": request.calibration is not None,
        "without_labels": float(np.mean(np.diff(predicted.indptr) == 0)),
        **{name: estimate.value for name, estimate in found.items()},
        "intervals": {name: [estimate.low, estimate.high] for name, estimate in found.items()},
    }


def print_sets(out: Console, record: dict[str, Any]) -> None:
    """Print the quality of sets."""
    what = "probability" if record["proba"] else "score"
    out.print(f"\nSets of all labels with a {what} of at least {record['threshold']:g}, over all points together:\n")
    rows: list[tuple[str, str | Cell]] = [
        (title, with_margin(record[name], *record["intervals"][name])) for name, title in _TITLES.items()
    ]
    rows += [("labels per point", number(record["labels_per_point"]))]
    rows += [("points without a label (%)", number(100 * record["without_labels"]))]
    out.print(make_table(None, rows))
