"""Sets, weights and groups of labels that clients store on the server by name, and use in requests as ``"@in_stock"``.

A stored set is a JSON file in the folder of the setting `sets`. All workers read the same folder: a request looks at
the file's time and size, so every worker uses a replaced set from the next request on. Names of labels are
looked up for each version of a model when it first uses a set; those that the model does not know are left out.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from labeltrees._files import write_atomically
from labeltrees.serving.limits import read_body
from labeltrees.serving.schemas import Item, JsonResponse, LimitRule, Most, RequestError, Weight, decode

if TYPE_CHECKING:
    from labeltrees.serving.served_model import ServedModel
    from labeltrees.serving.service import Service

_logger = logging.getLogger("labeltrees")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}")
_ENDING = ".json"
_MAX_SETS = 100
_MAX_PREPARED = 2 * _MAX_SETS  # per version of a model
_KINDS = ("labels", "weights", "groups")
_rules = attrgetter("candidates", "exclude", "label_weight", "limits")  # the options that can name a set
_NO_RULES = (None,) * 4
_OFF = "this server stores no sets; start it with labeltrees serve --sets FOLDER"


class StoredSet(Struct, forbid_unknown_fields=True):
    """Exactly one of: labels, for candidates and exclude; weights by label; groups by label, for limits."""

    labels: list[Item] | None = None
    weights: dict[str, Weight] | None = None
    groups: dict[str, str | int] | None = None
    m: Annotated[Most | None, Meta(description="With groups: maximum labels per group, if a request has no m.")] = None

    @property
    def kind(self) -> str:
        """The kind of set: labels, weights or groups."""
        return next(name for name in _KINDS if getattr(self, name) is not None)


class SetFacts(Struct):
    """A stored set: its kind, its number of labels, and how many of them each model does not know."""

    name: str
    kind: str
    n_labels: int
    n_bytes: int
    stored: str
    unknown: dict[str, int]


class SetList(Struct):
    """All stored sets."""

    sets: list[SetFacts]


_decoder = msgspec.json.Decoder(StoredSet)


class StoredSets:
    """The sets in a folder; without a folder, every use is refused.

    Parameters
    ----------
    folder : path or None
    """

    def __init__(self, folder: str | os.PathLike[str] | None) -> None:
        self._folder = None if folder is None else Path(folder)
        self._known: dict[str, tuple[Any, StoredSet]] = {}  # by name, with the identity of the file
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)

    def put(self, name: str, body: bytes) -> None:
        """Store a set, or replace it in one step."""
        self._require()
        _check_name(name)
        given: StoredSet = decode(_decoder, body)
        if sum(getattr(given, kind) is not None for kind in _KINDS) != 1:
            message = f"a set has exactly one of {', '.join(_KINDS)}"
            raise RequestError(400, message)
        if given.m is not None and given.groups is None:
            message = "m is for groups"
            raise RequestError(400, message)
        if len(self.names()) >= _MAX_SETS and not self._file(name).exists():
            message = f"this server stores at most {_MAX_SETS} sets; DELETE one first"
            raise RequestError(413, message)
        try:
            write_atomically(self._file(name), [msgspec.json.encode(given)])
        except OSError as error:
            _logger.error("the set %s cannot be stored: %s", name, error)
            message = f"the set cannot be stored: {error.strerror}; the one before stays"
            raise RequestError(507, message) from None

    def delete(self, name: str) -> None:
        """Remove a set."""
        self._require()
        _check_name(name)
        try:
            self._file(name).unlink()
        except FileNotFoundError:
            raise self._missing(name) from None
        self._known.pop(name, None)

    def names(self) -> list[str]:
        """Return the names of all sets; a server without a folder has none."""
        files = [] if self._folder is None else self._folder.glob(f"[!.]*{_ENDING}")
        return sorted(file.name.removesuffix(_ENDING) for file in files)

    def facts(self, name: str, models: list[ServedModel]) -> SetFacts:
        """Describe a set."""
        identity, found = self._read(name)
        labels = getattr(found, found.kind)
        stored = datetime.fromtimestamp(identity[1] / 1e9, UTC).isoformat(timespec="seconds")
        unknown = {model.name: sum(not model.knows(label) for label in labels) for model in models}
        return SetFacts(name, found.kind, len(labels), identity[2], stored, unknown)

    def resolve(self, served: ServedModel, options: Any) -> None:
        """Replace names such as "@in_stock" in the options of a request by the labels that they name in a model."""
        if _rules(options) == _NO_RULES:
            return
        for field in ("candidates", "exclude"):
            if isinstance(given := getattr(options, field), str):
                setattr(options, field, self._prepared(served, field, given, "labels", served.label_set_of))
        if isinstance(options.label_weight, str):
            weights = self._prepared(served, "label_weight", options.label_weight, "weights", served.label_weights_of)
            options.label_weight = weights
        if isinstance(options.limits, str):
            options.limits = LimitRule(options.limits)
        if isinstance(options.limits, LimitRule) and isinstance(options.limits.groups, str):
            m = options.limits.m
            make = partial(_limits, served, m)
            key = msgspec.json.encode(m)
            options.limits = self._prepared(served, "limits", options.limits.groups, "groups", make, key)

    def _prepared(
        self, served: ServedModel, field: str, given: str, kind: str, make: Callable[[Any], Any], key: bytes = b""
    ) -> Any:
        if not given.startswith("@"):
            message = f'{field} must be a list of labels or the name of a stored set, such as "@in_stock"'
            raise RequestError(400, message)
        name = given[1:]
        if kind == "labels" and not self._has(name):
            of_vocabulary = served.labels.label_set(name)
            if of_vocabulary is not None:
                return of_vocabulary
            if self._folder is None and served.labels.set_names:
                names = ", ".join(served.labels.set_names[:20])
                message = f"the vocabulary of {served.name} has no set @{name[:80]}; it has {names}"
                raise RequestError(404, message)
        identity, found = self._read(name)
        if found.kind != kind:
            message = f"{field} needs a set of {kind}; @{name} has {found.kind}"
            raise RequestError(400, message)
        known = served.prepared.get((name, key))
        if known is None or known[0] != identity:
            made = make(found if kind == "groups" else getattr(found, kind))
            if len(served.prepared) >= _MAX_PREPARED:  # a client can ask for any m
                served.prepared.clear()
            known = served.prepared[(name, key)] = (identity, made)
        return known[1]

    def _read(self, name: str) -> tuple[Any, StoredSet]:
        self._require()
        _check_name(name)
        file = self._file(name)
        try:
            found = file.stat()
            identity = found.st_ino, found.st_mtime_ns, found.st_size
            known = self._known.get(name)
            if known is None or known[0] != identity:
                known = self._known[name] = (identity, _decoder.decode(file.read_bytes()))
        except FileNotFoundError:
            raise self._missing(name) from None
        except msgspec.MsgspecError:
            message = f"the stored set @{name} is damaged; store it again"
            raise RequestError(400, message) from None
        return known

    def _has(self, name: str) -> bool:
        return self._folder is not None and _NAME.fullmatch(name) is not None and self._file(name).exists()

    def _missing(self, name: str) -> RequestError:
        names = ", ".join(self.names()) or "none"
        return RequestError(404, f"there is no stored set @{name}; stored: {names}")

    def _file(self, name: str) -> Path:
        return self._require() / f"{name}{_ENDING}"

    def _require(self) -> Path:
        if self._folder is None:
            raise RequestError(404, _OFF)
        return self._folder


def _limits(served: ServedModel, m: Any, found: StoredSet) -> Any:
    most = found.m if m is None else m
    return served.limits_of(found.groups or {}, 1 if most is None else most)


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        message = "the name of a set has up to 64 letters, digits, '.', '-' and '_', and does not begin with '.' or '-'"
        raise RequestError(400, message)


# Endpoints


async def put_set(service: Service, request: Request) -> Response:
    """Store a set."""
    body = await read_body(service, request)
    return await service.in_thread(partial(_put, service, request.path_params["name"], body))


def _put(service: Service, name: str, body: bytes) -> Response:
    service.sets.put(name, body)
    return JsonResponse(service.sets.facts(name, service.registry.ready))


async def list_sets(service: Service, request: Request) -> Response:
    """List the stored sets."""
    return await service.in_thread(partial(_list, service))


def _list(service: Service) -> Response:
    return JsonResponse(SetList([service.sets.facts(name, service.registry.ready) for name in service.sets.names()]))


async def describe_set(service: Service, request: Request) -> Response:
    """Describe a stored set."""
    name = request.path_params["name"]
    return await service.in_thread(lambda: JsonResponse(service.sets.facts(name, service.registry.ready)))


async def delete_set(service: Service, request: Request) -> Response:
    """Remove a stored set."""
    service.sets.delete(request.path_params["name"])
    return JsonResponse({})
