"""The readers of untrusted bytes. A target takes bytes; it may raise an error of ours, and nothing else.

Checksums are put right first where a format has them: an attacker would do so, too.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import re
import shutil
import struct
import tempfile
import zlib
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

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
    "gz": in_file("a.jsonl.gz", lt.read_texts),
    "xz": in_file("a.jsonl.xz", lt.read_texts),
    "parquet": in_file("a.parquet", lt.read_texts),
    "events_csv": in_file("log.csv", _prepare),
    "events_parquet": in_file("log.parquet", _prepare),
}
if all(find_spec(package) for package in ("msgspec", "prometheus_client")):
    TARGETS["http"] = _http
