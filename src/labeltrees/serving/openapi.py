"""The OpenAPI document of the server, from the types of requests and answers."""

from __future__ import annotations

from typing import Any

import msgspec

import labeltrees
from labeltrees.serving.schemas import (
    ExplainAnswer,
    ExplainRequest,
    ItemList,
    ItemsRequest,
    ModelFacts,
    ModelList,
    PredictAnswers,
    Prediction,
    PredictRequest,
)
from labeltrees.serving.sets import SetFacts, SetList, StoredSet

_ERRORS = {
    "400": "The request is not valid; the message says where.",
    "401": "A valid API key is needed.",
    "404": "There is no such path or model.",
    "408": "The request took too long.",
    "413": "The request is too large.",
    "429": "Too many requests are in progress.",
    "503": "The model is being loaded.",
}


_SET = {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}


def openapi_document(names: list[str]) -> dict[str, Any]:
    """Return the document for a server with models of these names; an empty list hides the names."""
    types = [PredictRequest, Prediction, PredictAnswers, ModelFacts, ModelList, ItemsRequest, ItemList]
    types += [ExplainRequest, ExplainAnswer, StoredSet, SetFacts, SetList]
    _, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    components["Error"] = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}
    example = {"text": "a game with penguins", "k": 3}
    name = {
        "name": "name",
        "in": "path",
        "required": True,
        "schema": {"type": "string", "enum": names} if names else {"type": "string"},
    }
    predict = _operation("Predict labels", ["Prediction", "PredictAnswers"], parameters=[name])
    predict["requestBody"] = _body("PredictRequest", example)
    explain = _operation("Explain labels", ["ExplainAnswer"], parameters=[name])
    explain["requestBody"] = _body("ExplainRequest", {"text": "a game with penguins", "k": 1})
    items = _operation("Find names of items", ["ItemList"], parameters=[name])
    items["requestBody"] = _body("ItemsRequest", {"text": "bre"})
    stored = _body("StoredSet", {"labels": ["bread", "milk"]})
    paths = {
        "/v1/models": {"get": _operation("List the models", ["ModelList"])},
        "/v1/models/{name}": {"get": _operation("Describe a model", ["ModelFacts"], parameters=[name])},
        "/v1/models/{name}/predict": {"post": predict},
        "/v1/models/{name}/explain": {"post": explain},
        "/v1/models/{name}/items": {"post": items},
        "/v1/sets": {"get": _operation("List the stored sets", ["SetList"])},
        "/v1/sets/{name}": {
            "put": {**_operation("Store a set", ["SetFacts"], parameters=[_SET]), "requestBody": stored},
            "get": _operation("Describe a stored set", ["SetFacts"], parameters=[_SET]),
            "delete": _operation("Remove a stored set", [], parameters=[_SET]),
        },
        "/health": {"get": _operation("Whether the server runs", [], is_open=True)},
        "/ready": {"get": _operation("Whether all models are loaded", [], is_open=True)},
        "/metrics": {"get": _operation("Metrics for Prometheus", [], content="text/plain")},
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "labeltrees",
            "version": labeltrees.__version__,
            "description": "Also served: the Open Inference Protocol v2 at /v2, and Annif's REST API at /v1/projects.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
            },
        },
        "security": [{}, {"bearer": []}, {"key": []}],
    }


def _body(schema: str, example: dict[str, Any]) -> dict[str, Any]:
    return {
        "required": True,
        "content": {"application/json": {"schema": _reference(schema), "example": example}},
    }


def _operation(
    summary: str,
    answers: list[str],
    *,
    parameters: list[dict[str, Any]] | None = None,
    is_open: bool = False,
    content: str = "application/json",
) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string" if content == "text/plain" else "object"}
    if answers:
        schema = _reference(answers[0]) if len(answers) == 1 else {"anyOf": [_reference(name) for name in answers]}
    responses: dict[str, Any] = {"200": {"description": "The answer.", "content": {content: {"schema": schema}}}}
    errors = ("503",) if is_open else tuple(_ERRORS)
    for status in errors:
        error = {"application/json": {"schema": _reference("Error")}}
        responses[status] = {"description": _ERRORS[status], "content": error}
    operation: dict[str, Any] = {"summary": summary, "responses": responses}
    if parameters:
        operation["parameters"] = parameters
    if is_open:
        operation["security"] = []
    return operation


def _reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}
