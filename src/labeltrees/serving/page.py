"""The page at /, and the page about the API at /docs: files of this package, read once."""

from __future__ import annotations

from importlib.resources import files

from labeltrees.serving.http import Route, fixed
from labeltrees.serving.settings import ServingSettings

_FILES = {
    "/": "index.html",
    "/docs": "docs.html",
    "/static/page.css": "page.css",
    "/static/page.js": "page.js",
    "/static/tree.js": "tree.js",
    "/static/items.js": "items.js",
    "/static/docs.js": "docs.js",
}
_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
}
# Nothing from other servers, no scripts in attributes, and no other page may show this one in a frame.
_HEADERS = (
    ("content-security-policy", "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'"),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cache-control", "no-cache"),
)


def page_routes(settings: ServingSettings) -> dict[str, Route]:
    """Return the routes of the pages; none if the page is off."""
    if not settings.page:
        return {}
    routes = {}
    for path, name in _FILES.items():
        body = (files("labeltrees.serving") / "static" / name).read_bytes()
        handler = fixed(body, _TYPES[name.rpartition(".")[2]], _HEADERS)
        routes[path] = Route("page", {"GET": handler}, is_open=True)
    return routes
