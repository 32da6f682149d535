"""Predictor: one query per call, for serving."""

from __future__ import annotations

from labeltrees import _core


class Predictor(_core.Predictor):
    """Predicts one query per call with little overhead; made by `LabelTreeClassifier.predictor`.

    ``predictor(context, k)`` takes what the model's encoder takes: a string, or a list of items.
    ``predictor(indices, values, k)`` takes the features of a query and their values, and ``predictor(row, k=k)`` one
    row of a CSR matrix or one dense row of all features. `k` is optional. It returns label ids (an array of int64), or
    their names (a list of str) if it was made with ``names=True``, and scores (an array of float32), best first. They
    are shorter than k only if fewer labels were found.

    Every call takes ``exclude=`` (labels not to return) and ``candidates=`` (the labels allowed): names, ids, or a set
    that `label_set` of the model prepared. Names that the model does not know are ignored. `n_unknown` counts the items
    and words of all calls that the encoder did not know. A query without any known feature gets the most frequent
    labels, with their shares of the training points as scores; `n_no_features` counts such calls.

    Arrays are int32 or int64, and float32 or float64; only their ranges are checked. Several threads can call it at
    the same time: the interpreter lock is released during the search.
    """

    description = ""  # set by the searcher that makes it

    def __repr__(self) -> str:
        return f"Predictor({self.description})"
