"""The result of an evaluation for each label, as a table in a file."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np

from labeltrees._matrices import Int64s
from labeltrees.cli.vocabulary_options import TitleOf
from labeltrees.data import Dataset
from labeltrees.data.files import write_any
from labeltrees.models.common.protocol import Model
from labeltrees.search.request import SearchRequest

COLUMNS = ("label", "text", "true", "returned", "correct", "precision", "recall", "f1")


def write_label_results(
    path: str, model: Model, dataset: Dataset, request: SearchRequest, titles: TitleOf | None, n_jobs: int
) -> None:
    """Write one row per label that is true or returned, the most frequent first; tab-separated, with a header."""
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
        table.writerow([name, title or "", true, returned, correct, *shares])
    with write_any(path) as stream:
        stream.write(text.getvalue().encode())


def count_labels(Y: Any, labels: Int64s) -> list[tuple[int, int, int, int]]:
    """Return for each label how often it is true, returned and both, the most frequent first; others are left out.

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
