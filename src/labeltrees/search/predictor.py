"""Predictor: one query a call, for serving."""

from __future__ import annotations

from labeltrees import _core


class Predictor(_core.Predictor):
    """Answers one query at a time, as fast as the search itself goes; made by `Searcher.predictor`.

    ``predictor(indices, values, k)`` takes the features of a query and their values, ``predictor(row, k=k)`` one row of
    a CSR matrix, or one dense row of all features, and ``predictor(text, k)`` a string, where the model was fitted on
    texts. `k` may be left out. It returns two arrays, labels (int64) and
    scores (float32), best first, shorter than k only if there are fewer labels.

    Arrays are int32 or int64, and float32 or float64; only their ranges are checked. Any number of threads may call it
    at once: the interpreter lock is released while it searches.
    """
