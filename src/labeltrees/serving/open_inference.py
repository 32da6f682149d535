"""The Open Inference Protocol v2, as clients of Triton, KServe and MLServer use it.

Tensors are JSON lists, or bytes after the JSON part of the body.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Annotated, Any, NoReturn

import msgspec
import numpy as np
from starlette.requests import Request
from starlette.responses import Response

import labeltrees
from labeltrees.serving.limits import read_body
from labeltrees.serving.schemas import (
    Context,
    Items,
    JsonResponse,
    Options,
    Prediction,
    Questions,
    RequestError,
    Row,
    decode,
    encode,
    error_response,
)
from labeltrees.serving.served_model import ServedModel
from labeltrees.serving.service import Service

_HEADER_LENGTH = "inference-header-content-length"
_LARGEST = 1e30
_MAX_RANK = 8
_DTYPES = {
    "FP32": np.float32, "FP64": np.float64, "INT8": np.int8, "INT16": np.int16, "INT32": np.int32, "INT64": np.int64,
    "UINT8": np.uint8, "UINT16": np.uint16, "UINT32": np.uint32, "UINT64": np.uint64,
}  # fmt: skip
_TEXT_INPUTS = ("text", "items", "context")
_OUTPUTS = [
    {"name": "labels", "datatype": "BYTES", "shape": [-1, -1]},
    {"name": "scores", "datatype": "FP32", "shape": [-1, -1]},
]


class InputTensor(msgspec.Struct):
    """An input: its values are in `data`, or after the JSON part."""

    name: str
    shape: Annotated[list[Annotated[int, msgspec.Meta(ge=0, le=2**31)]], msgspec.Meta(max_length=_MAX_RANK)]
    datatype: str
    data: list[Any] | None = None
    parameters: dict[str, Any] = {}


class RequestedOutput(msgspec.Struct):
    """A requested output; its parameters say whether it is binary."""

    name: str
    parameters: dict[str, Any] = {}


class InferRequest(msgspec.Struct):
    """The JSON part of a request."""

    inputs: list[InputTensor]
    id: str | None = None
    parameters: dict[str, Any] = {}
    outputs: list[RequestedOutput] | None = None


_decoder = msgspec.json.Decoder(InferRequest)
_value_decoders: dict[str, Any] = {"items": msgspec.json.Decoder(Items), "context": msgspec.json.Decoder(Context)}


async def describe_server(service: Service, request: Request) -> Response:
    """Describe the server."""
    return JsonResponse({"name": "labeltrees", "version": labeltrees.__version__, "extensions": ["binary_tensor_data"]})


async def server_ready(service: Service, request: Request) -> Response:
    """Whether all models are loaded."""
    if service.registry.is_ready:
        return JsonResponse({})
    return error_response(503, "models are being loaded")


async def model_ready(service: Service, request: Request) -> Response:
    """Whether a model is loaded."""
    served = service.registry.current(request.path_params["name"])
    return JsonResponse({"name": served.name, "version": served.version, "ready": True})


async def describe_model(service: Service, request: Request) -> Response:
    """Describe the inputs and outputs of a model."""
    served = service.registry.current(request.path_params["name"])
    inputs = {"name": served.reads, "datatype": "BYTES", "shape": [-1]}
    if served.reads not in _TEXT_INPUTS:
        inputs = {"name": "features", "datatype": "FP32", "shape": [-1, served.facts.n_features]}
    return JsonResponse(
        {
            "name": served.name,
            "versions": [served.version],
            "platform": "labeltrees",
            "inputs": [inputs],
            "outputs": _OUTPUTS,
        }
    )


async def infer(service: Service, request: Request) -> Response:
    """Predict labels."""
    body = await read_body(service, request)
    read = partial(_read, service, body, request.headers.get(_HEADER_LENGTH))
    return await service.answer(request.path_params["name"], read, len(body))


def _read(service: Service, body: bytes, header_length: str | None, served: ServedModel) -> Questions:
    head, tail = _split(body, header_length)
    asked: InferRequest = decode(_decoder, head)
    kind, rows = _read_inputs(asked.inputs, tail, service.settings.max_rows, served.facts.n_features)
    options = _options(asked.parameters)
    service.sets.resolve(served, options)
    return Questions(kind, rows, options, partial(_write, asked))


def _split(body: bytes, header_length: str | None) -> tuple[bytes, memoryview]:
    """Return the JSON part of a body, and the binary tensors after it."""
    if header_length is None:
        return body, memoryview(b"")
    if not (header_length.isascii() and header_length.isdigit()) or int(header_length) > len(body):
        _fail("Inference-Header-Content-Length must be the length of the JSON part of the body")
    at = int(header_length)
    return body[:at], memoryview(body)[at:]


def _options(parameters: dict[str, Any]) -> Options:
    """Return the options among the parameters of a request; parameters of the protocol itself are left out."""
    known = set(Options.__struct_fields__) - {"path", "probabilities"}
    given = {name: value for name, value in parameters.items() if name in known}
    try:
        return msgspec.convert(given, Options)
    except msgspec.ValidationError as error:
        _fail(f"parameters: {error}")


# Input tensors


def _read_inputs(
    inputs: list[InputTensor], tail: memoryview, max_rows: int, n_features: int | None
) -> tuple[str, Sequence[Any]]:
    """Return the kind of the questions, and the questions.

    The inputs are ``text``, ``items`` or ``context`` (BYTES; the last two as JSON), or ``features`` (numbers, one row
    per question).
    """
    if len(inputs) != 1:
        _fail(f"one input expected, got {len(inputs)}")
    (tensor,) = inputs
    name = tensor.name
    values = _values(tensor, tail)
    n = tensor.shape[0] if tensor.shape else 1
    if n > max_rows:
        message = f"{n:,} questions in one request; this server takes at most {max_rows:,}"
        raise RequestError(413, message)
    if name == "features":
        return "row", _FeatureRows(tensor, values, n_features)
    if tensor.datatype != "BYTES":
        _fail(f"the input {name[:80]!r} must have the datatype BYTES, or be named features")
    texts = [_text(name, value) for value in values]
    if name in _value_decoders:
        try:
            return name, [_value_decoders[name].decode(text) for text in texts]
        except msgspec.DecodeError as error:
            _fail(f"the input {name} must hold JSON: {error}")
    return "text", texts


def _values(tensor: InputTensor, tail: memoryview) -> Any:
    """Return the values of a tensor as a flat list or array."""
    size = math.prod(tensor.shape)
    n_bytes = tensor.parameters.get("binary_data_size")
    if n_bytes is None:
        data = tensor.data or []
        is_nested = any(isinstance(value, list) for value in data)
        n = sum(len(value) if isinstance(value, list) else 1 for value in data) if is_nested else len(data)
        if n != size:
            _fail(f"the input {tensor.name[:80]!r} has {n} values; its shape needs {size}")
        return list(_flat(data)) if is_nested else data
    if not isinstance(n_bytes, int) or not 0 <= n_bytes <= len(tail):
        _fail(f"binary_data_size of the input {tensor.name[:80]!r} is not the number of its bytes")
    own = tail[:n_bytes]
    if tensor.datatype == "BYTES":
        return _read_texts(tensor, own, size)
    dtype = _DTYPES.get(tensor.datatype)
    if dtype is None or n_bytes != size * np.dtype(dtype).itemsize:
        _fail(f"the input {tensor.name[:80]!r} has {n_bytes} bytes, which do not fit its shape and datatype")
    return np.frombuffer(own, np.dtype(dtype).newbyteorder("<"))


def _flat(data: list[Any]) -> Any:
    for value in data:
        if isinstance(value, list):
            yield from value
        else:
            yield value


def _read_texts(tensor: InputTensor, own: memoryview, size: int) -> list[bytes]:
    """Return values that are each preceded by their length, 4 bytes, little-endian."""
    texts: list[bytes] = []
    at = 0
    while at + 4 <= len(own) and len(texts) < size:
        (length,) = struct.unpack_from("<I", own, at)
        texts.append(bytes(own[at + 4 : at + 4 + length]))
        at += 4 + length
    if at != len(own) or len(texts) != size:
        _fail(f"the bytes of the input {tensor.name[:80]!r} do not fit its shape")
    return texts


def _text(name: str, value: Any) -> str:
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            _fail(f"the input {name[:80]!r} holds a text that is not UTF-8")
    if not isinstance(value, str):
        _fail(f"the input {name[:80]!r} must hold texts")
    return value


class _FeatureRows(Sequence[Row]):
    """The rows of a tensor of features. Each is made when needed: all would take many times the tensor's memory."""

    def __init__(self, tensor: InputTensor, values: Any, n_features: int | None) -> None:
        if len(tensor.shape) != 2:
            _fail("the input features must have the shape [rows, features]")
        if n_features is not None and tensor.shape[1] > n_features:
            _fail(f"the input features has {tensor.shape[1]:,} features; the model has {n_features:,}")
        try:
            self._matrix = np.asarray(values, None if isinstance(values, np.ndarray) else np.float64)
        except (TypeError, ValueError, OverflowError):
            _fail("the input features must hold numbers")
        self._matrix = self._matrix.reshape(tensor.shape)

    def __len__(self) -> int:
        return len(self._matrix)

    def __getitem__(self, number: Any) -> Any:
        if number >= len(self):
            raise IndexError(number)
        row = self._matrix[number]
        where = np.flatnonzero(row)
        values = row[where].astype(np.float64)
        if not (np.abs(values) <= _LARGEST).all():
            _fail(f"the input features must hold finite numbers up to {_LARGEST:g}")
        return Row(where.tolist(), values.tolist())


