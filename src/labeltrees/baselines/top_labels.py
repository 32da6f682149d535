"""The best entries of the rows of a sparse matrix of scores."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from labeltrees._matrices import Float32s, Int64s


def top_entries(values: Any, columns: Any, k: int) -> Int64s:
    """Return the positions of the k largest values, best first; equal values by ascending column.

    Examples
    --------
    >>> top_entries(np.array([0.5, 0.9, 0.5]), np.array([7, 3, 2]), 2).tolist()
    [1, 2]
    """
    places = np.arange(len(values))
    if len(values) > k:
        smallest = np.partition(values, len(values) - k)[len(values) - k]
        places = np.flatnonzero(values >= smallest)  # more than k of them if values are equal
    order = np.lexsort((columns[places], -values[places]))[:k]
    return np.asarray(places[order], dtype=np.int64)


def top_labels(scores: Any, k: int) -> tuple[Int64s, Float32s]:
    """Return the k labels with the largest positive scores of each row (n, k), padded with -1, and the scores.

    Scores are rounded to float32 before they are compared, so that the order agrees with the scores returned.

    Parameters
    ----------
    scores : csr_array (n, L)
    k : int
    """
    labels = np.full((scores.shape[0], k), -1, dtype=np.int64)
    best = np.zeros((scores.shape[0], k), dtype=np.float32)
    values = scores.data.astype(np.float32)
    for row, (start, end) in enumerate(pairwise(scores.indptr.tolist())):
        mine, columns = values[start:end], scores.indices[start:end]
        places = top_entries(mine, columns, k)
        places = places[mine[places] > 0]
        labels[row, : len(places)] = columns[places]
        best[row, : len(places)] = mine[places]
    return labels, best
