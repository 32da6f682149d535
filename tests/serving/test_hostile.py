"""Hostile requests are refused or answered; the event loop stays free, and memory in proportion to the body."""

import asyncio
import json
import math
import re
import sys
import threading
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import labeltrees as lt
from benchmarks.serve.hostile_bodies import (
    BATCH,
    EXPLAIN,
    INFER,
    ITEMS,
    PREDICT,
    ROW_INFER,
    SET,
    SUGGEST,
    hostile_bodies,
    method_of,
)
from labeltrees.serving import ServingSettings, make_app
from labeltrees.serving.annif import _unquote
from tests.serving.conftest import ask, make_texts

MIB = 2**20


BODIES = hostile_bodies(3 * MIB)


@pytest.fixture(scope="module")
def app(text_model, row_model, item_model, tmp_path_factory):
    settings = ServingSettings(max_body=4 * MIB, sets=str(tmp_path_factory.mktemp("sets")))
    return make_app({"fruit": text_model, "rows": row_model, "shop": item_model}, settings=settings)


def call(app, path, body, method="POST"):
    """Call an application; return the status, the body, and the number of calls in the thread of the event loop."""
    sent, n_calls = [], 0

    def count(frame, event, argument):
        nonlocal n_calls
        n_calls += event in ("call", "c_call")

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        sent.append(message)

    async def main():
        headers = [(b"content-length", b"%d" % len(body))]
        scope = {"type": "http", "method": method, "path": path, "headers": headers, "query_string": b""}
        sys.setprofile(count)
        try:
            await app(scope, receive, send)
        finally:
            sys.setprofile(None)

    asyncio.run(main())
    return sent[0]["status"], b"".join(message["body"] for message in sent[1:]), n_calls


@pytest.mark.parametrize("name", BODIES)
def test_any_body_leaves_the_event_loop_free_and_takes_little_memory(app, name, monkeypatch):
    path, body = BODIES[name]
    loop_thread = threading.get_ident()

    def decode_elsewhere(module, function):
        original = getattr(module, function)

        def checked(*given):
            assert threading.get_ident() != loop_thread, f"{function} of a large body in the event loop"
            return original(*given)

        monkeypatch.setattr(module, function, checked)

    from labeltrees.serving import annif, json_api, open_inference, sets

    readers = (
        (annif, "_read_form"),
        (annif, "decode"),
        (json_api, "decode"),
        (open_inference, "decode"),
        (sets, "decode"),
    )
    for module, function in readers:
        decode_elsewhere(module, function)
    tracemalloc.start()
    try:
        status, answer, n_calls = call(app, path, body, method_of(path))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert status in (200, 400, 413), answer[:200]
    assert n_calls < 1000
    assert peak < 10 * max(len(body), MIB)  # short texts of some bytes take 60 bytes each


def test_bodies_are_tried_at_every_route_that_reads_one(app):
    tried = {(method_of(path), re.sub(r"/(fruit|rows|shop|stock)", "/{name}", path)) for path, _ in BODIES.values()}
    routes = {(method, route.path) for route in app.routes for method in route.methods or ()}
    assert {one for one in routes if one[0] in ("POST", "PUT", "PATCH")} == tried
    page = Path(__file__).parents[2] / "docs" / "reliability.md"
    assert f"{len(BODIES)} kinds of bodies" in page.read_text("utf-8")


def test_other_routes_leave_a_body_alone(app):
    paths = [route.path.replace("{name}", "fruit") for route in app.routes if "GET" in (route.methods or ())]
    for path in paths:
        status, _, n_calls = call(app, path, b"[" * MIB, "GET")
        assert status == (404 if path == "/v1/sets/fruit" else 200), path
        assert n_calls < 1000
    assert len(paths) > 15


def test_many_rows_of_numbers_are_accepted(row_model, post):
    rows = [{"indices": list(range(8)), "values": [1, 2, 3, 0.5, 5, 6, 7, 300]}] * 30_000
    app = make_app(row_model, settings=ServingSettings(max_rows=30_000, max_labels=10**6))
    reply = post(app, "/v1/models/model/predict", {"rows": rows, "k": 2})
    assert (reply.status_code, len(reply.json()["results"])) == (200, 30_000)


@pytest.mark.parametrize("shape", [[2] * 9, [2**31] * 8, [2**31, 2**31], [1] * 500, [10**400]])
def test_shapes_are_bounded(app, post, shape):
    tensor = {"name": "text", "datatype": "BYTES", "shape": shape, "data": ["a"]}
    reply = post(app, INFER, {"inputs": [tensor]})
    assert reply.status_code == 400
    assert math.prod(shape) != 1 or "8" in reply.json()["error"]


