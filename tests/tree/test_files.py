"""What is saved comes back; what is damaged or hostile is refused by name and fault."""

import json
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labeltrees import LabelTree
from labeltrees.errors import FileFormatError, InputError
from labeltrees.tree import files
from tests.strategies import label_trees

# A file of version 1 as it was first written: later readers must go on reading it.
VERSION_1 = bytes.fromhex(
    "894c545245450d0a01000000030000000400000000000000020000000000000004000000000000001d000000000000008b000000000000"
    "0092be40cf1a497c06010a0000000000000078016362020000080005010c000000000000007801636762640500002d0010081700000000"
    "00000078016360008107f6600a4e1cb00f0583abf600339c0531010c0000000000000078016360e6e607000032001e0125000000000000"
    "0078012b494d4c2f4a4dcd53502f494d54cf4b3cbcbe2c5541294649e145cf362e00a61b0b24"
)


def named_tree():
    names = ["", "tea", "green 'tea'", 'naïve "\\" 茶\n']
    return LabelTree([0, 2, 4], [~3, 1, ~0, ~2], 4, label_names=names, label_weights=[0.5, 0, 0.125, 1 / 3])


def assert_same(tree, other):
    assert other == tree
    for name in ("label_names", "label_weights"):
        ours, theirs = getattr(tree, name), getattr(other, name)
        assert (ours is None) == (theirs is None)
        assert ours is None or ours.tolist() == theirs.tolist()


names = st.text(st.characters(codec="utf-8"), max_size=5)


