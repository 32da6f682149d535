"""Trees go to the peers' forms and come back; files the real peers made are read; hostile ones are refused."""

import io
import itertools
import json
import shutil
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.strategies import children_of, clusters, label_trees, labels_below

from labeltrees import FileFormatError, InputError, LabelTree
from labeltrees.tree.exchange import cbor
from labeltrees.tree.exchange.pecos import pecos_chain

PEERS = Path(__file__).parents[1] / "data_files" / "peers"
EXPECTED = json.loads((PEERS / "expected.json").read_text())


def as_sets(lists):
    return {frozenset(labels) for labels in lists}


def small_tree():
    """Labels 0 and 1 at the root, 2 and 3 below it; label 4 is unplaced."""
    return LabelTree([0, 3, 5], [~0, 1, ~1, ~2, ~3], 5)


# PECOS.


@given(tree=label_trees(unary=False))
@settings(max_examples=60)
def test_a_tree_comes_back_from_a_pecos_chain(tree, tmp_path_factory):
    folder = tmp_path_factory.mktemp("chain")
    tree.to_pecos_chain(folder)
    again = LabelTree.from_pecos_chain(folder, unplaced_labels=tree.unplaced_labels)
    assert clusters(again) == clusters(tree)
    assert again.label_depth.tolist() == tree.label_depth.tolist()
    everything = LabelTree.from_pecos_chain(folder)
    assert len(everything.unplaced_labels) == 0
    assert clusters(tree) - {frozenset(labels_below(tree)[0])} <= clusters(everything)
    shutil.rmtree(folder)


@given(label_trees())
def test_a_pecos_chain_is_one_matrix_a_level_with_every_label_at_the_end(tree):
    chain = list(pecos_chain(tree))
    assert len(chain) in (tree.height, max(tree.height, 2))
    assert chain[0].shape[1] == 1
    assert chain[-1].shape[0] == tree.n_labels
    for above, below in itertools.pairwise(chain):
        assert above.shape[0] == below.shape[1]
    for matrix in chain:
        assert matrix.format == "csc"
        assert matrix.dtype == np.float32
        assert np.all(matrix.sum(axis=1) == 1)
        assert np.all(matrix.sum(axis=0) > 0)
    # The product of the matrices below a node's column has its labels.
    below = labels_below(tree)
    product = sparse.identity(tree.n_labels, format="csc")
    seen = set()
    for matrix in reversed(chain):
        product = (product @ matrix).tocsc()
        seen |= {frozenset(product[:, column].indices.tolist()) for column in range(product.shape[1])}
    assert {frozenset(labels) for labels in below[1:]} <= seen


def test_a_pecos_chain_is_what_pecos_itself_writes(tmp_path):
    tree = LabelTree.from_pecos_chain(PEERS / "pecos_chain")
    assert clusters(tree) == as_sets(EXPECTED["pecos_clusters"])
    tree.to_pecos_chain(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text()) == json.loads(
        (PEERS / "pecos_chain" / "config.json").read_text()
    )
    for level in range(3):
        with (
            np.load(tmp_path / f"C{level}.npz") as ours,
            np.load(PEERS / "pecos_chain" / f"C{level}.npz") as theirs,
            zipfile.ZipFile(tmp_path / f"C{level}.npz") as archive,
        ):
            assert set(ours.files) == set(theirs.files)
            assert all(ours[name].tolist() == theirs[name].tolist() for name in ours.files)
            # PECOS takes indices of either width; it makes them int64 itself.
            assert all(ours[name].dtype == theirs[name].dtype for name in ("data", "format", "shape"))
            assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}


def test_unplaced_labels_of_a_flat_tree_hang_below_the_root(tmp_path):
    tree = LabelTree([0, 2], [~0, ~2], 4)
    tree.to_pecos_chain(tmp_path)
    assert LabelTree.from_pecos_chain(tmp_path).label_depth.tolist() == [1, 1, 1, 1]
    assert LabelTree.from_pecos_chain(tmp_path, unplaced_labels=[1, 3]) == tree


