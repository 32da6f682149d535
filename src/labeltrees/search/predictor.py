"""Predictor: one query per call, for serving."""

from __future__ import annotations

from typing import NoReturn

from labeltrees import _core

_ELSEWHERE = "send the model, or the folder where it is saved, and call model.predictor(...) in the other process"


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

    Arrays are int32 or int64, and float32 or float64; indices and values can be lists too. Only ranges are checked.
    ``predictor.lists(...)`` takes the same and returns lists of labels and of scores with six digits, which is faster
    if they become JSON. Several threads can call it at the same time: the interpreter lock is released during the
    search. A call inside an event loop needs no thread: it takes microseconds.

    A predictor stays in its process; it cannot be pickled. For another process, send the folder of the saved model and
    call ``lt.load(folder).predictor(...)`` there: processes that load one folder share its memory. Or pickle the model
    itself, which copies it. A forked process can go on using the predictor.

    Examples
    --------
    >>> import labeltrees as lt
    >>> model = lt.LabelTreeClassifier().fit(["red apple", "green pear"] * 5, [["apple"], ["pear"]] * 5)
    >>> answer = model.predictor(k=1, names=True)
    >>> answer("a red one")[0]
    ['apple']
    >>> answer
    Predictor(search with beam 10 for 1 label of 2; takes contexts, which its encoder reads)
    """

    description = ""  # set by the searcher that makes it

    def __repr__(self) -> str:
        return f"Predictor({self.description})"

    def __reduce__(self) -> NoReturn:
        """Explain what to send to another process instead."""
        message = f"a Predictor cannot be pickled: {_ELSEWHERE}"
        raise TypeError(message)
