"""The readers of untrusted bytes. A target takes bytes; it may raise an error of ours, and nothing else.

Checksums are put right first where a format has them: an attacker would do so, too.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import re
import shutil
import struct
import tempfile
import warnings
import zlib
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import labeltrees as lt
from labeltrees import _core
from labeltrees.data.encoder_file import read_encoder
from labeltrees.errors import LabelTreesError
from labeltrees.models.text.fasttext_file import read_fasttext
from labeltrees.storage.folder import _checksum_of_body
from labeltrees.tree.files import HEADER

_FAST = Path("/dev/shm") if os.path.isdir("/dev/shm") else None
_FOLDER = Path(tempfile.mkdtemp(prefix="labeltrees-fuzz-", dir=_FAST))
TEXTS = ["red cat", "blue dog", "red dog sat", "", "cat " * 50]


Target = Callable[[bytes], None]


def in_file(name: str, read: Callable[[Path], object], repair: Callable[[bytes], bytes] | None = None) -> Target:
    """Return the target that writes its bytes to a file and reads it."""

    def run(data: bytes) -> None:
        path = _FOLDER / name
        path.write_bytes(data if repair is None else repair(data))
        read(path)

    return run


def pack_folder(folder: Path) -> bytes:
    """Return the files of a folder as one text of bytes."""
    parts = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name, content = path.relative_to(folder).as_posix().encode(), path.read_bytes()
        parts += [bytes([len(name)]), name, struct.pack("<I", len(content)), content]
    return b"".join(parts)


def unpack_folder(data: bytes, folder: Path) -> None:
    """Write the files of `pack_folder`, as far as the bytes make sense."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    at = 0
    while at < len(data):
        name = data[at + 1 : at + 1 + data[at]].decode("latin-1")
        at += 1 + data[at]
        size = int.from_bytes(data[at : at + 4], "little")
        if not re.fullmatch(r"(\w[\w.-]*/)?\w[\w.-]*", name, re.ASCII):
            return
        path = folder / name
        if path.is_dir() or path.parent.is_file():
            return
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data[at + 4 : at + 4 + size])
        at += 4 + size


def _manifest_checksum(data: bytes) -> bytes:
    try:
        body = json.loads(data)
        del body["checksum"]
        body["checksum"] = _checksum_of_body(body)
        return json.dumps(body).encode()
    except (ValueError, TypeError, KeyError, RecursionError):
        return data


def _model(data: bytes) -> None:
    folder = _FOLDER / "model"
    unpack_folder(data, folder)
    manifest = folder / "manifest.json"
    if manifest.is_file():
        manifest.write_bytes(_manifest_checksum(manifest.read_bytes()))
    model = lt.load(folder)
    _use(model)
    lt.load(folder, verify=True)


def _use(model: object) -> None:
    if model.takes_texts:  # type: ignore[attr-defined]
        queries: object = TEXTS
    else:
        n_features = min(model.searcher_.n_features, 1000)  # type: ignore[attr-defined]
        queries = np.zeros((2, n_features), np.float32)
    model.predict_topk(queries, 3)  # type: ignore[attr-defined]
    for tree in model.trees_:  # type: ignore[attr-defined]
        tree.to_newick()
        tree.summary()


def _tree_checksums(data: bytes) -> bytes:
    if len(data) < HEADER.size:
        return data
    fields = list(HEADER.unpack(data[: HEADER.size]))
    body = data[HEADER.size :]
    fields[7], fields[8] = len(body), zlib.crc32(body)
    head = HEADER.pack(*fields)
    return head[:-4] + struct.pack("<I", zlib.crc32(head[:-4])) + body


def _encoder_checksum(data: bytes) -> bytes:
    body = data[:-8]
    return body + _core.xxh64(np.frombuffer(body, np.uint8)).to_bytes(8, "little") if body else data


def _read_tree(path: Path) -> None:
    tree = lt.LabelTree.load(path)
    tree.to_newick()
    tree.summary()


def _read_encoder(path: Path) -> None:
    encoder = read_encoder(path)
    for contexts in (["red cat"], [["red", "cat"]], [{"red": 2}], [{"a": ["red"], "b": "red cat"}]):
        try:
            encoder.transform(contexts)
        except LabelTreesError:
            continue


def _read_bin(path: Path) -> None:
    read_fasttext(path)
    lt.TextLabelTreeClassifier.from_fasttext(path).predict_topk(TEXTS, 3)


def _prepare(path: Path) -> None:
    lt.prepare_logs(path, min_engagement=0, test_share=0)


def _json_tree(data: bytes) -> None:
    lt.LabelTree.from_json(data)