# Output tensors


def _write(asked: InferRequest, served: ServedModel, found: list[Prediction], microseconds: float) -> Response:
    width = max((len(one.labels) for one in found), default=0)
    names = [name for one in found for name in _padded(map(str, one.labels), width, "")]
    scores = [score for one in found for score in _padded(one.scores, width, 0.0)]
    values: dict[str, tuple[str, list[Any]]] = {"labels": ("BYTES", names), "scores": ("FP32", scores)}
    all_binary = bool(asked.parameters.get("binary_data_output"))
    outputs = asked.outputs if asked.outputs is not None else [RequestedOutput(name) for name in values]
    tensors: dict[str, dict[str, Any]] = {}
    tails: dict[str, bytes] = {}
    for output in outputs:
        if output.name not in values:
            _fail(f"there is no output {output.name[:80]!r}; there are labels and scores")
        datatype, flat = values[output.name]
        tensor: dict[str, Any] = {"name": output.name, "datatype": datatype, "shape": [len(found), width]}
        if output.parameters.get("binary_data", all_binary):
            tails[output.name] = _as_bytes(datatype, flat)
            tensor["parameters"] = {"binary_data_size": len(tails[output.name])}
        else:
            tensor["data"] = flat
        tensors[output.name] = tensor
    answer: dict[str, Any] = {
        "model_name": served.name,
        "model_version": served.version,
        "id": asked.id or "",
        "outputs": list(tensors.values()),
    }
    without = [row for row, one in enumerate(found) if one.no_features]
    if without:
        answer["parameters"] = {"no_features": without}
    if not tails:
        return JsonResponse(answer)
    head = encode(answer)
    headers = {_HEADER_LENGTH: str(len(head))}
    return Response(b"".join([head, *tails.values()]), headers=headers, media_type="application/octet-stream")


def _padded(values: Iterable[Any], width: int, filler: Any) -> list[Any]:
    listed = list(values)
    return listed + [filler] * (width - len(listed))


def _as_bytes(datatype: str, flat: list[Any]) -> bytes:
    if datatype == "FP32":
        return np.array(flat, "<f4").tobytes()
    encoded = [text.encode() for text in flat]
    return b"".join(struct.pack("<I", len(text)) + text for text in encoded)


def _fail(message: str) -> NoReturn:
    raise RequestError(400, message)