def test_a_chain_of_one_label_comes_back(tmp_path):
    tree = LabelTree([0, 1, 2, 3], [1, 2, ~1], 2)
    tree.to_pecos_chain(tmp_path)
    assert LabelTree.from_pecos_chain(tmp_path, unplaced_labels=[0]) == LabelTree([0, 1], [~1], 2)


@pytest.mark.parametrize("unplaced", [[5], [-1], [0.5], [0, 1, 2, 3, 4]])
def test_wrong_unplaced_labels_are_the_callers_fault(tmp_path, unplaced):
    tree = small_tree()
    tree.to_pecos_chain(tmp_path)
    with pytest.raises(InputError, match="unplaced_labels must be"):
        LabelTree.from_pecos_chain(tmp_path, unplaced_labels=unplaced)
    with pytest.raises(InputError, match="unplaced_labels must be"):
        LabelTree.from_napkinxc(tree.to_napkinxc(), unplaced_labels=unplaced)


def write_level(path, indices, indptr, shape, data=None, kind=b"csc", **more):
    data = np.ones(len(indices), dtype=np.float32) if data is None else data
    np.savez(path, indices=np.array(indices), indptr=np.array(indptr), format=kind, shape=shape, data=data, **more)


def good_chain(folder):
    LabelTree([0, 2, 4, 6], [1, 2, ~0, ~1, ~2, ~3], 4).to_pecos_chain(folder)
    return folder


@pytest.mark.parametrize(
    ("level", "fault"),
    [
        (([0, 1], [0, 1, 2], [2, 2]), "has 2 columns where the level above has 1 nodes"),
        (([0, 1, 2], [0, 3], [3, 1]), "has 2 columns where the level above has 3 nodes"),
        (([0, 0], [0, 2], [2, 1]), "each row in exactly one column"),
        (([0, 2], [0, 2], [2, 1]), "each row in exactly one column"),
        (([0, -1], [0, 2], [2, 1]), "each row in exactly one column"),
        (([0, 1], [0, 2], [2, 1], np.array([1.0, 0.0])), "each row in exactly one column"),
        (([0, 1], [1, 2], [2, 1]), "column starts that do not rise from 0 to 2"),
        (([0, 1], [0, 1], [2, 1]), "column starts that do not rise from 0 to 2"),
        (([0, 1], [0, 5, 2], [2, 2]), "column starts that do not rise from 0 to 2"),
        (([0], [0, 1], [2, 1]), "must have one entry a row"),
        (([0, 1], [0, 2], [2**40, 1]), "has a shape"),
        (([0, 1], [0, 2], [2, -1]), "has a shape"),
        (([0, 1], [0, 2], [2]), "has a shape"),
        (([0.0, 1.0], [0, 2], [2, 1]), "members of the wrong type"),
        (([0, 1], [0, 2], [2, 1], np.array(["a", "b"])), "members of the wrong type"),
        (([0, 1], [0, 2], [2, 1], None, b"csr"), "is not a CSC matrix"),
        (([0, 1], [0, 2], [2, 1], None, 3), "is not a CSC matrix"),
        (([0, 1], [0, 2], [2, 1], np.array([None, {}], dtype=object)), "npy header this does not read"),
        (([0, 1], [0, 2], np.array([[2, 1]])), "where its header tells of"),
    ],
)
def test_a_wrong_matrix_is_refused_by_file_and_fault(level, fault, tmp_path):
    write_level(good_chain(tmp_path) / "C0.npz", *level)
    with pytest.raises(FileFormatError, match=r"C[01]\.npz: .*" + fault):
        LabelTree.from_pecos_chain(tmp_path)