def test_binary_features_are_read_row_by_row(app, row_model, post):
    x = np.zeros((200, 8), np.uint8)
    x[np.arange(200), np.arange(200) % 8] = 1
    head = json.dumps(
        {
            "inputs": [
                {
                    "name": "features",
                    "datatype": "UINT8",
                    "shape": [200, 8],
                    "parameters": {"binary_data_size": x.size},
                }
            ],
            "parameters": {"k": 2},
        }
    ).encode()
    reply = post(app, ROW_INFER, head + x.tobytes(), headers={"Inference-Header-Content-Length": str(len(head))})
    expected = row_model.predict_topk(x.astype(np.float32), 2)[0].ravel()
    assert reply.json()["outputs"][0]["data"] == [str(label) for label in expected]
    wide = {"name": "features", "datatype": "FP32", "shape": [1, 9], "data": [1] * 9}
    assert post(app, ROW_INFER, {"inputs": [wide]}).status_code == 400


def test_escapes_of_forms_are_decoded_across_pieces(monkeypatch):
    from urllib.parse import quote, unquote_to_bytes

    from labeltrees.serving import annif

    rng = np.random.default_rng(0)
    for size in (3, 4, 5, 7, 64):
        monkeypatch.setattr(annif, "_PIECE", size)
        for _ in range(50):
            text = "".join(rng.choice(list("aé€%+ \U0001f600"), size=20))
            quoted = quote(text).encode()
            assert _unquote(quoted) == text.encode() == unquote_to_bytes(quoted)
            assert _unquote(b"%4" + quoted) == unquote_to_bytes(b"%4" + quoted)
    assert _unquote(b"a+b%2B") == b"a b+"


def test_answers_are_limited_in_labels_and_bytes(text_model, post):
    texts = ["red apple"] * 50
    app = make_app(text_model, settings=ServingSettings(max_labels=100))
    assert post(app, "/v1/models/model/predict", {"texts": texts, "k": 2}).status_code == 200
    reply = post(app, "/v1/models/model/predict", {"texts": texts, "k": 3})
    assert (reply.status_code, "100" in reply.json()["error"]) == (413, True)
    app = make_app(text_model, settings=ServingSettings(max_answer=500))
    assert post(app, "/v1/models/model/predict", {"text": "red", "k": 2}).status_code == 200
    reply = post(app, "/v1/models/model/predict", {"texts": texts})
    assert (reply.status_code, "500 bytes" in reply.json()["error"]) == (413, True)


def test_explanations_and_names_of_items_are_limited_in_bytes(text_model, item_model, post):
    app = make_app({"fruit": text_model, "shop": item_model}, settings=ServingSettings(max_answer=20))
    for path, body in ((EXPLAIN, {"text": "red apple"}), (ITEMS, {"text": ""})):
        reply = post(app, path, body)
        assert (reply.status_code, "20 bytes" in reply.json()["error"]) == (413, True), path


def test_paths_are_quoted_only_in_part(text_model):
    app = make_app(text_model)
    for path in ("/" + "a" * 10_000, f"/v1/models/{'a' * 10_000}/predict", f"/v1/models/{'a' * 10_000}"):
        reply = ask(app, "GET", path)
        assert reply.status_code in (404, 405)
        assert len(reply.content) < 500


@pytest.mark.parametrize("path", [PREDICT, INFER, SUGGEST, BATCH, EXPLAIN, SET])
def test_bodies_above_16_kib_are_decoded_outside_the_event_loop(app, path, monkeypatch):
    from labeltrees.serving import annif, json_api, open_inference, sets

    threads = []
    readers = [(annif, "_read_form"), *((module, "decode") for module in (annif, json_api, open_inference, sets))]
    for module, function in readers:
        original = getattr(module, function)

        def noted(*given, original=original):
            threads.append(threading.get_ident())
            return original(*given)

        monkeypatch.setattr(module, function, noted)
    start = b"text=" if path == SUGGEST else b'{"text":"'
    call(app, path, start + b"a" * (16_385 - len(start)), method_of(path))
    assert len(threads) == (0 if path == EXPLAIN else 1)  # explain refuses it without decoding
    assert threading.get_ident() not in threads


def test_long_bodies_and_answers_are_limited_in_total(text_model, post):
    app = make_app(text_model, settings=ServingSettings(max_buffered=100_000))
    service = app.state.service
    path = "/v1/models/model/predict"
    assert post(app, path, {"text": "a" * 60_000}).status_code == 200
    assert post(app, path, {"text": "a" * 60_000}).status_code == 200  # the first one has ended
    assert post(app, path, {"text": "a" * 110_000}).status_code == 429
    many = {"texts": ["red apple pear"] * 900, "k": 10}
    assert post(app, path, many).status_code == 429  # the answer is longer
    assert service._n_buffered == 0


