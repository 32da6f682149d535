"""The OpenAPI document describes the routes that there are."""

import re

from labeltrees.serving import make_app


def test_every_path_of_the_document_is_a_route(text_model, get):
    app = make_app(text_model)
    document = get(app, "/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    for path, operations in document["paths"].items():
        methods = {method for route in app.routes if route.path == path for method in route.methods}
        assert {method.upper() for method in operations} <= methods


def test_every_reference_leads_somewhere(text_model, get):
    text = get(make_app(text_model), "/openapi.json").text
    names = set(re.findall(r'"#/components/schemas/(\w+)"', text))
    document = get(make_app(text_model), "/openapi.json").json()
    assert names <= set(document["components"]["schemas"])
    assert "agreement" in document["components"]["schemas"]["PredictRequest"]["properties"]
