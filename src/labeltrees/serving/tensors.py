"""Tensors of the Open Inference Protocol: as JSON lists, or as bytes behind the JSON."""

from __future__ import annotations

import math
import struct
from typing import Annotated, Any, NoReturn

import msgspec
import numpy as np

from labeltrees.serving.errors import RequestError
from labeltrees.serving.questions import Context, Items, Row

_DTYPES = {
    "FP32": np.float32, "FP64": np.float64, "INT8": np.int8, "INT16": np.int16, "INT32": np.int32, "INT64": np.int64,
    "UINT8": np.uint8, "UINT16": np.uint16, "UINT32": np.uint32, "UINT64": np.uint64,
}  # fmt: skip
_items, _context = msgspec.json.Decoder(Items), msgspec.json.Decoder(Context)
_LARGEST = 1e30


class InputTensor(msgspec.Struct):
    """An input: its values are in `data`, or behind the JSON."""

    name: str
    shape: list[Annotated[int, msgspec.Meta(ge=0, le=2**31)]]
    datatype: str
    data: list[Any] | None = None
    parameters: dict[str, Any] = {}


def read_questions(inputs: list[InputTensor], tail: memoryview, max_rows: int) -> tuple[str, list[Any]]:
    """Return the kind of the questions, and the questions.

    The inputs are ``text``, ``items`` or ``context`` (BYTES; the last two as JSON), or ``features`` (numbers, one row
    per question).
    """
    found: dict[str, Any] = {}
    for tensor in inputs:
        values, tail = _values(tensor, tail)
        found[tensor.name] = (tensor, values)
    if len(inputs) != 1:
        _fail(f"one input expected, got {len(inputs)}")
    ((name, (tensor, values)),) = found.items()
    n = tensor.shape[0] if tensor.shape else 1
    if n > max_rows:
        message = f"{n:,} questions in one request; this server takes at most {max_rows:,}"
        raise RequestError(413, message)
    if name == "features":
        return "row", _rows(tensor, values)
    if tensor.datatype != "BYTES":
        _fail(f"the input {name[:80]!r} must have the datatype BYTES, or be named features")
    texts = [_text(name, value) for value in values]
    if name in ("items", "context"):
        decoder: Any = _items if name == "items" else _context
        try:
            return name, [decoder.decode(text) for text in texts]
        except msgspec.DecodeError as error:
            _fail(f"the input {name} must hold JSON: {error}")
    return "text", texts


def _values(tensor: InputTensor, tail: memoryview) -> tuple[Any, memoryview]:
    """Return the values of a tensor as a flat list or array, and the bytes behind them."""
    size = math.prod(tensor.shape)
    n_bytes = tensor.parameters.get("binary_data_size")
    if n_bytes is None:
        values = list(_flat(tensor.data or []))
        if len(values) != size:
            _fail(f"the input {tensor.name[:80]!r} has {len(values)} values; its shape needs {size}")
        return values, tail
    if not isinstance(n_bytes, int) or not 0 <= n_bytes <= len(tail):
        _fail(f"binary_data_size of the input {tensor.name[:80]!r} is not the number of its bytes")
    own = tail[:n_bytes]
    if tensor.datatype == "BYTES":
        return _read_texts(tensor, own, size), tail[n_bytes:]
    dtype = _DTYPES.get(tensor.datatype)
    if dtype is None or n_bytes != size * np.dtype(dtype).itemsize:
        _fail(f"the input {tensor.name[:80]!r} has {n_bytes} bytes, which do not fit its shape and datatype")
    return np.frombuffer(own, np.dtype(dtype).newbyteorder("<")), tail[n_bytes:]


def _flat(data: list[Any]) -> Any:
    for value in data:
        if isinstance(value, list):
            yield from value
        else:
            yield value


def _read_texts(tensor: InputTensor, own: memoryview, size: int) -> list[bytes]:
    """Return values of which each is preceded by its length, 4 bytes, little-endian."""
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


def _rows(tensor: InputTensor, values: Any) -> list[Row]:
    if len(tensor.shape) != 2:
        _fail("the input features must have the shape [rows, features]")
    try:
        matrix = np.asarray(values, np.float64).reshape(tensor.shape)
    except (TypeError, ValueError, OverflowError):
        _fail("the input features must hold numbers")
    if not (np.abs(matrix) <= _LARGEST).all():
        _fail(f"the input features must hold finite numbers up to {_LARGEST:g}")
    nonzero = [np.flatnonzero(row) for row in matrix]
    return [Row(where.tolist(), row[where].tolist()) for row, where in zip(matrix, nonzero, strict=True)]


def write_tensors(
    values: dict[str, tuple[str, list[Any]]], wanted: dict[str, bool], shape: list[int]
) -> tuple[list[dict[str, Any]], bytes]:
    """Return the wanted outputs for the JSON part, and the bytes behind it.

    Parameters
    ----------
    values : dict from names to datatypes and flat lists
    wanted : dict from names to whether the values go behind the JSON
    shape : list of int
    """
    tensors: list[dict[str, Any]] = []
    tail = b""
    for name, is_binary in wanted.items():
        datatype, flat = values[name]
        tensor: dict[str, Any] = {"name": name, "datatype": datatype, "shape": shape}
        if is_binary:
            own = _as_bytes(datatype, flat)
            tensor["parameters"] = {"binary_data_size": len(own)}
            tail += own
        else:
            tensor["data"] = flat
        tensors.append(tensor)
    return tensors, tail


def _as_bytes(datatype: str, flat: list[Any]) -> bytes:
    if datatype == "FP32":
        return np.array(flat, "<f4").tobytes()
    encoded = [text.encode() for text in flat]
    return b"".join(struct.pack("<I", len(text)) + text for text in encoded)


def _fail(message: str) -> NoReturn:
    raise RequestError(400, message)
