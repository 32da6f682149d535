"""The Open Inference Protocol v2, as clients for Triton, KServe and MLServer speak it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import msgspec

import labeltrees
from labeltrees.serving.answers import Prediction
from labeltrees.serving.errors import RequestError
from labeltrees.serving.http import (
    FindHeader,
    Handler,
    Reply,
    Route,
    Work,
    decode_json,
    encode,
    error_reply,
    json_reply,
)
from labeltrees.serving.questions import Options
from labeltrees.serving.registry import Place
from labeltrees.serving.served_model import ServedModel
from labeltrees.serving.service import Service
from labeltrees.serving.tensors import InputTensor, read_questions, write_tensors

_HEADER_LENGTH = "inference-header-content-length"


class RequestedOutput(msgspec.Struct):
    """An output that the client wants, and how."""

    name: str
    parameters: dict[str, Any] = {}


class InferRequest(msgspec.Struct):
    """The JSON part of a request."""

    inputs: list[InputTensor]
    id: str | None = None
    parameters: dict[str, Any] = {}
    outputs: list[RequestedOutput] | None = None


_decoder = msgspec.json.Decoder(InferRequest)
_INPUTS = {
    "text": [{"name": "text", "datatype": "BYTES", "shape": [-1]}],
    "items": [{"name": "items", "datatype": "BYTES", "shape": [-1]}],
    "context": [{"name": "context", "datatype": "BYTES", "shape": [-1]}],
}
_OUTPUTS = [
    {"name": "labels", "datatype": "BYTES", "shape": [-1, -1]},
    {"name": "scores", "datatype": "FP32", "shape": [-1, -1]},
]


def inference_routes(service: Service) -> dict[str, Route]:
    """Return the routes of the protocol. A version in a path must be the one that answers now."""
    routes = {
        "/v2": Route("models", {"GET": _server}),
        "/v2/health/live": Route("health", {"GET": _server}, is_open=True, is_limited=False),
        "/v2/health/ready": Route("health", {"GET": _server_ready(service)}, is_open=True, is_limited=False),
    }
    for name, place in service.registry.places.items():
        base = f"/v2/models/{name}"
        routes[base] = Route("models", {"GET": _metadata(place)})
        routes[f"{base}/ready"] = Route("health", {"GET": _model_ready(place)}, is_open=True, is_limited=False)
        routes[f"{base}/infer"] = Route("infer", {"POST": _infer(service, place)})
    return routes


def _server(body: bytes, header: FindHeader) -> Reply:
    return json_reply({"name": "labeltrees", "version": labeltrees.__version__, "extensions": ["binary_tensor_data"]})


def _server_ready(service: Service) -> Handler:
    def handle(body: bytes, header: FindHeader) -> Reply:
        return json_reply({}) if service.registry.is_ready else error_reply(503, "models are being loaded")

    return handle


def _model_ready(place: Place) -> Handler:
    def handle(body: bytes, header: FindHeader) -> Reply:
        return json_reply({"name": place.name, "version": place.get().version, "ready": True})

    return handle


def _metadata(place: Place) -> Handler:
    def handle(body: bytes, header: FindHeader) -> Reply:
        served = place.get()
        return json_reply(
            {
                "name": served.name,
                "versions": [served.version],
                "platform": "labeltrees",
                "inputs": _INPUTS.get(served.reads, _row_inputs(served)),
                "outputs": _OUTPUTS,
            }
        )

    return handle


def _row_inputs(served: ServedModel) -> list[dict[str, Any]]:
    return [{"name": "features", "datatype": "FP32", "shape": [-1, served.facts.n_features]}]


def _infer(service: Service, place: Place) -> Handler:
    def handle(body: bytes, header: FindHeader) -> Reply | Work:
        head, tail = _split(body, header)
        asked: InferRequest = decode_json(_decoder, head)
        kind, questions = read_questions(asked.inputs, tail, service.settings.max_rows)
        options = _options(asked.parameters)
        return service.answer(place.get(), kind, questions, options, len(body), partial(_reply, asked))

    return handle


def _split(body: bytes, header: FindHeader) -> tuple[bytes, memoryview]:
    """Return the JSON part of a body, and the binary tensors behind it."""
    length = header(_HEADER_LENGTH)
    if length is None:
        return body, memoryview(b"")
    if not (length.isascii() and length.isdigit()) or int(length) > len(body):
        message = "Inference-Header-Content-Length must be the length of the JSON part of the body"
        raise RequestError(400, message)
    at = int(length)
    return body[:at], memoryview(body)[at:]


def _options(parameters: dict[str, Any]) -> Options:
    """Return the options among the parameters of a request; parameters of the protocol itself are left out."""
    known = set(Options.__struct_fields__) - {"path", "probabilities"}
    given = {name: value for name, value in parameters.items() if name in known}
    try:
        return msgspec.convert(given, Options)
    except msgspec.ValidationError as error:
        message = f"parameters: {error}"
        raise RequestError(400, message) from None


def _reply(asked: InferRequest, served: ServedModel, found: list[Prediction], microseconds: float) -> Reply:
    width = max((len(one.labels) for one in found), default=0)
    names = [name for one in found for name in _padded(map(str, one.labels), width, "")]
    scores = [score for one in found for score in _padded(one.scores, width, 0.0)]
    values: dict[str, tuple[str, list[Any]]] = {"labels": ("BYTES", names), "scores": ("FP32", scores)}
    all_binary = bool(asked.parameters.get("binary_data_output"))
    outputs = asked.outputs if asked.outputs is not None else [RequestedOutput(name) for name in values]
    wanted = {}
    for output in outputs:
        if output.name not in values:
            message = f"there is no output {output.name[:80]!r}; there are labels and scores"
            raise RequestError(400, message)
        wanted[output.name] = bool(output.parameters.get("binary_data", all_binary))
    tensors, tail = write_tensors(values, wanted, [len(found), width])
    head = encode(
        {"model_name": served.name, "model_version": served.version, "id": asked.id or "", "outputs": tensors}
    )
    if not tail:
        return Reply(head)
    headers = (("content-type", "application/octet-stream"), (_HEADER_LENGTH, str(len(head))))
    return Reply(head + tail, 200, headers)


def _padded(values: Iterable[Any], width: int, filler: Any) -> list[Any]:
    listed = list(values)
    return listed + [filler] * (width - len(listed))
