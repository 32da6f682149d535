"""All routes of the server."""

from __future__ import annotations

from labeltrees.serving.annif import annif_routes
from labeltrees.serving.http import FindHeader, Handler, Reply, Route, error_reply, fixed, json_reply
from labeltrees.serving.json_api import json_routes
from labeltrees.serving.open_inference import inference_routes
from labeltrees.serving.openapi import openapi_document
from labeltrees.serving.page import page_routes
from labeltrees.serving.service import Service

_TEXT = (("content-type", "text/plain; version=0.0.4; charset=utf-8"),)


def make_routes(service: Service) -> dict[str, Route]:
    """Return what answers each path."""
    document = json_reply(openapi_document(service)).body
    routes = {
        "/health": Route("health", {"GET": _live}, is_open=True, is_limited=False),
        "/ready": Route("health", {"GET": _ready(service)}, is_open=True, is_limited=False),
        "/metrics": Route("metrics", {"GET": _metrics(service)}, is_limited=False),
        "/openapi.json": Route("page", {"GET": fixed(document, "application/json")}, is_open=True),
        **json_routes(service),
        **inference_routes(service),
        **annif_routes(service),
        **page_routes(service.settings),
    }
    for route in routes.values():
        if "GET" in route.methods:
            route.methods["HEAD"] = route.methods["GET"]
    return routes


def _live(body: bytes, header: FindHeader) -> Reply:
    return json_reply({"status": "alive"})


def _ready(service: Service) -> Handler:
    def handle(body: bytes, header: FindHeader) -> Reply:
        if service.registry.is_ready:
            return json_reply({"status": "ready"})
        return error_reply(503, "models are being loaded")

    return handle


def _metrics(service: Service) -> Handler:
    def handle(body: bytes, header: FindHeader) -> Reply:
        return Reply(service.metrics.text(), 200, _TEXT)

    return handle