@pytest.mark.parametrize(
    ("config", "fault"),
    [
        ("", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", 'no positive "len"'),
        ('{"len": 0}', 'no positive "len"'),
        ('{"len": true}', 'no positive "len"'),
        ('{"len": 3}', r"C2\.npz: is missing"),
        ('{"len": 99999999999}', r"C2\.npz: is missing"),
    ],
)
def test_a_wrong_chain_config_is_refused(config, fault, tmp_path):
    (good_chain(tmp_path) / "config.json").write_text(config)
    with pytest.raises(FileFormatError, match=fault):
        LabelTree.from_pecos_chain(tmp_path)


def test_a_pecos_label_in_no_cluster_or_a_node_without_labels_is_no_trouble(tmp_path):
    # Three clusters at the first level, the second without labels.
    write_level(tmp_path / "C0.npz", [0, 1, 2], [0, 3], [3, 1])
    write_level(tmp_path / "C1.npz", [0, 3, 1, 2], [0, 2, 2, 4], [4, 3])
    (tmp_path / "config.json").write_text('{"len": 2}')
    assert clusters(LabelTree.from_pecos_chain(tmp_path)) == as_sets([[0, 1, 2, 3], [0, 3], [1, 2]])


def test_a_compressed_chain_is_read_too(tmp_path):
    write_level(tmp_path / "C0.npz", [1, 0], [0, 2], [2, 1])
    with np.load(tmp_path / "C0.npz") as members:
        np.savez_compressed(tmp_path / "C0.npz", **members)
    (tmp_path / "config.json").write_text('{"len": 1}')
    assert LabelTree.from_pecos_chain(tmp_path) == LabelTree([0, 2], [~0, ~1], 2)


def test_a_zip_bomb_is_refused(tmp_path):
    good_chain(tmp_path)
    with np.load(tmp_path / "C0.npz") as members:
        arrays = dict(members)
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(10**7, dtype=np.int64))
    with zipfile.ZipFile(tmp_path / "C0.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("indices.npy", buffer.getvalue())
        for name in ("indptr", "format", "shape", "data"):
            buffer = io.BytesIO()
            np.save(buffer, arrays[name])
            archive.writestr(f"{name}.npy", buffer.getvalue())
    with pytest.raises(FileFormatError, match="must have one entry a row"):
        LabelTree.from_pecos_chain(tmp_path)
    # A member that says it is larger than its bytes can inflate to.
    data = bytearray((tmp_path / "C0.npz").read_bytes())
    at = data.index(b"PK\x01\x02") + 24
    data[at : at + 4] = struct.pack("<I", 2**31)
    (tmp_path / "C0.npz").write_bytes(data)
    with pytest.raises(FileFormatError, match="claims 2147483648 bytes"):
        LabelTree.from_pecos_chain(tmp_path)


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_other_compressions_are_refused(method, tmp_path):
    with zipfile.ZipFile(good_chain(tmp_path) / "C0.npz", "w", method) as archive:
        archive.writestr("indices.npy", b"x" * 100)
    with pytest.raises(FileFormatError, match="compressed in a way"):
        LabelTree.from_pecos_chain(tmp_path)


def read_or_refuse(read, *names):
    """What a damaged file may do: give a valid tree, or a FileFormatError that names a file."""
    try:
        read().summary()
    except FileFormatError as error:
        assert any(name in str(error) for name in names)  # noqa: PT017


@pytest.fixture(scope="module")
def damaged(tmp_path_factory):
    """A copy of the peers' files to damage, one at a time."""
    folder = tmp_path_factory.mktemp("damaged")
    shutil.copytree(PEERS, folder, dirs_exist_ok=True)

    def damage(name, position, change, cut):
        good = (PEERS / name).read_bytes()
        data = bytearray(good)
        data[position % len(good)] ^= change
        (folder / name).write_bytes(data[: position % len(good)] if cut else data)
        return folder, lambda: (folder / name).write_bytes(good)

    return damage


READERS = {
    "pecos_chain/C1.npz": (lambda folder: LabelTree.from_pecos_chain(folder / "pecos_chain"), "pecos_chain"),
    "pecos_chain/config.json": (lambda folder: LabelTree.from_pecos_chain(folder / "pecos_chain"), "pecos_chain"),
    "napkinxc_kmeans.txt": (lambda folder: LabelTree.from_napkinxc(folder / "napkinxc_kmeans.txt"), "kmeans"),
    "omikuji_model/tree0.cbor": (lambda folder: LabelTree.from_omikuji(folder / "omikuji_model"), "omikuji_model"),
}


@pytest.mark.parametrize("name", READERS)
@given(position=st.integers(0, 20_000), change=st.integers(1, 255), cut=st.booleans())
@settings(max_examples=150, deadline=None)
def test_damaged_files_of_the_peers_are_trees_or_refused(name, position, change, cut, damaged):
    folder, restore = damaged(name, position, change, cut)
    read, part = READERS[name]
    try:
        read_or_refuse(lambda: read(folder), part)
    finally:
        restore()


# napkinXC.


@given(label_trees())
def test_a_tree_comes_back_from_napkinxc_rows(tree):
    again = LabelTree.from_napkinxc(tree.to_napkinxc(), unplaced_labels=tree.unplaced_labels)
    assert again == tree.renumbered(np.zeros(tree.n_labels))


@given(label_trees(), st.randoms(use_true_random=False))
def test_napkinxc_rows_may_come_in_any_order_with_any_ids(tree, random):
    rows = tree.to_napkinxc()
    ids = list(range(len(rows)))
    random.shuffle(ids)
    rows = [(ids[parent] if parent >= 0 else -1, ids[node], label) for parent, node, label in rows]
    random.shuffle(rows)
    again = LabelTree.from_napkinxc(rows, unplaced_labels=tree.unplaced_labels)
    assert clusters(again) == clusters(tree)
    assert again.label_depth.tolist() == tree.label_depth.tolist()


def test_napkinxc_rows_keep_to_its_rules():
    rows = small_tree().to_napkinxc()
    assert rows[0] == (-1, 0, -1)
    assert sorted(node for _, node, _ in rows) == list(range(len(rows)))
    assert sorted(label for _, _, label in rows if label >= 0) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("name", ["napkinxc_kmeans", "napkinxc_huffman"])
def test_the_trees_napkinxc_made_are_read(name, tmp_path):
    rows = [tuple(row) for row in EXPECTED[name]]
    tree = LabelTree.from_napkinxc(PEERS / f"{name}.txt")
    assert tree == LabelTree.from_napkinxc(rows)
    parent = {node: above for above, node, _ in rows}
    for _, node, label in rows:
        depth = -1
        while node != -1:
            node, depth = parent[node], depth + 1
        assert label < 0 or tree.label_depth[label] == depth
    # Written again, the file has the same form: the same bytes where the ids are in napkinXC's order.
    tree.to_napkinxc(tmp_path / "again.txt")
    assert LabelTree.from_napkinxc(tmp_path / "again.txt") == tree
    ours, theirs = (tmp_path / "again.txt").read_text().splitlines(), (PEERS / f"{name}.txt").read_text().splitlines()
    assert ours[0] == theirs[0]
    assert sorted(map(str.count, ours, " " * len(ours))) == sorted(map(str.count, theirs, " " * len(theirs)))


def test_a_label_on_an_inner_node_becomes_its_first_child():
    tree = LabelTree.from_napkinxc([(-1, 0, 0), (0, 1, -1), (1, 2, 1), (1, 3, 2)])
    assert children_of(tree, 0) == [~0, 1]
    assert LabelTree.from_napkinxc([(-1, 0, 0)]) == LabelTree([0, 1], [~0], 1)


def test_labels_missing_from_napkinxc_rows_are_unplaced():
    tree = LabelTree.from_napkinxc([(-1, 0, -1), (0, 1, 3), (0, 2, 1)])
    assert tree.unplaced_labels.tolist() == [0, 2]


WRONG_ROWS = [
    ([], "a list of"),
    ([(-1, 0)], "a list of"),
    ([(-1, 0, -1), (0, 1)], "a list of"),
    ([(-1.0, 0, -1)], "a list of"),
    ([("a", 0, -1)], "a list of"),
    ([(-1, 0, -1), (0, 5, 0)], r"row 1: node must be in \[0, 1\], got 5"),
    ([(-1, 0, -1), (7, 1, 0)], r"row 1: parent must be -1 or in \[0, 1\], got 7"),
    ([(-1, 0, -1), (-3, 1, 0)], "row 1: parent must be -1 or in"),
    ([(-1, 0, -1), (0, 1, 0), (0, 1, 1)], "row 1: node must not come twice"),
    ([(-1, 0, -1), (-1, 1, 0)], "row 1: only one node may have parent -1"),
    ([(1, 0, -1), (0, 1, 0)], "a tree with a root"),
    ([(-1, 0, 0), (2, 1, 1), (1, 2, 2)], "2 nodes hang in a circle"),
    ([(-1, 0, -1), (0, 1, -1)], "row 1: a node must have a label or children"),
    ([(-1, 0, -1), (0, 1, 0), (0, 2, 0)], "label 0, which already stands elsewhere"),
    ([(-1, 0, -1), (0, 1, 10**9)], "1000000001 labels of which only 1 are placed"),
    ([(-1, 0, -1), (0, 1, 10**17)], "labels of which only 1 are placed"),
]


@pytest.mark.parametrize(("rows", "fault"), WRONG_ROWS)
def test_wrong_napkinxc_rows_are_refused(rows, fault):
    with pytest.raises(InputError, match=fault):
        LabelTree.from_napkinxc(rows)


@pytest.mark.parametrize(("rows", "fault"), WRONG_ROWS[5:])
def test_a_napkinxc_file_with_wrong_rows_is_refused_by_name(rows, fault, tmp_path):
    lines = [f"{sum(row[2] >= 0 for row in rows)} {len(rows)}", *(" ".join(map(str, row)) for row in rows)]
    (tmp_path / "tree.txt").write_text("\n".join(lines))
    with pytest.raises(FileFormatError, match=r"tree\.txt: .*" + fault):
        LabelTree.from_napkinxc(tmp_path / "tree.txt")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "must start with a line of two numbers"),
        ("1\n", "must start with a line of two numbers"),
        ("1 -2\n", "must start with a line of two numbers"),
        (f"1 {'9' * 30}\n", "must start with a line of two numbers"),
        ("1 2\n-1 0\n0 one 0\n", "line 3 is not 'parent node"),
        ("1 2\n-1 0\n0 1 0 7\n", "line 3 is not 'parent node"),
        (f"1 2\n-1 0\n0 1 {'9' * 30}\n", "line 3 is not 'parent node"),
        ("1 2\n-1 0\n0 --1 0\n", "line 3 is not 'parent node"),
        ("1 2\n\xff 0\n", "line 2 is not 'parent node"),
        ("1 3\n-1 0\n0 1 0\n", "tells of 1 labels and 3 nodes but has 1 and 2"),
        ("2 2\n-1 0\n0 1 0\n", "tells of 2 labels and 2 nodes but has 1 and 2"),
    ],
)
def test_a_wrong_napkinxc_file_is_refused_by_line(text, fault, tmp_path):
    (tmp_path / "tree.txt").write_bytes(text.encode("latin-1"))
    with pytest.raises(FileFormatError, match=fault):
        LabelTree.from_napkinxc(tmp_path / "tree.txt")


