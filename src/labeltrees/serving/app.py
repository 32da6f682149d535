"""The ASGI application: its routes, and the middleware for all requests.

To add a protocol, write its endpoints in a module and list its routes in `make_routes`. The name beside a
route is its label in the metrics.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from importlib.resources import files

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from labeltrees.errors import FileFormatError
from labeltrees.serving import annif, json_api, open_inference, sets
from labeltrees.serving.connections import ConnectionGuard
from labeltrees.serving.limits import Keys, LimitRequests, RequireKey
from labeltrees.serving.metrics import Metrics
from labeltrees.serving.openapi import openapi_document
from labeltrees.serving.registry import Registry, Watcher
from labeltrees.serving.schemas import JsonResponse, RequestError, encode, error_response
from labeltrees.serving.service import BUFFERED, LARGE, Service
from labeltrees.serving.settings import ServingSettings

Function = Callable[[Service, Request], Awaitable[Response]]
_logger = logging.getLogger("labeltrees")
_STATUS = "labeltrees.status"  # in the scope of a request: the status of its response, 0 before it begins
_PIECE = 65_536  # bytes of a long answer that are sent at a time
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


def make_routes(service: Service) -> list[BaseRoute]:
    """Return all routes. No path of a request reaches the file system."""
    key = [Middleware(RequireKey, service.keys)] if len(service.keys) else []
    guards = [*key, Middleware(LimitRequests, service)]
    pages = _PAGE if service.settings.page else {}

    def get(path: str, function: Function, name: str, *, middleware: list[Middleware] = guards) -> Route:
        return Route(path, Endpoint(service, function, name), methods=["GET"], middleware=middleware)

    def post(path: str, function: Function, name: str) -> Route:
        return Route(path, Endpoint(service, function, name), methods=["POST"], middleware=guards)

    def change(path: str, function: Function, method: str) -> Route:
        return Route(path, Endpoint(service, function, "sets"), methods=[method], middleware=guards)

    document = encode(openapi_document([] if key else service.registry.names))  # names need a key, as everywhere
    return [
        # The server's own JSON API
        post("/v1/models/{name}/predict", json_api.predict, "predict"),
        post("/v1/models/{name}/explain", json_api.explain, "explain"),
        post("/v1/models/{name}/items", json_api.find_items, "models"),
        get("/v1/models/{name}", json_api.describe_model, "models"),
        get("/v1/models", json_api.list_models, "models"),
        # Sets of labels by name
        change("/v1/sets/{name}", sets.put_set, "PUT"),
        change("/v1/sets/{name}", sets.delete_set, "DELETE"),
        get("/v1/sets/{name}", sets.describe_set, "sets"),
        get("/v1/sets", sets.list_sets, "sets"),
        # Open Inference Protocol v2
        post("/v2/models/{name}/infer", open_inference.infer, "infer"),
        get("/v2/models/{name}", open_inference.describe_model, "models"),
        get("/v2", open_inference.describe_server, "models"),
        get("/v2/models/{name}/ready", open_inference.model_ready, "health", middleware=key),
        get("/v2/health/live", open_inference.describe_server, "health", middleware=[]),
        get("/v2/health/ready", open_inference.server_ready, "health", middleware=[]),
        # Annif
        post("/v1/projects/{name}/suggest", annif.suggest, "suggest"),
        post("/v1/projects/{name}/suggest-batch", annif.suggest_batch, "suggest"),
        get("/v1/projects/{name}", annif.describe_project, "models"),
        get("/v1/projects", annif.list_projects, "models"),
        # Operation
        get("/health", _health, "health", middleware=[]),
        get("/ready", _ready, "health", middleware=[]),
        get("/metrics", _metrics, "metrics", middleware=key),
        # Pages
        get("/openapi.json", _constant(document, "application/json"), "page", middleware=[]),
        *(get(path, _page(*file), "page", middleware=[]) for path, file in pages.items()),
    ]


def make_starlette(
    registry: Registry,
    settings: ServingSettings,
    *,
    api_keys: Keys,
    allowed_origins: tuple[str, ...] = (),
    port: int | None = None,
) -> Starlette:
    """Return the application. Its attribute `state.service` holds the models.

    If `port` is given, connections to this port are limited, too.
    """
    service = Service(registry, settings, Metrics(registry), api_keys)
    watchers: list[Watcher | Metrics | ConnectionGuard] = [Watcher(registry, settings.reload_seconds), service.metrics]
    if port is not None:
        watchers.append(ConnectionGuard(port, settings, service.clients))

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        for watcher in watchers:
            watcher.start()
        yield
        for watcher in watchers:
            watcher.stop()
        service.close()

    middleware = [Middleware(Observe, service)]
    if allowed_origins:
        methods, headers = ["GET", "POST", "PUT", "DELETE"], ["Authorization", "Content-Type", "X-API-Key"]
        middleware.insert(
            0, Middleware(CORSMiddleware, allow_origins=allowed_origins, allow_methods=methods, allow_headers=headers)
        )
    app = _App(routes=make_routes(service), middleware=middleware, lifespan=lifespan)
    app.router.redirect_slashes = False
    app.state.service = service
    return app


class _App(Starlette):
    """Starlette without its two middlewares for exceptions: `Observe` handles them in less time."""

    def build_middleware_stack(self) -> ASGIApp:
        app: ASGIApp = KnownPaths(self.router, self.state.service.registry.names)
        for cls, args, kwargs in reversed(self.user_middleware):
            app = cls(app, *args, **kwargs)
        return app


class KnownPaths:
    """Middleware before the router: looks up the routes of models in a table of paths, ten times faster.

    Parameters
    ----------
    router : Router
        Gets all other requests.
    models : list of str
        The names of the models.
    """

    def __init__(self, router: Router, models: list[str]) -> None:
        self._router = router
        self._known = {
            (method, route.path.replace("{name}", name)): (route, {"name": name})
            for route in router.routes
            if isinstance(route, Route) and "{name}" in route.path
            for method in route.methods or ()
            for name in models
        }

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Pass on a request."""
        known = None
        if scope["type"] == "http" and not scope.get("root_path"):
            known = self._known.get((scope["method"], scope["path"]))
        if known is None:
            return self._router(scope, receive, send)
        route, scope["path_params"] = known
        scope["endpoint"] = route.endpoint
        return route.app(scope, receive, send)


