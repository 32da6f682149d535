"""Quality of the sets of labels that reach a threshold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from rich.console import Console

from labeltrees.cli.options import refuse_option
from labeltrees.cli.output import number, with_margin
from labeltrees.cli.score_options import ScoreOptions
from labeltrees.cli.tables import Cell, make_table
from labeltrees.data import Dataset
from labeltrees.metrics.thresholded import estimate_sets
from labeltrees.models.common.protocol import Model
from labeltrees.models.common.score_matrix import scores_above
from labeltrees.search.request import SearchRequest

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
        return result.labels, score.values(model, result.scores)

    queries = model.check_queries(model.queries(dataset), n_jobs)
    predicted = scores_above(score.threshold, queries, topk, len(model.classes_))
    if dataset.n_labels > predicted.shape[1]:  # labels that the model does not know
        predicted.resize((predicted.shape[0], dataset.n_labels))
    found = estimate_sets(dataset.Y, predicted)
    return {
        "threshold": score.threshold,
        "proba": score.proba,
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
