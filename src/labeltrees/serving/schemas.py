"""The JSON of requests and answers: their types, decoding and encoding.

The types check decoded values, and `openapi.py` makes the description of the API from them. To add a search option
to requests, add a field to `Options` and use it in `served_model.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from starlette.responses import Response

from labeltrees.errors import LabelTreesError
from labeltrees.search.request import MODES, SearchRequest
from labeltrees.serving.settings import ServingSettings

if TYPE_CHECKING:
    from labeltrees.serving.served_model import ServedModel

encode = msgspec.json.Encoder().encode
_JSON = (b"content-type", b"application/json")
_LARGE_BODY = 2**20  # from this size on, values are counted before they are decoded
_MAX_VALUES = 1_000_000  # the decoder holds the interpreter lock: about 50 ms for a million
_MAX_GROWTH, _STRING_BYTES, _CONTAINER_BYTES = 9, 64, 72  # memory of short Python objects, with their list entry
_STORED = ' Or the name of a stored set, such as "@in_stock", or of a scheme or collection of the vocabulary.'
_HELP: dict[str, str] = {item.name: item.metadata["help"] for item in fields(SearchRequest) if "help" in item.metadata}


class RequestError(LabelTreesError):
    """A request that cannot be answered; `status` is 4xx, or 503 while a model is loading."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class JsonResponse(Response):
    """A response that msgspec encodes."""

    def __init__(self, content: Any, status_code: int = 200, headers: Mapping[str, str] | None = None) -> None:
        self.status_code, self.background = status_code, None
        self.body = encode(content)
        self.raw_headers = [_JSON, (b"content-length", b"%d" % len(self.body))]
        if headers is not None:
            self.raw_headers += [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]