# omikuji.


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
        (to_cbor(LEAF) + b"\0", "goes on after the tree"),
        (to_cbor([1]), "something else where a node should be"),
        (to_cbor({"Root": {}}), "no Branch or Leaf"),
        (to_cbor({"Leaf": 3}), "something else where what a node holds"),
        (to_cbor({"Leaf": {"labels": [0]}}), "no Branch or Leaf of two keys"),
        (to_cbor({"Leaf": {"weights": None, "children": []}}), "unknown key in a Leaf"),
        (to_cbor({"Branch": {"weights": None, "labels": []}}), "unknown key in a Branch"),
        (to_cbor({"Branch": {"weights": None, "children": []}}), "holds no labels"),
        (to_cbor({"Branch": {"weights": None, "children": [LEAF, EMPTY]}}), "node 2 must have at least one child"),
        (to_cbor({"Leaf": {"weights": None, "labels": [0, 0]}}), "label 0, which already stands"),
        (to_cbor({"Leaf": {"weights": None, "labels": [-1]}}), "something else where an unsigned integer"),
        (to_cbor({"Leaf": {"weights": None, "labels": ["a"]}}), "something else where an unsigned integer"),
        (to_cbor({"Leaf": {"weights": None, "labels": [2**31 - 1]}}), "an integer of 2147483647 or more"),
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