def test_an_answer_that_is_not_read_is_given_up(text_model, caplog):
    app = make_app(text_model, settings=ServingSettings(max_seconds=0.5))
    body = json.dumps({"texts": ["red apple"] * 900}).encode()
    sent, progress = [], []

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        sent.append(message)
        progress.append(app.state.service.metrics.in_progress)
        if len(sent) == 3:
            await asyncio.sleep(60)  # the client reads no more

    scope = {"type": "http", "method": "POST", "path": "/v1/models/model/predict", "headers": [], "query_string": b""}
    asyncio.run(app(scope, receive, send))
    assert len(sent) == 3
    assert sent[1]["more_body"]
    assert max(len(message.get("body", b"")) for message in sent) <= 65_536
    assert progress == [1, 1, 1]  # it counts as a request until then
    assert app.state.service.metrics.in_progress == app.state.service._n_buffered == 0
    assert "did not read" in caplog.text


def test_long_answers_arrive_complete(text_model, post):
    app = make_app(text_model)
    texts, _ = make_texts(900, seed=3)
    found = post(app, "/v1/models/model/predict", {"texts": texts, "k": 5}).json()["results"]
    labels, _ = text_model.predict_topk(texts, 5)
    assert [one["labels"] for one in found] == [[name for name in row if name is not None] for row in labels.tolist()]


def test_suggestions_without_a_limit_obey_max_k(text_model):
    app = make_app(text_model, settings=ServingSettings(max_k=3))
    reply = ask(app, "POST", "/v1/projects/model/suggest", data={"text": "red apple"})
    assert (reply.status_code, len(reply.json()["results"])) == (200, 3)


def test_half_a_surrogate_pair_in_label_texts_is_replaced(text_model, post):
    app = make_app(text_model, label_texts={"is-red": "Rot \ud83d", "is-plum": "Plum \U0001f600"})
    found = post(app, "/v1/models/model/predict", {"text": "red", "candidates": ["is-red", "is-plum"]}).json()
    texts = dict(zip(found["labels"], found["label_texts"], strict=True))
    assert texts["is-plum"] == "Plum \U0001f600"
    assert texts["is-red"].startswith("Rot ")
    assert texts["is-red"].encode()


def test_names_of_models_need_a_key(text_model, get, post):
    app = make_app({"secret-name": text_model}, api_keys=["key"])
    key = {"X-API-Key": "key"}
    for path in ("/openapi.json", "/health", "/ready", "/v2/health/ready", "/docs", "/"):
        reply = get(app, path)
        assert (reply.status_code, "secret-name" in reply.text) == (200, False)
    for name in ("secret-name", "other"):
        for path in (f"/v2/models/{name}/ready", f"/v2/models/{name}", f"/v1/models/{name}", f"/v1/projects/{name}"):
            assert get(app, path).status_code == 401
        assert post(app, f"/v1/models/{name}/predict", {"text": "a"}).status_code == 401
    assert get(app, "/v2/models/secret-name/ready", headers=key).status_code == 200
    assert get(app, "/health", headers=key).json()["models"]["secret-name"]["fault"] is None


def test_questions_without_known_words_are_flagged(text_model, item_model, post):
    app = make_app({"fruit": text_model, "shop": item_model})
    for text, is_flagged in (("", True), ("xyzzy", True), ("red xyzzy", False)):
        for options in ({}, {"max_chunks": 50}):
            assert post(app, PREDICT, {"text": text, **options}).json().get("no_features", False) is is_flagged
        assert ask(app, "POST", SUGGEST, data={"text": text}).json().get("no_features", False) is is_flagged
    found = post(app, PREDICT, {"texts": ["red", "", "plum", "xyzzy"]}).json()["results"]
    assert [one.get("no_features", False) for one in found] == [False, True, False, True]
    tensor = {"name": "text", "shape": [3], "datatype": "BYTES", "data": ["red", "", "plum"]}
    assert post(app, INFER, {"inputs": [tensor]}).json()["parameters"] == {"no_features": [1]}
    assert post(app, "/v1/models/shop/predict", {"items": ["unknown"]}).json()["no_features"] is True


def test_a_text_model_flags_them_too(post):
    texts, labels = make_texts()
    model = lt.TextLabelTreeClassifier(dim=8, epochs=2, min_count=1, n_jobs=1).fit(texts, labels)
    app = make_app({"fruit": model})
    assert post(app, PREDICT, {"text": "xyzzy"}).json().get("no_features") is True
    assert "no_features" not in post(app, PREDICT, {"text": "red"}).json()
