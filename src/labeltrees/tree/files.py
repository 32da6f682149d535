"""Tree files: JSON, and a compact binary format, which docs/format.md describes byte by byte."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from labeltrees._files import PathLike, check_path, naming_file, refuse_file, write_atomically
from labeltrees._validation import refuse
from labeltrees.errors import InputError
from labeltrees.tree.arrays import MAX_LABELS, Names, TreeArrays, check_names, check_weights

MAGIC = b"\x89LTREE\r\n"
VERSION = 1
HEADER = struct.Struct("<8sIIQQQQQII")  # the last field is the checksum of all fields before it
SECTION = struct.Struct("<BQ")  # bytes per value, bytes stored
HAS_NAMES, HAS_WEIGHTS = 1, 2
# A small file can claim any number of unplaced labels, so files that claim more than this are rejected.
FREE_LABELS, LABELS_PER_PLACED = 2**24, 64
# zlib compresses by a factor of at most 1032, so a larger claim is wrong.
MAX_DEFLATION = 1032


def write_tree(path: PathLike, parts: TreeArrays) -> None:
    """Write a tree's arrays to `path`."""
    check_claim(parts)
    write_atomically(path, _encode(parts))


def read_tree(path: PathLike) -> TreeArrays:
    """Read a file of `write_tree`; a damaged or hostile file raises a FileFormatError that says what is wrong."""
    check_path(path)
    with naming_file(path):
        return _Reader(path, Path(path).read_bytes()).read()


def label_claim_fault(n_labels: int, n_placed: int) -> str | None:
    """Return an error message if there are too many labels for the number of placed labels, else None."""
    if n_labels > min(MAX_LABELS, max(FREE_LABELS, LABELS_PER_PLACED * n_placed)):
        return f"{n_labels} labels of which only {n_placed} are placed: more than a tree file may hold"
    return None


def check_claim(parts: TreeArrays) -> None:
    """Raise `InputError` for a tree that could be written but not read again."""
    fault = label_claim_fault(parts.n_labels, len(parts.children) - len(parts.child_ptr) + 2)
    if fault is not None:
        raise InputError(fault)


def _encode(parts: TreeArrays) -> Iterator[bytes]:
    zigzag = (parts.children << 1) ^ (parts.children >> 31)
    sections = [_packed(np.diff(parts.child_ptr)), _packed(zigzag.view(np.uint32))]
    flags = names_bytes = 0
    if parts.label_weights is not None:
        flags |= HAS_WEIGHTS
        sections.append(_section(8, parts.label_weights.astype("<f8").tobytes()))
    if parts.label_names is not None:
        flags |= HAS_NAMES
        encoded = encode_names(parts.label_names)
        lengths = np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))
        names_bytes = int(lengths.sum())
        sections += [_packed(lengths), _section(1, b"".join(encoded))]
    body_crc = 0
    for section in sections:
        body_crc = zlib.crc32(section, body_crc)
    fields = (
        MAGIC,
        VERSION,
        flags,
        parts.n_labels,
        len(parts.child_ptr) - 1,
        len(parts.children),
        names_bytes,
        sum(map(len, sections)),
        body_crc,
    )
    header = HEADER.pack(*fields, 0)[:-4]
    yield header + struct.pack("<I", zlib.crc32(header))
    yield from sections


def encode_names(names: Names) -> list[bytes]:
    """Return the names as UTF-8."""
    try:
        return [name.encode() for name in names]
    except UnicodeEncodeError:
        for label, name in enumerate(names):
            try:
                name.encode()
            except UnicodeEncodeError:
                refuse(f"label_names[{label}]", "writable as UTF-8", name)
        raise


