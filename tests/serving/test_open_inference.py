"""The Open Inference Protocol: JSON and binary tensors, and a real client."""

import struct

import numpy as np
import pytest

from labeltrees.serving import make_app

INFER = "/v2/models/model/infer"


def texts_tensor(texts):
    return {"name": "text", "shape": [len(texts)], "datatype": "BYTES", "data": texts}


@pytest.fixture(scope="module")
def app(text_model):
    return make_app(text_model)


def test_json_tensors_hold_the_answers_of_the_model(app, text_model, post):
    texts = ["red apple", "green pear"]
    body = {"id": "7", "inputs": [texts_tensor(texts)], "parameters": {"k": 3}}
    answer = post(app, INFER, body).json()
    labels, scores = text_model.predict_topk(texts, 3)
    outputs = {output["name"]: output for output in answer["outputs"]}
    assert (answer["id"], answer["model_name"]) == ("7", "model")
    assert outputs["labels"]["shape"] == outputs["scores"]["shape"] == [2, 3]
    assert outputs["labels"]["data"] == labels.ravel().tolist()
    np.testing.assert_allclose(outputs["scores"]["data"], scores.ravel(), rtol=1e-5)


def test_binary_tensors_hold_the_same(app, post):
    texts = [b"red apple", b"green pear"]
    tail = b"".join(struct.pack("<I", len(text)) + text for text in texts)
    head = b'{"inputs":[{"name":"text","shape":[2,1],"datatype":"BYTES","parameters":{"binary_data_size":%d}}],' % len(
        tail
    )
    head += b'"outputs":[{"name":"scores","parameters":{"binary_data":true}},{"name":"labels"}],"parameters":{"k":3}}'
    reply = post(app, INFER, head + tail, headers={"Inference-Header-Content-Length": str(len(head))})
    assert reply.status_code == 200, reply.text
    at = int(reply.headers["inference-header-content-length"])
    assert len(np.frombuffer(reply.content[at:], "<f4")) == 6


def test_rows_and_items(row_model, item_model, post):
    app = make_app({"rows": row_model, "shop": item_model})
    x = np.random.default_rng(3).random((2, 8)).astype(np.float32)
    tensor = {"name": "features", "shape": [2, 8], "datatype": "FP32", "data": x.tolist()}
    answer = post(app, "/v2/models/rows/infer", {"inputs": [tensor], "parameters": {"k": 4}}).json()
    labels = answer["outputs"][0]["data"]
    assert labels == [str(label) for label in row_model.predict_topk(x, 4)[0].ravel()]
    tensor = {"name": "items", "shape": [1], "datatype": "BYTES", "data": ['["bread", "milk"]']}
    answer = post(app, "/v2/models/shop/infer", {"inputs": [tensor], "parameters": {"k": 1}}).json()
    assert answer["outputs"][0]["data"] == item_model.predict_topk([["bread", "milk"]], 1)[0].ravel().tolist()


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"inputs": []},
        {"inputs": [texts_tensor(["a"]), texts_tensor(["b"])]},
        {"inputs": [{"name": "text", "shape": [2], "datatype": "BYTES", "data": ["a"]}]},
        {"inputs": [{"name": "text", "shape": [1], "datatype": "FP32", "data": [1]}]},
        {"inputs": [{"name": "text", "shape": [1], "datatype": "BYTES", "data": [1]}]},
        {"inputs": [{"name": "text", "shape": [1], "datatype": "BYTES", "parameters": {"binary_data_size": 9}}]},
        {"inputs": [{"name": "features", "shape": [1, 2], "datatype": "FP32", "data": ["a", "b"]}]},
        {"inputs": [{"name": "features", "shape": [2], "datatype": "FP32", "data": [1, 2]}]},
        {"inputs": [{"name": "items", "shape": [1], "datatype": "BYTES", "data": ["["]}]},
        {"inputs": [texts_tensor(["a"])], "outputs": [{"name": "other"}]},
        {"inputs": [texts_tensor(["a"])], "parameters": {"k": "many"}},
    ],
)
def test_wrong_requests_are_refused(app, post, body):
    reply = post(app, INFER, body)
    assert reply.status_code == 400
    assert reply.json()["error"]


def test_health_and_metadata(app, get):
    for path in ("/v2", "/v2/health/live", "/v2/health/ready", "/v2/models/model/ready"):
        assert get(app, path).status_code == 200
    facts = get(app, "/v2/models/model").json()
    assert [entry["name"] for entry in facts["inputs"] + facts["outputs"]] == ["text", "labels", "scores"]


def test_tritonclient_gets_the_answers_of_the_model(server, text_model):
    http = pytest.importorskip("tritonclient.http", reason="tritonclient[http] is not installed")
    with http.InferenceServerClient(f"127.0.0.1:{server.port}") as client:
        assert client.is_server_live()
        assert client.is_server_ready()
        assert client.is_model_ready("fruit")
        assert client.get_model_metadata("fruit")["outputs"][1]["datatype"] == "FP32"
        texts = np.array([b"red apple", "grün pear".encode()], dtype=object)
        for binary in (True, False):
            question = http.InferInput("text", [2], "BYTES")
            question.set_data_from_numpy(texts, binary_data=binary)
            wanted = [http.InferRequestedOutput(name, binary_data=binary) for name in ("labels", "scores")]
            answer = client.infer("fruit", [question], outputs=wanted, parameters={"k": 3})
            labels, scores = text_model.predict_topk(["red apple", "grün pear"], 3)
            rows = answer.as_numpy("labels").tolist()
            found = [[name.decode() if binary else name for name in row] for row in rows]
            assert found == labels.tolist()
            np.testing.assert_allclose(answer.as_numpy("scores"), scores, rtol=1e-5)
