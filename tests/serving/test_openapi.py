"""The OpenAPI document describes the routes that there are."""

import re

from labeltrees.serving import make_app


def test_every_path_of_the_document_is_a_route(text_model, get):
    app = make_app(text_model)
    document = get(app, "/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    for path, operations in document["paths"].items():
        methods = app.app._routes[path.replace("{name}", "model")].methods
        assert {method.upper() for method in operations} <= set(methods)


def test_every_reference_leads_somewhere(text_model, get):
    text = get(make_app(text_model), "/openapi.json").text
    schemas = make_app(text_model).app._routes  # a second application does not disturb the first
    assert schemas
    names = set(re.findall(r'"#/components/schemas/(\w+)"', text))
    document = get(make_app(text_model), "/openapi.json").json()
    assert names <= set(document["components"]["schemas"])
    assert "agreement" in document["components"]["schemas"]["PredictRequest"]["properties"]
