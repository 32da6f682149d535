"""Parts of answers besides predictions: search paths, explanations of labels, example texts and names of items."""

from __future__ import annotations

import math
from bisect import bisect_right
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np

from labeltrees.models.common.explanation import LabelExplanation
from labeltrees.models.common.protocol import Model
from labeltrees.search.request import SearchRequest
from labeltrees.serving.schemas import (
    ExplainedLabel,
    ExplainedPart,
    ExplainedWord,
    OpenedNode,
    SearchPath,
    as_unicode,
)
from labeltrees.tree.view import TreeViewer

_MAX_NODES = 400  # opened nodes of one search that an answer lists
_N_EXAMPLES = 8
_N_TEXTS, _N_WORDS, _N_FEATURES, _N_TRIED = 3, 4, 20, 50  # of examples for a model
_MAX_PARTS = 200  # features of a label that an explanation lists
_SEPARATOR = "\n"


def explained(own: LabelExplanation, text: str | None) -> ExplainedLabel:
    """Return the explanation of a label, whose text is `text`, as JSON values."""
    features = [part for part in own.contributions if part.kind == "feature"]
    others = [part for part in own.contributions if part.kind != "feature"]
    parts = [
        ExplainedPart(as_unicode(part.name), round(part.amount, 6), part.kind, part.feature)
        for part in (*features[:_MAX_PARTS], *others)
    ]
    words = [ExplainedWord(as_unicode(word.text), word.start, word.end, round(word.amount, 6)) for word in own.words]
    score, log_score = float(f"{own.score:.6g}"), round(own.log_score, 6)
    shown = own.label, score, log_score, parts, len(features), words, own.probability, text, own.retired
    return ExplainedLabel(*shown)


def example_texts(model: Any) -> list[str]:
    """Return short texts that fit a model: the words with the largest weights for labels near the root.

    They contain no training texts. A model without names of features has no examples.
    """
    names = None if model.READS_TEXTS else model.encoder_.feature_names
    if names is None:
        return []
    tree, found = model.tree_, []
    edges = np.flatnonzero(tree.children < 0)  # a label is stored as ~label; nodes are numbered from the root down
    for edge in edges[:_N_TRIED].tolist():
        node = int(np.searchsorted(tree.child_ptr, edge, side="right")) - 1
        row = model.node_weights(node).weights[[edge - int(tree.child_ptr[node])]]
        strongest = row.indices[np.argsort(-row.data, kind="stable")]
        words = [_word_of(str(names[feature])) for feature in strongest[:_N_FEATURES]]
        text = " ".join(list(dict.fromkeys(word for word in words if word))[:_N_WORDS])
        if text and text not in found:
            found.append(text)
        if len(found) == _N_TEXTS:
            break
    return found


def _word_of(name: str) -> str:
    """Return the word of a feature; an empty text for parts of words and pairs of words.

    Examples
    --------
    >>> _word_of("word__music"), _word_of("char_wb__usic "), _word_of("music"), _word_of("music player")
    ('music', '', 'music', '')
    """
    analyzer, separator, word = name.partition("__")
    if not separator:
        analyzer, word = "word", name
    return word if analyzer.startswith("word") and word.isalpha() else ""


class PathFinder:
    """Finds the nodes that searches open. The first search prepares a view of each tree.

    Parameters
    ----------
    model : Model
    """

    def __init__(self, model: Model) -> None:
        self._model = model

    @cached_property
    def _viewers(self) -> list[TreeViewer]:
        names = self._model.label_names_
        return [TreeViewer(tree, names, n_examples=_N_EXAMPLES) for tree in self._model.trees_]

    def find(self, point: Any, request: SearchRequest, labels: list[int]) -> list[SearchPath]:
        """Return the search path of one point in every tree, with the nodes above each of `labels`."""
        return [self._in_tree(number, viewer, point, request, labels) for number, viewer in enumerate(self._viewers)]

    def _in_tree(
        self, number: int, viewer: TreeViewer, point: Any, request: SearchRequest, labels: list[int]
    ) -> SearchPath:
        searcher, tree = self._model.searcher_, viewer.tree
        trace = searcher.trace(point, request) if number == 0 else searcher.trace(point, request, tree=number)
        opened = []
        for node, score in zip(trace.nodes[:_MAX_NODES].tolist(), trace.scores[:_MAX_NODES].tolist(), strict=True):
            first, end = tree.child_ptr[node : node + 2].tolist()
            opened.append(
                OpenedNode(
                    node=node,
                    parent=int(tree.parent[node]),
                    depth=int(tree.node_depth[node]),
                    score=round(math.exp(score), 6),
                    n_labels=int(tree.n_labels_below[node]),
                    n_children=end - first,
                    labels=viewer.examples(node),  # type: ignore[arg-type]
                )
            )
        answers = [tree.path(label).tolist() if tree.label_parent[label] >= 0 else [] for label in labels]
        return SearchPath(tree.n_nodes, len(trace.nodes), tree.height, opened, answers)


class ItemSearch:
    """Finds names that begin with a text, then names that contain it; it ignores case.

    Parameters
    ----------
    names : iterable of str

    Examples
    --------
    >>> ItemSearch(["rye bread", "Bread", "milk"]).find("br", 5)
    ['Bread', 'rye bread']
    """

    def __init__(self, names: Any) -> None:
        self._names = [str(name) for name in names]
        folded = [name.casefold().replace(_SEPARATOR, " ") for name in self._names]
        self._text = _SEPARATOR + _SEPARATOR.join(folded)
        self._ends = list(accumulate(len(name) + 1 for name in folded))

    def find(self, text: str, limit: int) -> list[str]:
        """Return at most `limit` names."""
        wanted = text.casefold().replace(_SEPARATOR, " ")
        found: dict[int, None] = {}  # numbers of names, in order
        for part in (_SEPARATOR + wanted, wanted) if wanted else (_SEPARATOR,):
            at = self._text.find(part)
            while at >= 0 and len(found) < limit:
                number = bisect_right(self._ends, at)
                found[number] = None
                at = self._text.find(part, self._ends[number])  # continue with the next name
        return [self._names[number] for number in found]