def _packed(values: np.ndarray[Any, Any]) -> bytes:
    """Store only the bytes in use: all lowest bytes first, then all second bytes. Equal high bytes compress well."""
    width = max(1, -(-int(values.max(initial=0)).bit_length() // 8))
    planes = values.astype("<u4").view(np.uint8).reshape(-1, 4)[:, :width].T
    return _section(width, np.ascontiguousarray(planes).tobytes())


def _section(width: int, raw: bytes) -> bytes:
    # Level 1: higher levels take several times as long and save almost nothing on ids.
    stored = zlib.compress(raw, 1)
    return SECTION.pack(width, len(stored)) + stored


class _Reader:
    """Reads the bytes of one file; every size is checked before it is used."""

    def __init__(self, path: PathLike, data: bytes) -> None:
        self.path, self.data, self.position = path, data, HEADER.size

    def read(self) -> TreeArrays:
        flags, n_labels, n_nodes, n_children, names_bytes = self._read_header()
        counts = self._integers("children per node", n_nodes)
        zigzag = self._integers("children", n_children)
        weights = names = None
        if flags & HAS_WEIGHTS:
            weights = check_weights("label_weights", np.frombuffer(self._raw("weights", 8, n_labels), "<f8"), n_labels)
        if flags & HAS_NAMES:
            names = self._names(n_labels, names_bytes)
        if self.position != len(self.data):
            self._refuse(f"{len(self.data) - self.position} bytes follow the last section")
        child_ptr = np.zeros(n_nodes + 1, dtype=np.int64)
        np.cumsum(counts, dtype=np.int64, out=child_ptr[1:])
        children = ((zigzag >> 1) ^ (0 - (zigzag & 1))).view(np.int32)
        return TreeArrays(child_ptr, children, n_labels, names, weights)

    def _refuse(self, fault: str) -> NoReturn:
        refuse_file(self.path, fault)

    def _read_header(self) -> tuple[int, int, int, int, int]:
        if not self.data.startswith(MAGIC):
            self._refuse("is not a labeltrees tree file")
        if len(self.data) < HEADER.size:
            self._refuse(f"ends after {len(self.data)} bytes, within its header of {HEADER.size}")
        _, version, flags, n_labels, n_nodes, n_children, names_bytes, body_bytes, body_crc, header_crc = HEADER.unpack(
            self.data[: HEADER.size]
        )
        # The version first: a later version may have another header.
        if version != VERSION:
            self._refuse(f"has format version {version}, but this labeltrees reads version {VERSION}")
        if zlib.crc32(self.data[: HEADER.size - 4]) != header_crc:
            self._refuse("has a damaged header: its checksum differs")
        if len(self.data) - HEADER.size != body_bytes:
            self._refuse(f"should have {body_bytes} bytes after its header, but has {len(self.data) - HEADER.size}")
        if zlib.crc32(memoryview(self.data)[HEADER.size :]) != body_crc:
            self._refuse("is damaged: the checksum of its content differs")
        if flags & ~(HAS_NAMES | HAS_WEIGHTS):
            self._refuse(f"has unknown flags {flags:#x}")
        if not 1 <= n_labels <= MAX_LABELS or not 1 <= n_nodes < MAX_LABELS:
            self._refuse(f"claims {n_labels} labels and {n_nodes} nodes")
        if not n_nodes <= n_children <= n_nodes - 1 + n_labels:
            self._refuse(f"claims {n_children} children for {n_nodes} nodes and {n_labels} labels")
        fault = label_claim_fault(n_labels, n_children - n_nodes + 1)
        if fault is not None:
            self._refuse(f"claims {fault}")
        return flags, n_labels, n_nodes, n_children, names_bytes

    def _raw(self, name: str, width: int | None, count: int) -> bytes:
        """Decompress the next section: `count` values of `width` bytes, or of 1 to 4 bytes if `width` is None."""
        if len(self.data) - self.position < SECTION.size:
            self._refuse(f"ends before its {name}")
        found, stored = SECTION.unpack_from(self.data, self.position)
        start = self.position + SECTION.size
        if found not in ((1, 2, 3, 4) if width is None else (width,)):
            self._refuse(f"has {found} bytes per value for its {name}")
        if stored > len(self.data) - start:
            self._refuse(f"ends within its {name}")
        size = found * count
        if size > MAX_DEFLATION * stored + 64:
            self._refuse(f"claims {size} bytes of {name} in {stored}")
        inflate = zlib.decompressobj()
        try:
            # Read one byte more than expected, to find a section that is too long.
            raw = inflate.decompress(memoryview(self.data)[start : start + stored], size + 1)
        except zlib.error as error:
            self._refuse(f"cannot inflate its {name}: {error}")
        if len(raw) != size or not inflate.eof or inflate.unused_data:
            self._refuse(f"does not have the expected {size} bytes of {name}")
        self.position = start + stored
        return raw

    def _integers(self, name: str, count: int) -> np.ndarray[Any, np.dtype[np.uint32]]:
        planes = np.frombuffer(self._raw(name, None, count), dtype=np.uint8).reshape(-1, count)
        values = np.zeros((count, 4), dtype=np.uint8)
        values[:, : len(planes)] = planes.T
        return values.reshape(-1).view("<u4").astype(np.uint32, copy=False)

    def _names(self, n_labels: int, names_bytes: int) -> Names:
        ends = np.cumsum(self._integers("name lengths", n_labels), dtype=np.int64)
        if ends[-1] != names_bytes:
            self._refuse(f"claims {names_bytes} bytes of names but lengths of {ends[-1]}")
        blob = self._raw("names", 1, names_bytes)
        names = np.empty(n_labels, dtype=object)
        start = 0
        for label, end in enumerate(ends.tolist()):
            try:
                names[label] = blob[start:end].decode()
            except UnicodeDecodeError:
                self._refuse(f"has a name that is not UTF-8: label {label}")
            start = end
        return names


# JSON, for people and other programs.

JSON_FORMAT = "labeltrees-tree"
JSON_VERSION = 1
JSON_KEYS = {"format", "version", "n_labels", "child_ptr", "children", "label_names", "label_weights"}


def tree_to_json(parts: TreeArrays) -> str:
    """Return a tree's arrays as JSON, one key per line."""
    values = {
        "format": JSON_FORMAT,
        "version": JSON_VERSION,
        "n_labels": parts.n_labels,
        "child_ptr": parts.child_ptr.tolist(),
        "children": parts.children.tolist(),
        "label_names": None if parts.label_names is None else parts.label_names.tolist(),
        "label_weights": None if parts.label_weights is None else parts.label_weights.tolist(),
    }
    lines = [f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def write_json(path: PathLike, parts: TreeArrays) -> None:
    """Write a tree's arrays to `path` as JSON."""
    check_claim(parts)
    if parts.label_names is not None:
        encode_names(parts.label_names)  # raises an error for a name that cannot be written
    write_atomically(path, [tree_to_json(parts).encode()])


def read_json(path: PathLike) -> TreeArrays:
    """Read a file of `write_json`; anything else raises a FileFormatError that says what is wrong."""
    check_path(path)
    return tree_from_json(Path(path).read_bytes(), source=path)


def tree_from_json(text: str | bytes, source: PathLike = "JSON text") -> TreeArrays:
    """Return the arrays of a tree from JSON; errors name `source`."""

    def fail(fault: str) -> NoReturn:
        refuse_file(source, fault)

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            fail("has a key twice")
        return found

    def no_constant(name: str) -> NoReturn:
        fail(f"has the number {name}")

    try:
        value = json.loads(text, object_pairs_hook=unique, parse_constant=no_constant)
    except UnicodeDecodeError:
        fail("is not UTF-8")
    except json.JSONDecodeError as error:
        fail(f"is not JSON: {error}")
    except RecursionError:
        fail("is nested too deeply")
    except ValueError as error:
        # FileFormatError is a ValueError too; other ValueErrors come from integers of thousands of digits.
        if type(error) is not ValueError:
            raise
        fail(f"is not supported JSON: {error}")
    if not isinstance(value, dict) or value.get("format") != JSON_FORMAT:
        fail(f'is not a tree: there is no "format": "{JSON_FORMAT}"')
    if value.get("version") != JSON_VERSION:
        fail(f"has format version {_short(value.get('version'))}, but this labeltrees reads version {JSON_VERSION}")
    if not {"n_labels", "child_ptr", "children"} <= value.keys() <= JSON_KEYS:
        wrong = sorted(value.keys() ^ JSON_KEYS)
        fail(f"has missing or unknown keys: {_short(wrong)}")
    n_labels = value["n_labels"]
    if type(n_labels) is not int or n_labels < 1:
        fail(f"has n_labels {_short(n_labels)}")
    child_ptr, children = (_integers(value, name, fail) for name in ("child_ptr", "children"))
    fault = label_claim_fault(n_labels, len(children) - len(child_ptr) + 2)
    if fault is not None:
        fail(f"claims {fault}")
    with naming_file(source):
        names, weights = value.get("label_names"), value.get("label_weights")
        if names is not None:
            names = check_names(names if isinstance(names, list) else [], n_labels)
        if weights is not None:
            if not isinstance(weights, list) or not set(map(type, weights)) <= {int, float}:
                fail("has label_weights that are not a list of numbers")
            try:
                weights = np.array([*map(float, weights)])
            except OverflowError:
                fail("has an integer too large for a float in label_weights")
            weights = check_weights("label_weights", weights, n_labels)
    return TreeArrays(child_ptr, children, n_labels, names, weights)


def _integers(value: dict[str, Any], name: str, fail: Any) -> Any:
    entries = value[name]
    if not isinstance(entries, list) or not set(map(type, entries)) <= {int}:
        fail(f"has {name} that is not a list of integers")
    try:
        return np.array(entries, dtype=np.int64)
    except OverflowError:
        fail(f"has an integer beyond 64 bits in {name}")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
