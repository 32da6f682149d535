"""Bodies within the limits that are hard to decode, for the routes that take one.

They are for a server with the models fruit (texts), rows (features) and shop (items) and a folder of stored sets.
"""

from __future__ import annotations

import random

PREDICT, INFER, SUGGEST = "/v1/models/fruit/predict", "/v2/models/fruit/infer", "/v1/projects/fruit/suggest"
BATCH = "/v1/projects/fruit/suggest-batch"
EXPLAIN, SET, ITEMS = "/v1/models/fruit/explain", "/v1/sets/stock", "/v1/models/shop/items"
ROW_PREDICT, ROW_INFER = "/v1/models/rows/predict", "/v2/models/rows/infer"
VALUES = b'{"inputs":[{"name":"text","datatype":"BYTES","shape":[1],"data":['
FEATURES = b'{"inputs":[{"name":"features","datatype":"FP32","shape":[1,8],"data":['
SHAPE = b'{"inputs":[{"name":"text","datatype":"BYTES","shape":[1'
TENSOR = VALUES + b'"a"]'


def method_of(path: str) -> str:
    """Return the HTTP method that takes a body at a path."""
    return "PUT" if path == SET else "POST"


def hostile_bodies(size: int) -> dict[str, tuple[str, bytes]]:
    """Return paths and bodies of about `size` bytes, by what is hard about them."""

    def filled(start: bytes, piece: bytes, end: bytes, size: int = size) -> bytes:
        return start + piece * ((size - len(start) - len(end)) // len(piece)) + end

    return {
        "a long text": (PREDICT, filled(b'{"text":"', b"red ", b'"}', min(size, 990_000))),
        "a text that is too long": (PREDICT, filled(b'{"text":"', b"red ", b'"}')),
        "a text of escapes": (PREDICT, filled(b'{"text":"', b"\\u0041", b'"}')),
        "many texts": (PREDICT, filled(b'{"texts":["a"', b',"a"', b"]}")),
        "many longer texts": (PREDICT, filled(b'{"texts":["a"', b',"red apple and pear"', b"]}")),
        "many empty histories": (PREDICT, filled(b'{"histories":[[]', b",[]", b"]}")),
        "many items": (PREDICT, filled(b'{"items":["a"', b',["a",1]', b"]}")),
        "a row of integers": (ROW_PREDICT, filled(b'{"row":{"indices":[1', b",1000", b'],"values":[1]}}')),
        "a row of numbers": (ROW_PREDICT, filled(b'{"row":{"indices":[1],"values":[1', b",0.5", b"]}}")),
        "many rows": (ROW_PREDICT, filled(b'{"rows":[', b'{"indices":[],"values":[]},', b"0]}")),
        "many contexts": (PREDICT, filled(b'{"contexts":[{}', b",{}", b"]}")),
        "nested lists": (PREDICT, filled(b'{"texts":', b"[", b"")),
        "candidates": (PREDICT, filled(b'{"text":"a","candidates":[1', b",300", b"]}")),
        "excluded names": (PREDICT, filled(b'{"text":"a","exclude":["a"', b',"some name"', b"]}")),
        "no JSON": (PREDICT, filled(b"", b"\xff", b"")),
        "ten thousand short texts": (PREDICT, filled(b'{"texts":["a"', b',"red"', b"]}", min(size, 60_000))),
        "bytes at random": (PREDICT, random.Random(0).randbytes(size)),
        "a long text to explain": (EXPLAIN, filled(b'{"text":"', b"red ", b'"}', min(size, 990_000))),
        "labels to explain": (EXPLAIN, filled(b'{"text":"a","label":[1', b",300", b"]}")),
        "a set of numbers": (SET, filled(b'{"labels":[1', b",3000", b"]}")),
        "a set of names": (SET, filled(b'{"labels":["a"', b',"some name"', b"]}")),
        "a set of weights": (SET, filled(b'{"weights":{"a":1', b',"some name":0.5', b"}}")),
        "a set of objects": (SET, filled(b'{"groups":{"a":1', b',"a":{}', b"}}")),
        "a name of an item": (ITEMS, filled(b'{"text":"', b"bread", b'"}')),
        "many documents": (BATCH, filled(b'{"documents":[{"text":"a"}', b',{"text":"red apple"}', b"]}")),
        "documents in lists": (BATCH, filled(b'{"documents":', b"[", b"")),
        "a form of escapes": (SUGGEST, filled(b"text=", b"%41", b"")),
        "a form of plain text": (SUGGEST, filled(b"text=", b"red+", b"")),
        "a form with many fields": (SUGGEST, filled(b"text=a", b"&a=b", b"")),
        "a shape of high rank": (INFER, filled(SHAPE, b",9", b"]}]}")),
        "values in lists": (INFER, filled(VALUES, b"[],", b"1]}]}")),
        "objects as values": (INFER, filled(VALUES, b"{},", b"1]}]}")),
        "numbers as values": (ROW_INFER, filled(FEATURES, b"0.5,", b"1]}]}")),
        "many parameters": (INFER, filled(TENSOR + b'}],"parameters":{"a":1', b',"b":2', b"}}")),
        "many outputs": (INFER, filled(TENSOR + b'}],"outputs":[', b'{"name":"labels"},', b'{"name":"scores"}]}')),
    }  # fmt: skip
