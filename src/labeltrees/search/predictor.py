"""Predictor: one query per call, for serving."""

from __future__ import annotations

from labeltrees import _core


class Predictor(_core.Predictor):
    """Predicts one query per call with little overhead; made by `LabelTreeClassifier.predictor`.

    ``predictor(indices, values, k)`` takes the features of a query and their values, ``predictor(row, k=k)`` one row of
    a CSR matrix or one dense row of all features, and ``predictor(text, k)`` a string, if the model was fitted on
    texts. `k` is optional. It returns two arrays, label ids (int64) and scores (float32), best first. They are shorter
    than k only if fewer labels were found.

    Arrays are int32 or int64, and float32 or float64; only their ranges are checked. Several threads can call it at
    the same time: the interpreter lock is released during the search.
    """