class Endpoint:
    """A function from a request to a response, as an ASGI application; Starlette's own takes twice as long.

    Parameters
    ----------
    service : Service
    function : coroutine function
    name : str
        The label of its requests in the metrics.
    """

    def __init__(self, service: Service, function: Function, name: str) -> None:
        self._service, self._function, self.name = service, function, name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        response = await self._function(self._service, Request(scope, receive, send))
        body = response.body
        if len(body) > LARGE:
            self._service.reserve(scope, len(body))
        scope[_STATUS] = response.status_code
        await send({"type": "http.response.start", "status": response.status_code, "headers": response.raw_headers})
        if len(body) > LARGE:
            await self._send_large(memoryview(body), scope["path"], send)
        else:
            await send({"type": "http.response.body", "body": body})

    async def _send_large(self, body: memoryview, path: str, send: Send) -> None:
        """Send a body in pieces, each after the client took the one before; give up if it takes too long."""
        try:
            for at in range(0, len(body), _PIECE):
                piece, more = bytes(body[at : at + _PIECE]), at + _PIECE < len(body)
                async with asyncio.timeout(self._service.settings.max_seconds):
                    await send({"type": "http.response.body", "body": piece, "more_body": more})
        except TimeoutError:  # the response stays incomplete, so the server closes the connection
            _logger.warning("%s: the client did not read the answer", path)


class Observe:
    """Middleware for all requests: it turns exceptions into responses, counts requests and writes the access log."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service = app, service
        self._has_log = service.settings.access_log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        service, start = self._service, time.perf_counter()
        metrics, client = service.metrics, scope.get("client")
        scope[_STATUS] = 0
        metrics.in_progress += 1
        service.clients.add(client)
        try:
            await self._app(scope, receive, send)
        except Exception as error:
            if scope[_STATUS] != 0:  # the response has begun: the server closes the connection
                raise
            response = _response_to(error, scope["method"], scope["path"])
            scope[_STATUS] = response.status_code
            await response(scope, receive, send)
        finally:
            metrics.in_progress -= 1
            service.clients.discard(client)
            if BUFFERED in scope:
                service.release(scope)
            status, seconds = scope[_STATUS], time.perf_counter() - start
            endpoint = scope.get("endpoint")
            metrics.count_request("other" if endpoint is None else endpoint.name, status, seconds)
            if self._has_log:
                _log_request(scope, status, seconds)


def _response_to(error: Exception, method: str, path: str) -> Response:
    if isinstance(error, RequestError):
        return error_response(error.status, str(error))
    if isinstance(error, HTTPException) and error.status_code == 404:
        return error_response(404, f"there is nothing at {path[:200]}; /docs describes this server")
    if isinstance(error, HTTPException):  # 405
        headers = dict(error.headers or {})
        return error_response(error.status_code, f"{path[:200]} takes {headers.get('Allow')}", headers)
    if isinstance(error, FileFormatError):
        _logger.error("%s: %s", path, error)
        return error_response(500, "the model on this server is damaged")
    _logger.error("%s %s failed", method, path, exc_info=error)
    return error_response(500, "the server failed; its log says why")


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


async def _health(service: Service, request: Request) -> Response:
    """Report that the server runs, and the state of its models; if there are API keys, the latter needs one."""
    if len(service.keys) and not service.keys.allow(request.headers):
        return JsonResponse({"status": "alive"})
    places = service.registry.places.values()
    models = {
        one.name: {"version": one.current and one.current.version, "fault": one.fault, "failures": one.n_failures}
        for one in places
    }
    return JsonResponse({"status": "alive", "models": models})


async def _ready(service: Service, request: Request) -> Response:
    if service.registry.is_ready:
        return JsonResponse({"status": "ready"})
    return error_response(503, "models are being loaded")


async def _metrics(service: Service, request: Request) -> Response:
    return Response(await asyncio.to_thread(service.metrics.text), media_type=_METRICS_TYPE)


def _page(file: str, media_type: str) -> Function:
    return _constant((files("labeltrees.serving") / "static" / file).read_bytes(), media_type, _PAGE_HEADERS)


def _constant(body: bytes, media_type: str, headers: dict[str, str] | None = None) -> Function:
    async def send(service: Service, request: Request) -> Response:
        return Response(body, media_type=media_type, headers=headers)

    return send