def _manifest(data: bytes) -> None:
    """A whole model whose manifest alone is attacked."""
    folder = _FOLDER / "manifested"
    if not folder.exists():
        model = lt.LabelTreeClassifier(fanout=2).fit(np.eye(4), np.eye(4))
        model.save(folder)
    (folder / "manifest.json").write_bytes(_manifest_checksum(data))
    _use(lt.load(folder))


def _parts(data: bytes) -> None:
    folder = _FOLDER / "parts"
    unpack_folder(data, folder)
    dataset = lt.open_parts(folder)
    dataset.X, dataset.Y  # noqa: B018


@functools.cache
def _app() -> Any:
    from labeltrees.serving import make_app

    texts = ["red cat", "red dog", "blue cat", "blue dog"]
    return make_app({"model": lt.LabelTreeClassifier(n_jobs=1).fit(texts, [["c"], ["d"], ["c"], ["d", "b"]])})


def forget() -> None:
    """Drop the model that is served, and all files."""
    _app.cache_clear()
    shutil.rmtree(_FOLDER, ignore_errors=True)
    _FOLDER.mkdir()


def _http(data: bytes) -> None:
    """The body of a request to each of the routes that take one; the first byte chooses it."""
    paths = ("/v1/models/model/predict", "/v1/projects/model/suggest", "/v2/models/model/infer")
    path = paths[(data[:1] or b"\0")[0] % len(paths)]
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": data[1:], "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    headers = [(b"content-type", b"application/x-www-form-urlencoded" if "projects" in path else b"application/json")]
    scope = {"type": "http", "method": "POST", "path": path, "headers": headers, "query_string": b""}
    asyncio.run(_app()(scope, receive, send))
    status = sent[0]["status"]
    if status >= 500:
        message = f"status {status} for {data!r}"[:300]
        raise AssertionError(message)
    if status >= 400:
        message = sent[1]["body"].decode()
        raise lt.errors.InputError(message)


def _tensor(data: bytes) -> None:
    """A tensor of the Open Inference protocol: the bytes choose its shape, datatype and number of values."""
    numbers = [int.from_bytes(data[i : i + 5], "big", signed=True) for i in range(0, min(len(data), 3000), 5)]
    names = ("FP32", "INT64", "INT32", "BYTES", "BOOL", "FP64", "x", None)
    kind = names[(data[:1] or b"\0")[0] % len(names)]
    shape: Any = numbers[1:] if data[:1] != b"s" else data.decode("latin-1")
    tensor = {"name": "indices", "datatype": kind, "shape": shape, "data": numbers[: 1 + len(data) % 50]}
    others = {**tensor, "name": "values", "shape": numbers[2:]}
    texts = {"name": "text", "datatype": "BYTES", "shape": numbers[:9], "data": ["red cat"] * (len(data) % 7)}
    _http(b"\2" + json.dumps({"inputs": [texts] if len(data) % 2 else [tensor, others]}).encode())


@functools.cache
def _hostile_model() -> Any:
    return lt.LabelTreeClassifier(n_jobs=2).fit(np.eye(12, dtype=np.float32), np.eye(12))