def error_response(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response that says what is wrong, in a form that Open Inference clients read too."""
    if status in (429, 503):
        headers = {"retry-after": "1"}
    return JsonResponse({"error": message}, status, headers)


def as_unicode(text: str) -> str:
    """Return a text that JSON can hold: half a surrogate pair becomes a replacement character."""
    return text if text.isascii() else text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def decode(decoder: msgspec.json.Decoder[Any], body: bytes) -> Any:
    """Return the value of a JSON body; raise `RequestError` with the position of the fault if it is invalid."""
    if len(body) > _LARGE_BODY:
        _check_memory(body)
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise RequestError(400, str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        message = f"the body is not valid JSON: {error}"
        raise RequestError(400, message) from None


def _check_memory(body: bytes) -> None:
    """Refuse a body whose values would take long to decode, or many times its size.

    Short texts, empty lists and empty objects take many times their size; numbers take at most ten times.
    """
    n_strings = body.count(b'"') // 2
    n_containers = body.count(b"[") + body.count(b"{")
    n_values = max(body.count(b","), n_strings + n_containers)
    growth = (_STRING_BYTES * n_strings + _CONTAINER_BYTES * n_containers) / len(body)
    if n_values > _MAX_VALUES or growth > _MAX_GROWTH:
        message = f"the body has too many values for its {len(body):,} bytes; send fewer per request"
        raise RequestError(413, message)


# Requests

Item = str | int
Items = list[Item | tuple[Item, float]] | dict[str, float]
Context = dict[str, str | Items | None]
Value = Annotated[float, Meta(ge=-1e30, le=1e30)]
Positive = Annotated[int, Meta(ge=1, le=2**62)]
Share = Annotated[float, Meta(ge=0, le=1)]
PositiveShare = Annotated[float, Meta(gt=0, le=1)]


Weight = Annotated[float, Meta(ge=0, le=1e30)]
Most = Annotated[int, Meta(ge=0, le=2**31 - 1)] | dict[str, Annotated[int, Meta(ge=0, le=2**31 - 1)]]


class LimitRule(Struct, forbid_unknown_fields=True):
    """At most m labels per group; by default the m of the stored set, or 1."""

    groups: Annotated[dict[str, str | int] | str, Meta(description="Groups by label, or the name of a stored set.")]
    m: Most | None = None


class Row(Struct, forbid_unknown_fields=True):
    """Features of one point: their indices and values."""

    indices: list[Annotated[int, Meta(ge=0, lt=2**31)]]
    values: list[Value]


class Options(Struct, forbid_unknown_fields=True):
    """How many labels to search for, which ones, and how."""

    k: Annotated[int, Meta(ge=1, description=_HELP["k"])] = 5
    threshold: Annotated[
        Share | None,
        Meta(
            description="Leave out labels whose probability (score, if the model is not calibrated) is below it. By "
            "default the threshold that is stored with the model, if any; 0 for none."
        ),
    ] = None
    raw_scores: Annotated[bool, Meta(description=_HELP["raw_scores"])] = False
    search: Annotated[str | None, Meta(description=_HELP["search"], extra_json_schema={"enum": [*MODES, None]})] = None
    beam: Annotated[Positive | UnsetType | None, Meta(description=_HELP["beam"])] = UNSET
    agreement: Annotated[PositiveShare | None, Meta(description=_HELP["agreement"] + " Needs calibration.")] = None
    max_chunks: Annotated[Positive | None, Meta(description=_HELP["max_chunks"])] = None
    max_microseconds: Annotated[Positive | None, Meta(description=_HELP["max_microseconds"])] = None
    candidates: Annotated[list[Item] | str | None, Meta(description=_HELP["candidates"] + _STORED)] = None
    exclude: Annotated[list[Item] | str | None, Meta(description=_HELP["exclude"] + _STORED)] = None
    label_weight: Annotated[
        dict[str, Weight] | str | None, Meta(description=_HELP["label_weight"] + " Others have weight 1." + _STORED)
    ] = None
    limits: Annotated[LimitRule | str | None, Meta(description=_HELP["limits"] + _STORED)] = None
    diversity: Annotated[Share | None, Meta(description=_HELP["diversity"])] = None
    broader: Annotated[bool, Meta(description=_HELP["broader"] + " For a calibrated model with a SKOS vocabulary.")] = (
        False
    )
    exclude_seen: Annotated[bool, Meta(description="Leave out the items of the given history.")] = False
    probabilities: Annotated[
        bool, Meta(description="Also return probabilities. An error if the model is not calibrated.")
    ] = False
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
_MAX_PATHS = 10


@dataclass(slots=True)
class Questions:
    """The questions of one request of any protocol, and a function that writes the response.

    Parameters
    ----------
    kind : {"text", "items", "row", "context"}
    rows : sequence
    options : Options
    write : callable(served model, predictions, microseconds)
        Returns the response.
    """

    kind: str
    rows: Sequence[Any]
    options: Options
    write: Callable[[ServedModel, list[Prediction], float], Response]

    def check_limits(self, settings: ServingSettings, n_labels: int) -> None:
        """Raise `RequestError` if the questions exceed the limits, for a model with `n_labels` labels."""
        n, options = len(self.rows), self.options
        if n > settings.max_rows:
            message = f"{n:,} questions in one request; this server takes at most {settings.max_rows:,}"
            raise RequestError(413, message)
        if options.k > settings.max_k:
            message = f"k must be at most {settings.max_k:,}, got {options.k:,}"
            raise RequestError(400, message)
        if n * min(options.k, n_labels) > settings.max_labels:
            message = f"{n:,} questions times k = {options.k:,} is more than {settings.max_labels:,}; ask for fewer"
            raise RequestError(413, message)
        if self.kind == "text":
            longest = max(map(len, self.rows), default=0)
            if longest > settings.max_text:
                message = f"a text has {longest:,} characters; this server takes at most {settings.max_text:,}"
                raise RequestError(413, message)
        if options.path and n > _MAX_PATHS:
            message = f"path is for at most {_MAX_PATHS} questions per request, got {n:,}"
            raise RequestError(400, message)


# Answers


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
    scores: list[float]  # with six digits; probabilities if the model is calibrated, unless raw scores are asked for
    probabilities: list[float] | None = None
    label_texts: list[str | None] | None = None
    broader: list[list[str]] | None = None  # for each label the texts of the labels above it, nearest first
    unsure: bool = False  # whether the label is a broader one, because none reaches the threshold
    unknown_labels: dict[str, list[str]] | None = None  # unknown labels in the rules, with similar known names
    unknown: list[str] | None = None  # items of the question that the model does not know
    no_features: bool = False  # whether no word or item is known: the labels are then the most frequent ones
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
    """Description of a model for clients."""

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
    threshold: float | None  # stored with the model: labels below it are left out unless a request has its own
    has_items: bool  # whether exclude_seen is possible
    picks: list[str]  # columns whose items can be looked up; "items" for a model that reads items
    measured: dict[str, float]  # measurements of the sweep that made the model
    sweep: str | None  # its name: a slider on the page moves between its models
    examples: list[str]  # texts of words that the model knows well
    sets: dict[str, int]  # schemes, types and collections of the vocabulary, and their numbers of labels
    has_broader: bool  # whether the vocabulary says which labels are broader
    loaded: str


class ModelList(Struct):
    """All models of the server, and those that are still being loaded."""

    models: list[ModelFacts]
    loading: list[str]


class ExplainRequest(PredictRequest):
    """One question, and the labels to explain; by default the k best."""

    label: Annotated[list[Item] | Item | None, Meta(description="A label or a list of labels.")] = None


class ExplainedPart(Struct, omit_defaults=True):
    """Contribution of a feature, evidence, the trend, or the base without features to the log score of a label."""

    name: str
    amount: float
    kind: str
    feature: int | None = None


class ExplainedWord(Struct):
    """A word of the text, its position, and its contribution."""

    text: str
    start: int
    end: int
    amount: float


class ExplainedLabel(Struct, omit_defaults=True):
    """Why the model gives a label: amounts that sum to the log score, the strongest features first."""

    label: str | int
    score: float
    log_score: float
    contributions: list[ExplainedPart]
    n_features: int  # of which `contributions` holds the strongest
    words: list[ExplainedWord]
    probability: float | None = None
    label_text: str | None = None
    retired: bool = False  # no search returns the label


class ExplainAnswer(Struct):
    """Why the model gives labels to a question."""

    model: str
    version: str
    labels: list[ExplainedLabel]


class ItemsRequest(Struct, forbid_unknown_fields=True):
    """Part of the name of an item, as the user types it."""

    text: str
    column: str = "items"
    limit: Annotated[int, Meta(ge=1, le=100)] = 10


class ItemList(Struct):
    """Names of items: first those that begin with the text, then those that contain it."""

    items: list[str]
