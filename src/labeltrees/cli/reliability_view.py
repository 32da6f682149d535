"""How reliable the probabilities of a model are: measured, as a table and as a picture."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from labeltrees._matrices import Float32s
from labeltrees.cli.output import number
from labeltrees.cli.tables import Column, Table
from labeltrees.data import Dataset
from labeltrees.metrics.reliability import Reliability, reliability
from labeltrees.models.common.calibration import fit_calibration
from labeltrees.models.common.label_sets import has_label
from labeltrees.models.common.protocol import Model
from labeltrees.search.request import SearchRequest


class ScoredLabels(NamedTuple):
    """Returned labels: the point of each, its score, and whether it is correct."""

    points: NDArray[np.int64]
    scores: Float32s
    hits: NDArray[np.bool_]


def returned_labels(model: Model, dataset: Dataset, request: SearchRequest, n_jobs: int) -> ScoredLabels:
    """Search the points of a dataset and compare the lists with the truth."""
    queries = model.check_queries(model.queries(dataset), n_jobs)
    result = model.searcher_.topk(queries, request, n_jobs=n_jobs)
    points, places = np.nonzero(result.labels >= 0)
    labels = result.labels[points, places]
    return ScoredLabels(points, result.scores[points, places], has_label(dataset.Y, points, labels))


def cross_checked(found: ScoredLabels, n_points: int, seed: int = 0) -> Reliability:
    """Return how reliable calibrated probabilities are: each half of the points is checked with the other half's."""
    in_first = np.random.default_rng(seed).permutation(n_points)[found.points] < n_points // 2
    probabilities = np.empty(len(found.scores), dtype=np.float32)
    for checked in (in_first, ~in_first):
        probabilities[checked] = fit_calibration(found.scores[~checked], found.hits[~checked])(found.scores[checked])
    return reliability(probabilities, found.hits)


def reliability_record(found: Reliability) -> dict[str, Any]:
    """Return the reliability as a plain record."""
    return {"error": found.error, "brier": found.brier, "bins": [row._asdict() for row in found.bins]}


def print_reliability(out: Console, record: dict[str, Any], raw: dict[str, Any] | None) -> None:
    """Print the table of a reliability, and its errors beside those of the raw scores."""
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