class _Hostile:
    """Makes objects from bytes whose methods change other objects while they are read."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0
        self.lists: list[list[Any]] = []
        self.arrays: list[Any] = []

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1] if self.at <= len(self.data) else 0

    def act(self) -> None:
        """Change a list or an array that was made before."""
        choice = self.byte()
        if self.lists and choice % 2:
            target = self.lists[choice // 8 % len(self.lists)]
            if choice & 4:
                target.clear()
            elif len(target) < 1000:
                target.extend(target[:50])
        elif self.arrays:
            array = self.arrays[choice // 8 % len(self.arrays)]
            if array.flags.writeable:
                array[...] = np.array(2**31 - 1 if choice & 4 else -1).astype(array.dtype)

    def number(self) -> Any:
        hostile = self
        value = self.byte() - 100

        class Number(int):
            def __float__(self) -> float:
                hostile.act()
                return float(value)

            def __index__(self) -> int:
                hostile.act()
                return value

            def __lt__(self, other: object) -> bool:
                hostile.act()
                return bool(value & 1)

        class Index:
            def __index__(self) -> int:
                hostile.act()
                return value

        return (value, float(value), Number(value), Index(), None, "a", 10**30, float("nan"))[self.byte() % 8]

    def list(self) -> list[Any]:
        hostile = self

        class Lying(list):  # type: ignore[type-arg]
            def __len__(self) -> int:
                hostile.act()
                return hostile.byte() % 30

            def __iter__(self) -> Any:
                hostile.act()
                return super().__iter__()

        made = (list, Lying)[self.byte() % 2](self.number() for _ in range(self.byte() % 20))
        self.lists.append(made)
        return made

    def array(self) -> Any:
        kinds = ("i4", "i8", "f4", "f8", ">i4", ">f4", "u1", "O", "c8", "f2")
        array = np.zeros(self.byte() % 40, kinds[self.byte() % len(kinds)])
        if array.dtype.kind != "O":
            array[...] = np.array([self.byte() % 14 for _ in range(len(array))]).astype(array.dtype)
        array = array[:: 1 + self.byte() % 2]
        self.arrays.append(array)
        return array

    def matrix(self) -> Any:
        hostile = self
        kind = ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")[self.byte() % 7]
        whole = sp.csr_array(np.eye(12, dtype=np.float32))
        base = type(whole.asformat(kind))

        class Lying(base):  # type: ignore[misc,valid-type]
            def tocsr(self, copy: bool = False) -> Any:
                hostile.act()
                return super().tocsr(copy=copy)

            def check_format(self, full_check: bool = True) -> None:
                hostile.act()

        matrix = Lying(whole.asformat(kind))
        for name in ("indices", "indptr", "data", "row", "col", "offsets"):
            if self.byte() % 3 == 0 and isinstance(getattr(matrix, name, None), np.ndarray):
                with contextlib.suppress(ValueError, AttributeError, TypeError):  # SciPy refuses it itself
                    setattr(matrix, name, self.array())
        for name in ("indices", "indptr", "data"):
            array = getattr(matrix, name, None)
            if isinstance(array, np.ndarray) and array.dtype != object:
                self.arrays.append(array)
        return matrix

    def thing(self) -> Any:
        return (self.list, self.array, self.matrix, self.number)[self.byte() % 4]()


def _objects(data: bytes) -> None:
    """Objects with side effects as arguments of the library."""
    with warnings.catch_warnings():  # of SciPy and NumPy
        warnings.simplefilter("ignore")
        _call_with_objects(_Hostile(data))


def _call_with_objects(hostile: _Hostile) -> None:
    model = _hostile_model()
    answer = model.predictor()
    a, b, c = hostile.thing(), hostile.thing(), hostile.thing()
    calls: list[Callable[[], object]] = [
        lambda: answer(a, b, exclude=c),
        lambda: answer(a, b, candidates=c),
        lambda: answer([0], [1.0], exclude=a, candidates=b, label_weight={1: c}),
        lambda: model.predict_topk(a, exclude=b),
        lambda: model.predict_topk(np.eye(12), candidates=a, label_weight=b),
        lambda: lt.LabelTreeClassifier(C=1.0).fit(a, b, c),
        lambda: lt.LabelTreeClassifier(C=1.0).fit(np.eye(12), [a, b] * 6),
        lambda: lt.pifa(a, b),
        lambda: lt.label_frequencies(a, b),
        lambda: lt.Dataset(a, b, sample_weight=c),
        lambda: lt.metrics.precision_at_k(a, b, 1),
    ]
    calls[hostile.byte() % len(calls)]()


TARGETS: dict[str, Target] = {
    "model": _model,
    "manifest": _manifest,
    "tree": in_file("a.tree", _read_tree, _tree_checksums),
    "json_tree": _json_tree,
    "fasttext_bin": in_file("a.bin", _read_bin),
    "napkinxc": in_file("a.napkinxc", lt.LabelTree.from_napkinxc),
    "omikuji": in_file("a.cbor", lt.LabelTree.from_omikuji),
    "encoder": in_file("encoder.bin", _read_encoder, _encoder_checksum),
    "parts": _parts,
    "xmc": in_file("a.txt", lt.read_xmc),
    "jsonl": in_file("a.jsonl", lt.read_texts),
    "csv": in_file("a.csv", lt.read_texts),
    "fasttext_text": in_file("a.ft", lt.read_texts),
    "annif": in_file("a.tsv", functools.partial(lt.read_texts, format="annif")),
    "vocabulary": in_file("vocabulary.csv", lt.read_vocabulary),
    "skos_turtle": in_file("a.ttl", lt.read_vocabulary),
    "skos_xml": in_file("a.rdf", lt.read_vocabulary),
    "skos_triples": in_file("a.nt", lt.read_vocabulary),
    "objects": _objects,
    "gz": in_file("a.jsonl.gz", lt.read_texts),
    "xz": in_file("a.jsonl.xz", lt.read_texts),
    "parquet": in_file("a.parquet", lt.read_texts),
    "events_csv": in_file("log.csv", _prepare),
    "events_parquet": in_file("log.parquet", _prepare),
}
if all(find_spec(package) for package in ("msgspec", "prometheus_client")):
    TARGETS["http"] = _http
    TARGETS["tensor"] = _tensor
if not find_spec("pyoxigraph"):
    TARGETS = {name: target for name, target in TARGETS.items() if not name.startswith("skos")}
