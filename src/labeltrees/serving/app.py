"""The application: its routes, and what happens to every request.

To add a protocol, write its endpoints in a module and list its routes in `make_routes`. The name of a route is its
label in the metrics.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from labeltrees.errors import FileFormatError
from labeltrees.serving import annif, json_api, open_inference
from labeltrees.serving.limits import Keys, LimitRequests, RequireKey
from labeltrees.serving.metrics import Metrics
from labeltrees.serving.openapi import openapi_document
from labeltrees.serving.registry import Registry, Watcher
from labeltrees.serving.schemas import JsonResponse, RequestError, encode, error_response
from labeltrees.serving.service import Service
from labeltrees.serving.settings import ServingSettings

_logger = logging.getLogger("labeltrees")
_METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_PAGE = {
    "/": ("index.html", "text/html"),
    "/docs": ("docs.html", "text/html"),
    "/static/page.css": ("page.css", "text/css"),
    "/static/page.js": ("page.js", "text/javascript"),
    "/static/tree.js": ("tree.js", "text/javascript"),
    "/static/items.js": ("items.js", "text/javascript"),
    "/static/docs.js": ("docs.js", "text/javascript"),
}
# Nothing from other servers, no scripts in attributes, and no other page may show this one in a frame.
_PAGE_HEADERS = {
    "content-security-policy": "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}


def make_routes(service: Service, keys: Keys) -> list[BaseRoute]:
    """Return all routes. No path of a request reaches the file system."""
    key = [Middleware(RequireKey, keys)] if len(keys) else []
    guards = [*key, Middleware(LimitRequests, service)]

    def get(path: str, endpoint: Any, name: str) -> Route:
        return Route(path, endpoint, name=name, middleware=guards)

    def post(path: str, endpoint: Any, name: str) -> Route:
        return Route(path, endpoint, name=name, methods=["POST"], middleware=guards)

    document = encode(openapi_document(service.registry.names))
    return [
        # The server's own JSON form
        post("/v1/models/{name}/predict", json_api.predict, "predict"),
        post("/v1/models/{name}/items", json_api.find_items, "models"),
        get("/v1/models/{name}", json_api.describe_model, "models"),
        get("/v1/models", json_api.list_models, "models"),
        # Open Inference Protocol v2
        post("/v2/models/{name}/infer", open_inference.infer, "infer"),
        get("/v2/models/{name}", open_inference.describe_model, "models"),
        get("/v2", open_inference.describe_server, "models"),
        Route("/v2/models/{name}/ready", open_inference.model_ready, name="health"),
        Route("/v2/health/live", open_inference.describe_server, name="health"),
        Route("/v2/health/ready", open_inference.server_ready, name="health"),
        # Annif
        post("/v1/projects/{name}/suggest", annif.suggest, "suggest"),
        get("/v1/projects/{name}", annif.describe_project, "models"),
        get("/v1/projects", annif.list_projects, "models"),
        # Operation
        Route("/health", _health, name="health"),
        Route("/ready", _ready, name="health"),
        Route("/metrics", _metrics, name="metrics", middleware=key),
        Route("/openapi.json", _constant(document, "application/json"), name="page"),
        *(_page_routes() if service.settings.page else ()),
    ]


def make_starlette(
    registry: Registry, settings: ServingSettings, *, api_keys: Keys, allowed_origins: tuple[str, ...] = ()
) -> Starlette:
    """Return the application. Its attribute `state.service` holds the models."""
    service = Service(registry, settings, Metrics(registry))
    watcher = Watcher(registry, settings.reload_seconds)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        watcher.start()
        yield
        watcher.stop()
        service.close()
        service.metrics.close()

    middleware = [Middleware(Observe, service)]
    if allowed_origins:
        methods, headers = ["GET", "POST"], ["Authorization", "Content-Type", "X-API-Key"]
        middleware.append(
            Middleware(CORSMiddleware, allow_origins=allowed_origins, allow_methods=methods, allow_headers=headers)
        )
    app = Starlette(
        routes=make_routes(service, api_keys),
        middleware=middleware,
        exception_handlers={RequestError: _refuse, HTTPException: _refuse_route, FileFormatError: _report_damage},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    app.state.service = service
    return app


class Observe:
    """Middleware for all requests: it counts them, logs them, and turns unexpected exceptions into status 500."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service = app, service
        self._has_log = service.settings.access_log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        service, start, status = self._service, time.perf_counter(), 0

        async def send_and_note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        service.n_requests += 1
        service.metrics.begin_request()
        try:
            await self._app(scope, receive, send_and_note)
        except Exception:
            _logger.exception("%s %s failed", scope["method"], scope["path"])
            if status:
                raise  # the response has begun: the server closes the connection
            await error_response(500, "the server failed; its log says why")(scope, receive, send_and_note)
        finally:
            service.n_requests -= 1
            seconds = time.perf_counter() - start
            route = scope.get("route")
            service.metrics.end_request(route.name if route else "other", status, seconds)
            if self._has_log:
                _log_request(scope, status, seconds)


def _log_request(scope: Scope, status: int, seconds: float) -> None:
    client = scope.get("client")
    line = {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "client": client[0] if client else None,
        "method": scope["method"],
        "path": scope["path"],
        "status": status,
        "milliseconds": round(seconds * 1000, 3),
    }
    sys.stderr.write(encode(line).decode() + "\n")


async def _refuse(request: Request, error: Any) -> Response:
    return error_response(error.status, str(error))


async def _refuse_route(request: Request, error: Any) -> Response:
    path = request.scope["path"]
    if error.status_code == 404:
        return error_response(404, f"there is nothing at {path[:200]}; /docs describes this server")
    return error_response(error.status_code, f"{path} takes {error.headers['Allow']}", error.headers)


async def _report_damage(request: Request, error: Exception) -> Response:
    _logger.error("%s: %s", request.scope["path"], error)
    return error_response(500, "the model on this server is damaged")


async def _health(request: Request) -> Response:
    return JsonResponse({"status": "alive"})


async def _ready(request: Request) -> Response:
    if request.app.state.service.registry.is_ready:
        return JsonResponse({"status": "ready"})
    return error_response(503, "models are being loaded")


async def _metrics(request: Request) -> Response:
    service: Service = request.app.state.service
    return Response(await asyncio.to_thread(service.metrics.text), media_type=_METRICS_TYPE)


def _page_routes() -> list[BaseRoute]:
    folder = files("labeltrees.serving") / "static"
    return [
        Route(path, _constant((folder / file).read_bytes(), media_type, _PAGE_HEADERS), name="page")
        for path, (file, media_type) in _PAGE.items()
    ]


def _constant(body: bytes, media_type: str, headers: dict[str, str] | None = None) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        return Response(body, media_type=media_type, headers=headers)

    return endpoint
