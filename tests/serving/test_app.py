"""What holds for every request: limits, keys, methods, stopping."""

import asyncio
import json
import threading
import time
from types import SimpleNamespace

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from labeltrees.serving import ServingSettings, make_app
from labeltrees.serving.app import make_starlette
from labeltrees.serving.limits import Keys
from labeltrees.serving.registry import Registry
from labeltrees.serving.schemas import Options
from tests.serving.conftest import ask

PREDICT = "/v1/models/model/predict"
QUESTION = {"text": "red apple"}


def raw(app, messages, path=PREDICT, method="POST", headers=()):
    """Call an application with given messages; return the status and the body."""

    async def call():
        waiting = list(messages)
        sent = []

        async def receive():
            if not waiting:
                await asyncio.sleep(60)
            return waiting.pop(0)

        async def send(message):
            sent.append(message)

        scope = {"type": "http", "method": method, "path": path, "headers": list(headers), "query_string": b""}
        await app(scope, receive, send)
        return sent

    sent = asyncio.run(call())
    return (sent[0]["status"], json.loads(sent[1]["body"])) if sent else None


@pytest.mark.parametrize(
    "path", ["/nothing", "/v1/models/other", "/static/../settings.py", "/static/%2e%2e/keys.py", "//etc/passwd"]
)
def test_other_paths_are_not_found(text_model, get, path):
    reply = get(make_app(text_model), path)
    assert reply.status_code == 404
    assert "error" in reply.json()


def test_unknown_models_are_not_found(text_model, post):
    reply = post(make_app(text_model), "/v1/models/other/predict", QUESTION)
    assert (reply.status_code, "no model other" in reply.json()["error"]) == (404, True)


def test_other_methods_are_refused_with_those_allowed(text_model):
    app = make_app(text_model)
    reply = ask(app, "DELETE", PREDICT)
    assert (reply.status_code, reply.headers["allow"]) == (405, "POST")
    head = ask(app, "HEAD", "/health")
    assert (head.status_code, head.content) == (200, b"")


def test_it_can_be_mounted_under_a_path(text_model, post):
    for application in (
        TestClient(make_app(text_model), root_path="/labels"),
        TestClient(Starlette(routes=[Mount("/labels", make_app(text_model))])),
    ):
        assert application.post(f"/labels{PREDICT}", json=QUESTION).status_code == 200


def test_a_body_in_parts_is_joined_and_a_long_one_refused(text_model):
    app = make_app(text_model, settings=ServingSettings(max_body=100, max_seconds=0.2))
    body = json.dumps(QUESTION).encode()
    parts = [{"type": "http.request", "body": body[i : i + 5], "more_body": True} for i in range(0, len(body), 5)]
    status, answer = raw(app, [*parts, {"type": "http.request", "body": b""}])
    assert (status, len(answer["labels"])) == (200, 5)
    for more in (True, False):
        status, answer = raw(app, [{"type": "http.request", "body": b" " * 101, "more_body": more}])
        assert status == 413
        assert "100 bytes" in answer["error"]


def test_a_slow_sender_is_refused(text_model):
    app = make_app(text_model, settings=ServingSettings(max_seconds=0.05))
    for sent in ([], [{"type": "http.request", "body": b"{", "more_body": True}]):
        status, answer = raw(app, sent)
        assert status == 408
        assert "0.05 seconds" in answer["error"]


def test_a_body_that_is_cut_off_is_refused(text_model):
    part = {"type": "http.request", "body": b"{", "more_body": True}
    status, answer = raw(make_app(text_model), [part, {"type": "http.disconnect"}])
    assert status == 400
    assert "complete" in answer["error"]


def test_too_many_requests_at_a_time_are_refused(text_model, monkeypatch):
    app = make_app(text_model, settings=ServingSettings(max_requests=2))
    gate = threading.Event()
    served = app.state.service.registry.current("model")
    slow = served.answer
    monkeypatch.setattr(served, "answer", lambda *given: gate.wait(20) and slow(*given))

    async def send_all():
        import httpx2

        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://test") as client:
            long = {"texts": ["red apple"] * 20}  # in another thread
            waiting = [asyncio.create_task(client.post(PREDICT, json=long)) for _ in range(2)]
            await asyncio.sleep(0.1)
            refused = await client.post(PREDICT, json=QUESTION)
            alive = await client.get("/health")
            gate.set()
            return refused, alive, [reply.status_code for reply in await asyncio.gather(*waiting)]

    refused, alive, statuses = asyncio.run(send_all())
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    assert alive.status_code == 200
    assert statuses == [200, 200]


