"""labeltrees evaluate."""

from __future__ import annotations

from typing import Any, cast

import click
import numpy as np

from labeltrees.cli.data_argument import TextOptions
from labeltrees.cli.model_data import read_measured
from labeltrees.cli.model_options import (
    Model,
    agreement_option,
    beam_option,
    disk_bytes,
    load_model,
    model_argument,
    search_request,
    trees_of,
)
from labeltrees.cli.options import (
    data_argument,
    index_base_option,
    jobs_option,
    json_option,
    label_names_option,
    text_options,
)
from labeltrees.cli.output import console, make_table, number, print_json, size, step
from labeltrees.data import Dataset
from labeltrees.metrics import expected_depth_at_k, ndcg_at_k, precision_at_k, propensities_of_counts, psp_at_k
from labeltrees.metrics.propensity import MIN_POINTS
from labeltrees.models.text.estimator import TextLabelTreeClassifier
from labeltrees.models.text.searcher import Texts
from labeltrees.profiling.call_times import single_call_microseconds
from labeltrees.search import SearchStats
from labeltrees.search.request import SearchRequest

_AT = (1, 3, 5)
_CALLS = 2000
_WORK = {"chunks": "chunks", "classifiers": "classifiers", "nodes": "nodes evaluated"}
_EPILOG = """\b
Examples:
  labeltrees evaluate debian.model debian
  labeltrees evaluate products.model test.txt.xz --beam none --json
"""


@click.command(epilog=_EPILOG)
@model_argument
@data_argument
@text_options
@beam_option
@agreement_option
@click.option(
    "--propensity",
    type=(float, float),
    default=(0.55, 1.5),
    show_default=True,
    metavar="A B",
    help="Of PSP; 0.5 0.4 for Wikipedia sets, 0.6 2.6 for Amazon sets.",
)
@label_names_option
@index_base_option
@jobs_option
@json_option
@click.pass_obj
def evaluate(
    show_progress: bool,
    model_folder: str,
    data: str,
    beam: int | None,
    agreement: float | None,
    propensity: tuple[float, float],
    label_names: str | None,
    index_base: Any,
    n_jobs: int,
    as_json: bool,
    texts: TextOptions,
) -> None:
    """Measure how right a MODEL is on DATA, and how fast.

    DATA is texts with labels where the model was trained on texts, a file in XMC form, a folder with a file test* of
    one of these, or the word debian for the bundled set's test part. With --test-share it is the part of one file that
    was not for training.

    Shown are precision (P), nDCG and propensity-scored precision (PSP) in percent, the expected depth of the returned
    labels, the nodes opened (chunks) and children scored (classifiers) for a point, and the time of one call for one
    point, one at a time, for 2,000 of the points at the most. A text model's nodes have one classifier each: shown are
    the nodes evaluated.
    """
    model = load_model(model_folder)
    request = search_request(model, max(_AT), beam, agreement)
    with step("Reading data", show_progress):
        dataset = read_measured(data, label_names, index_base, texts, model, n_jobs)
    with step("Measuring", show_progress):
        record = measure(model, dataset, request, propensity, n_jobs)
    record = {
        "model": model_folder,
        "data": data,
        "agreement": agreement,
        **record,
        "disk_bytes": sum(disk_bytes(model_folder).values()),
    }
    if as_json:
        print_json(record)
        return
    _print(record)


def measure(
    model: Model,
    dataset: Dataset,
    request: SearchRequest,
    propensity: tuple[float, float],
    n_jobs: int,
) -> dict[str, Any]:
    """Return all that is shown of a model, searched as the request says, on some data."""
    k = max(_AT)
    of_texts = isinstance(model, TextLabelTreeClassifier)
    queries: Any = dataset.texts if of_texts else dataset.X
    points = Texts(queries) if of_texts else queries
    result = model.searcher_.topk(points, request, n_jobs=n_jobs, stats=True)
    labels, stats, Y = result.labels, cast(SearchStats, result.stats), dataset.Y
    record: dict[str, Any] = {
        "n_points": dataset.n_points,
        "precision": {at: precision_at_k(Y, labels, at) for at in _AT},
        "ndcg": {at: ndcg_at_k(Y, labels, at) for at in _AT},
        "psp": dict.fromkeys(_AT, float("nan")),
        "expected_depth": {
            at: float(np.mean([expected_depth_at_k(tree, labels, at) for tree in trees_of(model)])) for at in _AT
        },
    }
    if model.n_points_ >= MIN_POINTS:
        counts = np.pad(model.label_counts_, (0, dataset.n_labels - len(model.label_counts_)))
        weights = propensities_of_counts(counts, model.n_points_, *propensity)
        record["psp"] = {at: psp_at_k(Y, labels, at, propensities=weights) for at in _AT}
    predictor = model.searcher_.predictor(request)
    times = single_call_microseconds(predictor, queries, max_points=_CALLS)
    nodes, children = float(stats.chunks.mean()), float(stats.classifiers.mean())
    return {
        **record,
        "k": k,
        "beam": None if of_texts else request.beam,
        **({"nodes": nodes} if of_texts else {"chunks": nodes, "classifiers": children}),
        "single_calls": len(times),
        "microseconds": {"p50": float(np.percentile(times, 50)), "p99": float(np.percentile(times, 99))},
    }


def _print(record: dict[str, Any]) -> None:
    out = console()
    out.print(f"{record['model']} on {record['n_points']:,} points of {record['data']}\n")
    rows = [
        (name, *(number(factor * record[key][at], digits) for at in _AT))
        for name, key, factor, digits in (
            ("P (%)", "precision", 100, 2),
            ("nDCG (%)", "ndcg", 100, 2),
            ("PSP (%)", "psp", 100, 2),
            ("expected depth", "expected_depth", 1, 2),
        )
    ]
    out.print(make_table(("", *(f"@{at}" for at in _AT)), rows))
    times, k = record["microseconds"], record["k"]
    how = "exact" if record["beam"] is None else f"beam {record['beam']}"
    if record["agreement"] is not None:
        how = f"agreement {record['agreement']:g}"
    work = [
        (f"searches for {k} labels, {how}", ""),
        *((f"{what} a point", number(record[key], 1)) for key, what in _WORK.items() if key in record),
        (f"microseconds a call, median of {record['single_calls']:,}", number(times["p50"], 1)),
        ("99th percentile", number(times["p99"], 1)),
        ("size on disk", size(record["disk_bytes"])),
    ]
    out.print()
    out.print(make_table(None, work))
