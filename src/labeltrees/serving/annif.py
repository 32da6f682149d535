"""Annif's REST form, so that its `http` backend can use a model: projects, and suggestions for a text."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

from labeltrees.serving.answers import Prediction
from labeltrees.serving.errors import RequestError
from labeltrees.serving.http import FindHeader, Handler, Reply, Route, Work, json_reply
from labeltrees.serving.questions import Options
from labeltrees.serving.registry import Place
from labeltrees.serving.served_model import ServedModel
from labeltrees.serving.service import Service

_DEFAULT_LIMIT, _MAX_FIELDS = 10, 100


def annif_routes(service: Service) -> dict[str, Route]:
    """Return the routes of Annif's form, for the models that read texts."""
    places = service.registry.places
    routes = {"/v1/projects": Route("models", {"GET": _list_projects(service)})}
    for name, place in places.items():
        routes[f"/v1/projects/{name}"] = Route("models", {"GET": _project(place)})
        routes[f"/v1/projects/{name}/suggest"] = Route("suggest", {"POST": _suggest(service, place)})
    return routes


def _describe(served: ServedModel) -> dict[str, Any]:
    return {
        "project_id": served.name,
        "name": served.name,
        "language": "en",
        "backend": {"backend_id": "labeltrees"},
        "is_trained": True,
        "modification_time": served.loaded.isoformat(),
    }


def _list_projects(service: Service) -> Handler:
    def handle(body: bytes, header: FindHeader) -> Reply:
        current = [place.current for place in service.registry.places.values()]
        return json_reply({"projects": [_describe(one) for one in current if one is not None and one.reads == "text"]})

    return handle


def _project(place: Place) -> Handler:
    def handle(body: bytes, header: FindHeader) -> Reply:
        return json_reply(_describe(place.get()))

    return handle


def _suggest(service: Service, place: Place) -> Handler:
    def handle(body: bytes, header: FindHeader) -> Reply | Work:
        form = _read_form(body)
        options = Options(
            k=int(_number(form, "limit", _DEFAULT_LIMIT, 1, service.settings.max_k)),
            threshold=_number(form, "threshold", 0.0, 0, 1),
        )
        return service.answer(place.get(), "text", [form["text"]], options, len(body), _results)

    return handle


def _results(served: ServedModel, found: list[Prediction], microseconds: float) -> Reply:
    (one,) = found
    results = [
        {"uri": str(label), "label": served.label_text(label) or str(label), "notation": None, "score": score}
        for label, score in zip(one.labels, one.scores, strict=True)
    ]
    return json_reply({"results": results})


def _read_form(body: bytes) -> dict[str, str]:
    try:
        form = dict(
            parse_qsl(body.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS)
        )
    except (UnicodeDecodeError, ValueError) as error:
        message = f"the body is not a form (application/x-www-form-urlencoded) in UTF-8: {error}"
        raise RequestError(400, message) from None
    if "text" not in form:
        message = "the form needs the field text"
        raise RequestError(400, message)
    return form


def _number(form: dict[str, str], name: str, default: float, low: float, high: float) -> float:
    try:
        value = float(form.get(name, default))
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        message = f"{name} must be a number in [{low:g}, {high:g}], got {form[name][:80]!r}"
        raise RequestError(400, message)
    return value