def slow(predictor, text):
    time.sleep(0.05)
    return predictor.lists(text)


def test_a_request_that_takes_too_long_is_refused(text_model, post, monkeypatch):
    app = make_app(text_model, settings=ServingSettings(max_seconds=0.5))
    served = app.state.service.registry.current("model")
    find = served.predictor(Options())
    monkeypatch.setattr(
        served, "predictor", lambda options: SimpleNamespace(lists=lambda text: slow(find, text), n_no_features=0)
    )
    reply = post(app, PREDICT, {"texts": ["red apple"] * 20})
    assert reply.status_code == 408
    assert "fewer" in reply.json()["error"]


def test_keys_are_needed_where_there_are_some(text_model, get, post, tmp_path):
    file = tmp_path / "keys.txt"
    file.write_text("# of the shop\nfirst-key\n\nsecond-key\n")
    app = make_app(text_model, api_keys=file)
    for header in ({}, {"Authorization": "Bearer wrong"}, {"X-API-Key": ""}, {"Authorization": "first-key"}):
        assert post(app, PREDICT, QUESTION, headers=header).status_code == 401
    for header in ({"Authorization": "Bearer second-key"}, {"X-API-Key": "first-key"}):
        assert post(app, PREDICT, QUESTION, headers=header).status_code == 200
    assert get(app, "/metrics").status_code == get(app, "/v1/models").status_code == 401
    assert get(app, "/health").status_code == get(app, "/ready").status_code == get(app, "/").status_code == 200


def test_other_origins_are_allowed_only_if_named(text_model, post):
    origin = {"Origin": "https://a.example"}
    assert "access-control-allow-origin" not in post(make_app(text_model), PREDICT, QUESTION, headers=origin).headers
    app = make_app(text_model, allowed_origins=["https://a.example"])
    assert post(app, PREDICT, QUESTION, headers=origin).headers["access-control-allow-origin"] == "https://a.example"
    other = post(app, PREDICT, QUESTION, headers={"Origin": "https://b.example"})
    assert "access-control-allow-origin" not in other.headers
    preflight = ask(app, "OPTIONS", PREDICT, headers={**origin, "Access-Control-Request-Method": "POST"})
    assert preflight.status_code == 200
    assert "POST" in preflight.headers["access-control-allow-methods"]


def test_the_access_log_is_one_json_line_without_the_text(text_model, post, capsys):
    post(make_app(text_model, settings=ServingSettings(access_log=True)), PREDICT, QUESTION)
    line = json.loads(capsys.readouterr().err)
    assert (line["path"], line["status"], line["method"]) == (PREDICT, 200, "POST")
    assert "apple" not in str(line)
    post(make_app(text_model), PREDICT, QUESTION)
    assert capsys.readouterr().err == ""


def test_a_fault_of_the_server_is_a_500_without_details(text_model, post, monkeypatch, caplog):
    app = make_app(text_model)
    served = app.state.service.registry.current("model")
    monkeypatch.setattr(served, "answer", lambda *_: 1 / 0)
    reply = post(app, PREDICT, QUESTION)
    assert reply.status_code == 500
    assert "ZeroDivision" not in reply.text
    assert "ZeroDivisionError" in caplog.text


def test_it_is_unready_while_models_are_loaded(model_folder, get, post):
    registry = Registry({"model": model_folder}, load=False)
    app = make_starlette(registry, ServingSettings(), api_keys=Keys([]))
    assert get(app, "/health").status_code == 200
    assert get(app, "/ready").status_code == post(app, PREDICT, QUESTION).status_code == 503
    assert get(app, "/v1/models").json()["loading"] == ["model"]
    registry.refresh()
    assert get(app, "/ready").status_code == post(app, PREDICT, QUESTION).status_code == 200
