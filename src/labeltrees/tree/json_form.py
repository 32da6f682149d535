"""Trees as JSON, for people and other programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from labeltrees._files import PathLike, naming_file, refuse_file, write_atomically
from labeltrees.tree.arrays import TreeArrays, check_names, check_weights
from labeltrees.tree.serialize import check_claim, encode_names, label_claim_fault

FORMAT = "labeltrees-tree"
VERSION = 1
KEYS = {"format", "version", "n_labels", "child_ptr", "children", "label_names", "label_weights"}


def tree_to_json(parts: TreeArrays) -> str:
    """Return a tree's arrays as JSON, one key per line."""
    values = {
        "format": FORMAT,
        "version": VERSION,
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
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        fail(f'is not a tree: there is no "format": "{FORMAT}"')
    if value.get("version") != VERSION:
        fail(f"has format version {_short(value.get('version'))}, but this labeltrees reads version {VERSION}")
    if not {"n_labels", "child_ptr", "children"} <= value.keys() <= KEYS:
        wrong = sorted(value.keys() ^ KEYS)
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
