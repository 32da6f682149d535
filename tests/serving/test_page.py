"""The files of the page."""

import re

from labeltrees.serving import ServingSettings, make_app


def test_the_page_loads_nothing_from_elsewhere(text_model, get):
    app = make_app(text_model)
    for path in (
        "/",
        "/docs",
        "/static/page.css",
        "/static/page.js",
        "/static/tree.js",
        "/static/items.js",
        "/static/docs.js",
    ):
        reply = get(app, path)
        assert reply.status_code == 200
        assert "default-src 'self'" in reply.headers["content-security-policy"]
        addresses = set(re.findall(r"https?://[^\s\"'`]+", reply.text)) - {"http://www.w3.org/2000/svg"}
        assert not addresses
        for loaded in re.findall(r'(?:src|href)="(/[^"]+)"', reply.text):
            assert get(app, loaded).status_code == 200


def test_the_page_can_be_switched_off(text_model, get):
    app = make_app(text_model, settings=ServingSettings(page=False))
    assert get(app, "/").status_code == 404
    assert get(app, "/openapi.json").status_code == 200
