"""Trees omikuji trained are read; hostile files are refused."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labeltrees import FileFormatError, InputError, LabelTree
from labeltrees.tree.exchange import cbor
from tests.strategies import clusters, label_trees

PEERS = Path(__file__).parents[2] / "data_files" / "peers"
EXPECTED = json.loads((PEERS / "expected.json").read_text())


def test_the_tree_omikuji_made_is_read():
    tree = LabelTree.from_omikuji(PEERS / "omikuji_model")
    assert tree.to_omikuji() == EXPECTED["omikuji"]
    assert tree == LabelTree.from_omikuji(PEERS / "omikuji_model" / "tree0.cbor")
    assert LabelTree.from_omikuji(PEERS / "omikuji_model", n_labels=30).unplaced_labels[-1] == 29


def to_cbor(value):
    """A plain writer of CBOR: the twin of the reader."""

    def head(kind, number):
        for code, size in ((24, 1), (25, 2), (26, 4), (27, 8)):
            if number < 24:
                return bytes([kind << 5 | number])
            if number < 1 << 8 * size:
                return bytes([kind << 5 | code]) + number.to_bytes(size, "big")
        raise AssertionError

    if isinstance(value, bool) or value is None:
        return bytes([0xF6 if value is None else 0xF4 + value])
    if isinstance(value, int):
        return head(0, value) if value >= 0 else head(1, ~value)
    if isinstance(value, float):
        short = struct.pack(">e", value) if abs(value) < 60000 else b""
        return (
            b"\xf9" + short if short and struct.unpack(">e", short)[0] == value else b"\xfb" + struct.pack(">d", value)
        )
    if isinstance(value, np.float32):
        return b"\xfa" + struct.pack(">f", value)
    if isinstance(value, bytes):
        return head(2, len(value)) + value
    if isinstance(value, str):
        return head(3, len(value.encode())) + value.encode()
    if isinstance(value, list):
        return head(4, len(value)) + b"".join(map(to_cbor, value))
    return head(5, len(value)) + b"".join(to_cbor(key) + to_cbor(content) for key, content in value.items())


scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**64), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.floats(width=32, allow_nan=False).map(np.float32)
    | st.text(max_size=4)
    | st.binary(max_size=4)
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=3), inner), max_leaves=20
)


@given(value=values)
def test_any_item_is_stepped_over(value, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "item.cbor"
    path.write_bytes(to_cbor(value) + b"\x01")
    reader = cbor.CborReader(path)
    reader.skip()
    assert reader.position == len(path.read_bytes()) - 1


@given(seed=st.integers(0, 2**32 - 1), length=st.integers(0, 3000))
@settings(max_examples=30)
def test_long_runs_of_numbers_are_stepped_over(seed, length, tmp_path_factory):
    rng = np.random.default_rng(seed)
    kinds = [lambda: int(rng.integers(0, 2 ** int(rng.integers(1, 63)))), lambda: np.float32(rng.random()), lambda: 0.5]
    kinds += [lambda: -int(rng.integers(1, 1000)), rng.random, lambda: [1, 2.5], lambda: "text"]
    n_kinds = int(rng.integers(1, len(kinds) + 1))
    value = [kinds[int(kind)]() for kind in rng.integers(0, n_kinds, length)]
    path = tmp_path_factory.getbasetemp() / "run.cbor"
    path.write_bytes(to_cbor([value, value]) + b"\x01")
    reader = cbor.CborReader(path)
    reader.skip()
    assert reader.position == len(path.read_bytes()) - 1


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_a_number_must_be_whole(size, tmp_path):
    path = tmp_path / "number.cbor"
    for n_bytes in range(size + 1):
        path.write_bytes(bytes([24 + (1, 2, 4, 8).index(size)]) + b"\1" * n_bytes)
        reader = cbor.CborReader(path)
        if n_bytes == size:
            assert reader.head() == (cbor.UNSIGNED, int.from_bytes(b"\1" * size, "big"))
        else:
            with pytest.raises(FileFormatError, match="ends too soon"):
                reader.head()


@pytest.mark.parametrize("length", [cbor._RUN - 1, cbor._RUN, 2 * cbor._RUN])
def test_a_run_may_end_the_item(length, tmp_path):
    (tmp_path / "run.cbor").write_bytes(to_cbor([7] * length) + b"\x01")
    reader = cbor.CborReader(tmp_path / "run.cbor")
    reader.skip()
    assert reader.head() == (cbor.UNSIGNED, 1)


def with_weights(nested, rng):
    """What omikuji would write for a nested tree: with weights, its keys in either order."""
    ((kind, content),) = nested.items()
    content = dict(content)
    if kind == "Branch":
        content["children"] = [with_weights(child, rng) for child in content["children"]]
    weights = {
        "Dense": {"v": 1, "dim": [60, 2], "data": [np.float32(x) for x in rng.random(int(rng.integers(0, 1200)))]}
    }
    items = [*content.items(), ("weights", None if rng.random() < 0.2 else weights)]
    return {kind: dict(items if rng.random() < 0.5 else items[::-1])}


@given(label_trees(unplaced=False), st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_an_omikuji_file_of_any_tree_is_read(tmp_path_factory, tree, seed):
    folder = tmp_path_factory.getbasetemp() / "omikuji"
    folder.mkdir(exist_ok=True)
    nested = tree.to_omikuji()
    (folder / "tree3.cbor").write_bytes(to_cbor(with_weights(nested, np.random.default_rng(seed))))
    again = LabelTree.from_omikuji(folder, tree=3)
    assert again.to_omikuji() == nested
    # Labels beside nodes have got leaves of their own, no more.
    assert clusters(again) == clusters(tree)


LEAF = {"Leaf": {"weights": None, "labels": [0, 1]}}
EMPTY = {"Leaf": {"weights": None, "labels": []}}


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", "ends too soon at byte 0"),
        (to_cbor(LEAF)[:-1], "more than the file has left"),
        (to_cbor(LEAF) + b"\0", "more data after the tree"),
        (to_cbor([1]), "something else where a node should be"),
        (to_cbor({"Root": {}}), "no Branch or Leaf"),
        (to_cbor({"Leaf": 3}), "something else where the contents of a node"),
        (to_cbor({"Leaf": {"labels": [0]}}), "no Branch or Leaf of two keys"),
        (to_cbor({"Leaf": {"weights": None, "children": []}}), "unknown key in a Leaf"),
        (to_cbor({"Branch": {"weights": None, "labels": []}}), "unknown key in a Branch"),
        (to_cbor({"Branch": {"weights": None, "children": []}}), "has no labels"),
        (to_cbor({"Branch": {"weights": None, "children": [LEAF, EMPTY]}}), "node 2 must have at least one child"),
        (to_cbor({"Leaf": {"weights": None, "labels": [0, 0]}}), "label 0, which is already"),
        (to_cbor({"Leaf": {"weights": None, "labels": [-1]}}), "something else where an unsigned integer"),
        (to_cbor({"Leaf": {"weights": None, "labels": ["a"]}}), "something else where an unsigned integer"),
        (to_cbor({"Leaf": {"weights": None, "labels": [2**31 - 1]}}), "an integer of 2147483647 or more"),
        (to_cbor({"Leaf": {"weights": None, "labels": [0, 2**31 - 1]}}), "an integer of 2147483647 or more"),
        (to_cbor({"Leaf": {"weights": None, "labels": [2**30]}}), "only 1 are placed"),
        (to_cbor({"Leaf": {"weights": None, "labels": 7}}), "something else where an array"),
        (b"\xa1\x9b" + b"\xff" * 8, "claims 18446744073709551615 items or bytes"),
        (b"\xbb" + b"\xff" * 8, "claims 18446744073709551615 items or bytes"),
        (b"\xa1\x7b" + b"\xff" * 8, "claims 18446744073709551615 items or bytes"),
        (b"\xbf", "indefinite length"),
        (b"\xa1\x64\xff\xfe\xfd\xfc", "text that is not UTF-8"),
        (b"\xa1\x64Leaf\xa2\x67weights" + b"\x81" * 100_000, "more than the file has left"),
        (b"\xa1\x66Branch\xa2\x67weights\xf6\x68children\x81" * 20_000, "more than the file has left"),
    ],
)
def test_a_hostile_omikuji_file_is_refused_by_name_and_fault(data, fault, tmp_path):
    (tmp_path / "tree0.cbor").write_bytes(data)
    with pytest.raises(FileFormatError, match=fault) as caught:
        LabelTree.from_omikuji(tmp_path)
    assert str(caught.value).startswith(str(tmp_path))


def test_asking_omikuji_for_what_is_not_there(tmp_path):
    with pytest.raises(FileFormatError, match=r"tree0\.cbor: is missing"):
        LabelTree.from_omikuji(tmp_path)
    with pytest.raises(FileFormatError, match="has label 19, but there are 3 labels"):
        LabelTree.from_omikuji(PEERS / "omikuji_model", n_labels=3)
    with pytest.raises(InputError, match="tree must be an integer"):
        LabelTree.from_omikuji(PEERS / "omikuji_model", tree=-1)