@pytest.mark.parametrize("ending", [".tree", ".json", ""])
@given(tree=label_trees(weights=True), data=st.data())
@settings(max_examples=40)
def test_a_saved_tree_comes_back(tree, data, ending, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / f"round{ending}"
    tree.save(path)
    assert_same(tree, LabelTree.load(path))
    label_names = data.draw(st.lists(names, min_size=tree.n_labels, max_size=tree.n_labels))
    tree = LabelTree(tree.child_ptr, tree.children, tree.n_labels, label_names=label_names)
    tree.save(str(path))
    assert_same(tree, LabelTree.load(str(path)))


def test_the_first_version_is_still_read(tmp_path):
    (tmp_path / "old").write_bytes(VERSION_1)
    assert_same(named_tree(), LabelTree.load(tmp_path / "old"))


@pytest.mark.parametrize("n_labels", [127, 128, 129, 32767, 32768, 32769, 70000])
def test_ids_of_any_width_come_back(n_labels, tmp_path):
    rng = np.random.default_rng(n_labels)
    tree = LabelTree([0, n_labels], ~rng.permutation(n_labels), n_labels)
    tree.save(tmp_path / "wide")
    assert LabelTree.load(tmp_path / "wide") == tree


def test_the_largest_ids_come_back():
    parts = named_tree()._parts._replace(children=np.array([-(2**31), 2**31 - 1, 0, -1], dtype=np.int32))
    data = b"".join(files._encode(parts))
    assert files._Reader("there", data).read().children.tolist() == [-(2**31), 2**31 - 1, 0, -1]


def test_the_ending_json_selects_the_format(tmp_path):
    tree = named_tree()
    tree.save(tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_text())["children"] == tree.children.tolist()
    assert (tmp_path / "a.json").read_text() == tree.to_json()
    assert_same(tree, LabelTree.from_json(tree.to_json()))
    tree.save(tmp_path / "a.lt")
    assert (tmp_path / "a.lt").read_bytes().startswith(b"\x89LTREE")


def test_a_failed_save_leaves_the_old_file_and_nothing_else(tmp_path):
    for name in ("tree", "tree.json"):
        named_tree().save(tmp_path / name)
        before = (tmp_path / name).read_bytes()
        unwritable = LabelTree([0, 1], [~0], 1, label_names=["\ud800"])
        with pytest.raises(InputError, match=r"label_names\[0\] must be writable as UTF-8"):
            unwritable.save(tmp_path / name)
        assert (tmp_path / name).read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tree", "tree.json"]


def test_a_write_that_stops_midway_leaves_no_half_file(tmp_path, monkeypatch):
    named_tree().save(tmp_path / "tree")
    before = (tmp_path / "tree").read_bytes()

    def broken(parts):
        yield b"half"
        message = "disk full"
        raise OSError(message)

    monkeypatch.setattr(files, "_encode", broken)
    with pytest.raises(OSError, match="disk full"):
        named_tree().save(tmp_path / "tree")
    assert (tmp_path / "tree").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["tree"]


def test_a_missing_file_is_a_plain_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        LabelTree.load(tmp_path / "none")


# Damage.


def load_bytes(path, data):
    path.write_bytes(data)
    return LabelTree.load(path)


def test_every_altered_byte_is_noticed(tmp_path):
    named_tree().save(tmp_path / "good")
    good = (tmp_path / "good").read_bytes()
    for position in range(len(good)):
        for change in (0x01, 0xFF):
            data = bytearray(good)
            data[position] ^= change
            with pytest.raises(FileFormatError, match="bad"):
                load_bytes(tmp_path / "bad", bytes(data))


@pytest.mark.parametrize("ending", ["", ".json"])
def test_every_cut_is_noticed(tmp_path, ending):
    named_tree().save(tmp_path / f"good{ending}")
    good = (tmp_path / f"good{ending}").read_bytes()
    for length in range(len(good.rstrip())):
        with pytest.raises(FileFormatError, match="bad"):
            load_bytes(tmp_path / f"bad{ending}", good[:length])
    with pytest.raises(FileFormatError):
        load_bytes(tmp_path / f"bad{ending}", good + b"x")


@given(data=st.binary(max_size=200), magic=st.booleans())
def test_random_bytes_are_refused(data, magic, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "random"
    with pytest.raises(FileFormatError):
        load_bytes(path, (files.MAGIC if magic else b"") + data)
    with pytest.raises(FileFormatError):
        load_bytes(path.with_suffix(".json"), data)


# Hostile files, their checksums right.


def forge(sections=None, magic=files.MAGIC, **fields):
    """A file of one node with labels 0 and 1, but for what is asked otherwise."""
    if sections is None:
        sections = [forged_section(1, b"\2"), forged_section(1, b"\1\3")]
    body = b"".join(sections)
    values = {
        "version": 1,
        "flags": 0,
        "n_labels": 2,
        "n_nodes": 1,
        "n_children": 2,
        "names_bytes": 0,
        "body_bytes": len(body),
        "body_crc": zlib.crc32(body),
        **fields,
    }
    header = struct.pack("<8sIIQQQQQI", magic, *values.values())
    return header + struct.pack("<I", zlib.crc32(header)) + body


def forged_section(width, raw, stored=None, cut=None, more=b""):
    compressed = zlib.compress(raw)[:cut] + more
    return struct.pack("<BQ", width, len(compressed) if stored is None else stored) + compressed


def test_the_forger_writes_what_loads(tmp_path):
    assert load_bytes(tmp_path / "a", forge()).children.tolist() == [~0, ~1]


COUNT, CHILDREN = forged_section(1, b"\2"), forged_section(1, b"\1\3")
WEIGHTS = forged_section(8, struct.pack("<2d", 0.5, 0.5))


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (forge(magic=b"12345678"), "is not a labeltrees tree file"),
        (forge(version=2), "format version 2, but this labeltrees reads version 1"),
        (forge(flags=4), "unknown flags 0x4"),
        (forge(body_crc=1), "the checksum of its content differs"),
        (forge(n_labels=0), "claims 0 labels"),
        (forge(n_labels=2**31), "claims 2147483648 labels"),
        (forge(n_labels=2**63), "claims 9223372036854775808 labels"),
        (forge(n_labels=2**30), "only 2 are placed"),
        (forge(n_nodes=0), "0 nodes"),
        (forge(n_nodes=2**31 - 1, n_children=2**31 - 1), "claims 2 labels and 2147483647 nodes"),
        (forge(n_nodes=3, n_children=2), "claims 2 children for 3 nodes"),
        (forge(n_children=2**40), "children for 1 nodes"),
        (forge(n_children=3), "claims 3 children for 1 nodes and 2 labels"),
        (forge(n_nodes=2**30, n_children=2**30), "bytes of children per node in"),
        (forge(n_labels=10**7, n_children=10**7), "bytes of children in"),
        (forge(n_labels=10**7, flags=2, sections=[COUNT, CHILDREN, WEIGHTS]), "bytes of weights in"),
        (forge(flags=1, names_bytes=2**62, sections=[COUNT, CHILDREN, CHILDREN, COUNT]), "bytes of names but"),
        (forge(sections=[COUNT]), "ends before its children"),
        (forge(sections=[COUNT, CHILDREN, COUNT]), "bytes follow the last section"),
        (forge(sections=[COUNT, CHILDREN[:4]]), "ends before its children"),
        (forge(sections=[COUNT, forged_section(1, b"\1\3", stored=999)]), "ends within its children"),
        (forge(sections=[COUNT, forged_section(5, b"\1\3")]), "5 bytes per value"),
        (forge(sections=[COUNT, forged_section(0, b"")]), "0 bytes per value"),
        (forge(sections=[COUNT, forged_section(1, b"\1")]), "does not have the expected 2 bytes of children"),
        (forge(sections=[COUNT, forged_section(1, b"\1\3\5")]), "does not have the expected 2 bytes of children"),
        (forge(sections=[COUNT, forged_section(1, bytes(10**6))]), "does not have the expected 2 bytes of children"),
        (forge(sections=[COUNT, forged_section(1, b"\1\3", cut=-1)]), "does not have the expected 2 bytes of children"),
        (forge(sections=[COUNT, forged_section(1, b"\1\3", more=b"!")]), "not have the expected 2 bytes of children"),
        (forge(sections=[COUNT, struct.pack("<BQ", 1, 4) + b"\1\2\3\4"]), "cannot inflate its children"),
        (forge(sections=[forged_section(1, b"\3"), CHILDREN]), "child_ptr must be the number of children, 2"),
        (forge(sections=[COUNT, forged_section(1, b"\1\1")]), "label 0, which is already elsewhere"),
        (forge(sections=[COUNT, forged_section(1, b"\0\3")]), "is node 0: a child's id must be larger"),
        (forge(sections=[COUNT, forged_section(4, b"\1\xff\0\xff\0\xff\0\xff")]), "is label 2147483647"),
        (
            forge(flags=2, sections=[COUNT, CHILDREN, forged_section(8, struct.pack("<2d", 1, float("nan")))]),
            r"label_weights\[1\] must be a finite number",
        ),
        (
            forge(flags=1, names_bytes=2, sections=[COUNT, CHILDREN, forged_section(1, b"\1\1"), COUNT]),
            "does not have the expected 2 bytes of names",
        ),
        (
            forge(
                flags=1,
                names_bytes=1,
                sections=[COUNT, CHILDREN, forged_section(1, b"\0\1"), forged_section(1, b"\xff")],
            ),
            "not UTF-8: label 1",
        ),
    ],
)
def test_a_hostile_file_is_refused_by_name_and_fault(data, fault, tmp_path):
    with pytest.raises(FileFormatError, match=fault) as caught:
        load_bytes(tmp_path / "hostile", data)
    assert str(caught.value).startswith(str(tmp_path / "hostile"))


