"""The server's own JSON form: predictions, and what models there are."""

from __future__ import annotations

from typing import Annotated

import msgspec

from labeltrees.serving.answers import ModelFacts, PredictAnswers, Prediction
from labeltrees.serving.http import FindHeader, Handler, Reply, Route, Work, decode_json, encode, json_reply
from labeltrees.serving.questions import PredictRequest
from labeltrees.serving.registry import Place
from labeltrees.serving.served_model import ServedModel
from labeltrees.serving.service import Service

_decoder = msgspec.json.Decoder(PredictRequest)
_MAX_ITEM = 1000  # characters of the name of an item


class ItemsRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A part of the name of an item, as it is typed."""

    text: str
    column: str = "items"
    limit: Annotated[int, msgspec.Meta(ge=1, le=100)] = 10


class ItemList(msgspec.Struct):
    """Names of items: first those that begin with the text, then those that contain it."""

    items: list[str]


class ModelList(msgspec.Struct):
    """All models of the server, and those that are still being loaded."""

    models: list[ModelFacts]
    loading: list[str]


def json_routes(service: Service) -> dict[str, Route]:
    """Return the routes of the JSON form."""
    places = service.registry.places
    routes = {"/v1/models": Route("models", {"GET": _list_models(service)})}
    for name, place in places.items():
        routes[f"/v1/models/{name}"] = Route("models", {"GET": _model(place)})
        routes[f"/v1/models/{name}/items"] = Route("models", {"POST": _items(place)})
        routes[f"/v1/models/{name}/predict"] = Route("predict", {"POST": _predict(service, place)})
    return routes


def _list_models(service: Service) -> Handler:
    def handle(body: bytes, header: FindHeader) -> Reply:
        places = service.registry.places.values()
        ready = [place.current.facts for place in places if place.current is not None]
        return json_reply(ModelList(ready, [place.name for place in places if place.current is None]))

    return handle


def _model(place: Place) -> Handler:
    def handle(body: bytes, header: FindHeader) -> Reply:
        return json_reply(place.get().facts)

    return handle


def _items(place: Place) -> Handler:
    decoder = msgspec.json.Decoder(ItemsRequest)

    def handle(body: bytes, header: FindHeader) -> Reply | Work:
        asked: ItemsRequest = decode_json(decoder, body)
        served = place.get()
        text = asked.text[:_MAX_ITEM]
        # In a thread: the first call sorts out the names, and a later one reads all of them.
        return lambda: json_reply(ItemList(served.find_items(asked.column, text, asked.limit)))

    return handle


def _predict(service: Service, place: Place) -> Handler:
    def handle(body: bytes, header: FindHeader) -> Reply | Work:
        asked: PredictRequest = decode_json(_decoder, body)
        kind, questions, is_single = asked.questions()
        return service.answer(place.get(), kind, questions, asked, len(body), _single if is_single else _several)

    return handle


def _single(served: ServedModel, found: list[Prediction], microseconds: float) -> Reply:
    one = found[0]
    one.model, one.version, one.microseconds = served.name, served.version, round(microseconds, 1)
    return Reply(encode(one))


def _several(served: ServedModel, found: list[Prediction], microseconds: float) -> Reply:
    return Reply(encode(PredictAnswers(served.name, served.version, round(microseconds, 1), found)))
