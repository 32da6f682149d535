"""The JSON form of a request for predictions."""

from __future__ import annotations

from operator import attrgetter
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from labeltrees.serving.errors import RequestError
from labeltrees.serving.settings import ServingSettings

Item = str | int
Items = list[Item | tuple[Item, float]] | dict[str, float]
Context = dict[str, str | Items | None]
Value = Annotated[float, Meta(ge=-1e30, le=1e30)]
Positive = Annotated[int, Meta(ge=1, le=2**62)]
Share = Annotated[float, Meta(ge=0, le=1)]
PositiveShare = Annotated[float, Meta(gt=0, le=1)]


class Row(Struct, forbid_unknown_fields=True):
    """Features of one point: their numbers and their values."""

    indices: list[Annotated[int, Meta(ge=0, lt=2**31)]]
    values: list[Value]


class Options(Struct, forbid_unknown_fields=True):
    """What to search for, and how."""

    k: Annotated[int, Meta(ge=1, description="Labels to return.")] = 5
    threshold: Annotated[
        Share | None,
        Meta(description="Leave out labels below this score, or probability if these are asked for."),
    ] = None
    search: Literal["best_first", "beam", "paths"] | None = None
    beam: Annotated[
        Positive | UnsetType | None,
        Meta(description="Nodes to open per depth; null: exact search. Default: as fitted."),
    ] = UNSET
    agreement: Annotated[
        PositiveShare | None,
        Meta(description="Stop early; at least this share of the lists stays the same. Needs calibration."),
    ] = None
    max_chunks: Annotated[Positive | None, Meta(description="Most nodes to open.")] = None
    max_microseconds: Annotated[Positive | None, Meta(description="Most time for one search.")] = None
    candidates: Annotated[list[Item] | None, Meta(description="Labels that may be returned.")] = None
    exclude: Annotated[list[Item] | None, Meta(description="Labels that must not be returned.")] = None
    exclude_seen: Annotated[bool, Meta(description="Leave out the items of the given history.")] = False
    probabilities: Annotated[bool, Meta(description="Return probabilities too. Needs calibration.")] = False
    path: Annotated[bool, Meta(description="Return the nodes that the search opened.")] = False

    @property
    def has_budget(self) -> bool:
        """Whether a search may be cut short."""
        return self.max_chunks is not None or self.max_microseconds is not None


class PredictRequest(Options):
    """One question (text, items, row or context), or a list of them (texts, histories, rows or contexts)."""

    text: str | None = None
    texts: list[str] | None = None
    items: Annotated[Items | None, Meta(description="A list of items or [item, count] pairs, or counts by item.")] = (
        None
    )
    histories: list[Items] | None = None
    row: Row | None = None
    rows: list[Row] | None = None
    context: Annotated[Context | None, Meta(description="For models that read several columns: one entry each.")] = None
    contexts: list[Context] | None = None

    def questions(self) -> tuple[str, list[Any], bool]:
        """Return the kind of the questions, the questions, and whether it is a single one.

        Raises
        ------
        RequestError
            If there is not exactly one kind of question.
        """
        values = _all_kinds(self)
        if values.count(None) != len(values) - 1:
            message = f"give exactly one of {', '.join(KINDS)}"
            raise RequestError(400, message)
        place = 0
        while values[place] is None:
            place += 1
        name, kind = _FIELDS[place]
        return kind, [values[place]] if kind == name else values[place], kind == name


# The fields for questions, and the kind of question in each.
KINDS = {
    "text": "text",
    "texts": "text",
    "items": "items",
    "histories": "items",
    "row": "row",
    "rows": "row",
    "context": "context",
    "contexts": "context",
}
_FIELDS = tuple(KINDS.items())
_all_kinds = attrgetter(*KINDS)


def check_limits(kind: str, questions: list[Any], options: Options, settings: ServingSettings) -> None:
    """Raise `RequestError` for questions beyond the limits."""
    if len(questions) > settings.max_rows:
        message = f"{len(questions):,} questions in one request; this server takes at most {settings.max_rows:,}"
        raise RequestError(413, message)
    if options.k > settings.max_k:
        message = f"k must be at most {settings.max_k:,}, got {options.k:,}"
        raise RequestError(400, message)
    if kind == "text":
        longest = settings.max_text
        for text in questions:
            if len(text) > longest:
                message = f"a text has {len(text):,} characters; this server takes at most {longest:,}"
                raise RequestError(413, message)
    if options.path and len(questions) > MAX_PATHS:
        message = f"path is for at most {MAX_PATHS} questions per request, got {len(questions):,}"
        raise RequestError(400, message)


MAX_PATHS = 10