def test_a_tree_too_sparse_to_read_back_is_not_written(tmp_path):
    tree = LabelTree([0, 1], [~0], 2**24 + 1)
    with pytest.raises(InputError, match="only 1 are placed"):
        tree.save(tmp_path / "sparse")
    with pytest.raises(InputError, match="only 1 are placed"):
        tree.save(tmp_path / "sparse.json")


# Hostile and altered JSON is refused by fault, or is a tree.


@given(position=st.integers(0, 400), change=st.integers(1, 255))
def test_an_altered_json_is_a_tree_or_refused(position, change, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "altered.json"
    data = bytearray(named_tree().to_json().encode())
    data[position % len(data)] ^= change
    try:
        load_bytes(path, bytes(data)).summary()
    except FileFormatError as error:
        assert "altered.json" in str(error)  # noqa: PT017


def altered(**changes):
    value = json.loads(named_tree().to_json())
    value.update(changes)
    return json.dumps({key: content for key, content in value.items() if content is not ...})


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "is not JSON"),
        ("[1, 2]", "is not a tree"),
        ("[" * 100_000, "nested too deeply"),
        (altered(format="other"), "is not a tree"),
        (altered(version=2), "format version 2"),
        (altered(version=[2] * 100), "format version"),
        (altered(n_labels=...), "missing or unknown keys"),
        (altered(colour="red"), "missing or unknown keys: .*'colour'"),
        (altered(n_labels=2.0), "has n_labels 2.0"),
        (altered(n_labels=True), "has n_labels True"),
        (altered(n_labels=2**31 - 1, label_names=None, label_weights=None), "only 3 are placed"),
        (altered(n_labels=3, label_names=None, label_weights=None), "is label 3, but there are 3 labels"),
        (altered(children=[1.5]), "children that is not a list of integers"),
        (altered(children=[True]), "children that is not a list of integers"),
        (altered(children={"a": 1}), "children that is not a list of integers"),
        (altered(children=[[-1]]), "children that is not a list of integers"),
        (altered(children=[10**30]), "beyond 64 bits in children"),
        (altered(children=[-4, 2**31, -1, -3]), "children must be within"),
        (altered(child_ptr=[0, 2, 3]), "child_ptr must be the number of children"),
        (altered(child_ptr=[]), "child_ptr must be one entry longer"),
        (altered(label_names=["a"]), "label_names must be a sequence of 4 strings"),
        (altered(label_names="abcd"), "label_names must be a sequence of 4 strings"),
        (altered(label_names=["a", "b", 3, "d"]), r"label_names\[2\] must be a string"),
        (altered(label_weights=["1"] * 4), "not a list of numbers"),
        (altered(label_weights=[1, 2, -3, 4]), r"label_weights\[2\] must be a finite"),
        (altered(label_weights=[1, 2, 10**400, 4]), "too large for a float"),
        (altered(label_weights=[1, 2, float("nan"), 4]), "has the number NaN"),
        (named_tree().to_json().replace('"version"', '"format"'), "has a key twice"),
        (named_tree().to_json().replace("[0, 2, 4]", "[0, 2, " + "4" * 5000 + "]"), "is not supported JSON"),
    ],
)
def test_a_hostile_json_is_refused_by_fault(text, fault):
    with pytest.raises(FileFormatError, match=fault) as caught:
        LabelTree.from_json(text)
    assert str(caught.value).startswith("JSON text: ")
