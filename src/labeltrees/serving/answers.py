"""The JSON form of predictions."""

from __future__ import annotations

from msgspec import Struct


class OpenedNode(Struct, omit_defaults=True):
    """A node that the search opened."""

    node: int
    parent: int
    depth: int
    score: float
    n_labels: int
    n_children: int
    labels: list[str | int]  # the most frequent below it


class SearchPath(Struct):
    """The nodes that the search opened in one tree, in order."""

    n_nodes: int
    n_opened: int  # of which `opened` holds the first
    height: int
    opened: list[OpenedNode]
    answers: list[list[int]]  # for each label of the answer the nodes above it, from the root down


class Prediction(Struct, omit_defaults=True):
    """The best labels of one question, best first."""

    labels: list[str | int]
    scores: list[float]  # with six digits
    probabilities: list[float] | None = None
    label_texts: list[str | None] | None = None
    partial: bool = False  # whether a budget ended the search
    n_opened: int | None = None  # nodes opened, if there was a budget
    path: list[SearchPath] | None = None  # one per tree
    model: str | None = None  # this and the following: only in the answer to a single question
    version: str | None = None
    microseconds: float | None = None


class PredictAnswers(Struct):
    """The answers to a list of questions."""

    model: str
    version: str
    microseconds: float
    results: list[Prediction]


class ModelFacts(Struct):
    """What a client needs to know about a model."""

    name: str
    version: str
    ready: bool
    kind: str
    reads: str  # text, items, row or context: the kind of question that the model takes
    columns: list[str]  # of a context
    n_labels: int
    n_features: int | None
    n_nodes: int
    n_trees: int
    height: int
    tradeoff: float | None
    beam: int | None
    has_beam: bool
    has_agreement: bool  # whether it was calibrated for early stopping
    has_probabilities: bool
    has_items: bool  # whether exclude_seen is possible
    picks: list[str]  # columns whose items can be looked up; "items" for a model that reads items
    measured: dict[str, float]  # what a sweep measured
    loaded: str
