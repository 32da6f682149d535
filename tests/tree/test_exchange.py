"""Trees go to napkinXC's rows and come back; what napkinXC wrote is read; wrong rows are refused."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage, to_tree

import labeltrees as lt
from labeltrees import LabelTree
from labeltrees.errors import FileFormatError, InputError
from tests.strategies import children_of, clusters, label_trees

PEERS = Path(__file__).parents[1] / "data_files" / "peers"
EXPECTED = json.loads((PEERS / "expected.json").read_text())


def small_tree():
    """Labels 0 and 1 at the root, 2 and 3 below it; label 4 is unplaced."""
    return LabelTree([0, 3, 5], [~0, 1, ~1, ~2, ~3], 5)


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


def test_written_napkinxc_rows_follow_its_rules():
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
    ([(-1, 0, -1), (0, 1, 0), (0, 1, 1)], "row 1: node must not occur twice"),
    ([(-1, 0, -1), (-1, 1, 0)], "row 1: only one node may have parent -1"),
    ([(1, 0, -1), (0, 1, 0)], "a tree with a root"),
    ([(-1, 0, 0), (2, 1, 1), (1, 2, 2)], "2 nodes form a cycle"),
    ([(-1, 0, -1), (0, 1, -1)], "row 1: a node must have a label or children"),
    ([(-1, 0, -1), (0, 1, 0), (0, 2, 0)], "label 0, which is already elsewhere"),
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
        ("1 3\n-1 0\n0 1 0\n", "claims 1 labels and 3 nodes but has 1 and 2"),
        ("2 2\n-1 0\n0 1 0\n", "claims 2 labels and 2 nodes but has 1 and 2"),
    ],
)
def test_a_wrong_napkinxc_file_is_refused_by_line(text, fault, tmp_path):
    (tmp_path / "tree.txt").write_bytes(text.encode("latin-1"))
    with pytest.raises(FileFormatError, match=fault):
        LabelTree.from_napkinxc(tmp_path / "tree.txt")


@pytest.mark.parametrize("unplaced", [[5], [-1], [0.5], [0, 1, 2, 3, 4]])
def test_wrong_unplaced_labels_are_an_error_of_the_caller(unplaced):
    with pytest.raises(InputError, match="unplaced_labels must be"):
        LabelTree.from_napkinxc(small_tree().to_napkinxc(), unplaced_labels=unplaced)


# Trees of SciPy's hierarchical clusterings.


def newick(node):
    """The same tree as SciPy's own reader sees it."""
    return str(node.id) if node.is_leaf() else f"({newick(node.left)},{newick(node.right)})"


@given(st.integers(2, 40), st.integers(0, 1000), st.sampled_from(["single", "average", "ward"]))
@settings(max_examples=30, deadline=None)
def test_the_tree_is_the_one_that_scipy_reads(n_labels, seed, method):
    rows = linkage(np.random.default_rng(seed).normal(size=(n_labels, 3)), method)
    tree = lt.LabelTree.from_linkage(rows)
    assert tree.n_labels == n_labels
    assert tree.to_newick() == newick(to_tree(rows)) + ";"


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [[0, 1, 0.5]],
        [[0, 5, 0.5, 2]],
        [[0, 0, 0.5, 2]],
        [[0, 1, 0.5, 2], [0, 3, 0.6, 3]],
        [[0, 1, -1.0, 2]],
        [[0, 1, np.nan, 2]],
        "tree",
    ],
)
def test_other_matrices_are_refused(rows):
    with pytest.raises(lt.errors.InputError, match="linkage must"):
        lt.LabelTree.from_linkage(rows)


def test_a_model_uses_the_tree():
    X = np.eye(4)
    tree = lt.LabelTree.from_linkage(linkage(X))
    model = lt.LabelTreeClassifier(tree=tree).fit(X, np.eye(4))
    assert model.tree_ == tree


# Trees omikuji trained are read; hostile files are refused.


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
        (b"", "is not the CBOR of a tree: premature end"),
        (to_cbor(LEAF)[:-1], "premature end"),
        (to_cbor(LEAF) + b"\0", "more data after the tree"),
        (b"\xa2\x64Leaf\x01\x64Leaf\x02", "Duplicate map key"),
        (b"\xa1\x64Leaf\xc5\x82\x1b\x7f" + b"\xff" * 7 + b"\x02", "error decoding bigfloat"),
        (to_cbor({"Leaf": {"weights": None, "labels": [True]}}), "a label that is not an integer"),
        (to_cbor([1]), "something else where a Branch or a Leaf should be"),
        (to_cbor({"Root": {}}), "where a Branch or a Leaf should be"),
        (to_cbor({"Leaf": 3}), "where a Branch or a Leaf should be"),
        (to_cbor({"Leaf": {"labels": [0]}}), "where a Branch or a Leaf should be"),
        (to_cbor({"Leaf": {"weights": None, "children": []}}), "where a Branch or a Leaf should be"),
        (to_cbor({"Branch": {"weights": None, "labels": []}}), "where a Branch or a Leaf should be"),
        (to_cbor({"Branch": {"weights": None, "children": []}}), "has no labels"),
        (to_cbor({"Branch": {"weights": None, "children": [LEAF, EMPTY]}}), "node 2 must have at least one child"),
        (to_cbor({"Leaf": {"weights": None, "labels": [0, 0]}}), "label 0, which is already"),
        (to_cbor({"Leaf": {"weights": None, "labels": [-1]}}), "a label that is not an integer"),
        (to_cbor({"Leaf": {"weights": None, "labels": ["a"]}}), "a label that is not an integer"),
        (to_cbor({"Leaf": {"weights": None, "labels": [2**31 - 1]}}), "a label that is not an integer in"),
        (to_cbor({"Leaf": {"weights": None, "labels": [0, 2**31 - 1]}}), "a label that is not an integer in"),
        (to_cbor({"Leaf": {"weights": None, "labels": [2**30]}}), "only 1 are placed"),
        (to_cbor({"Leaf": {"weights": None, "labels": 7}}), "something else where the labels of a Leaf should be"),
        (b"\xa1\x9b" + b"\xff" * 8, "is not the CBOR of a tree"),
        (b"\xbb" + b"\xff" * 8, "is not the CBOR of a tree"),
        (b"\xa1\x7b" + b"\xff" * 8, "is not the CBOR of a tree"),
        (b"\xbf\x64Leaf\xff", "indefinite length"),
        (b"\xa1\x64\xff\xfe\xfd\xfc", "error decoding text string"),
        (b"\xa1\x64Leaf\xa2\x67weights" + b"\x81" * 100_000, "nesting depth"),
        (b"\xa1\x66Branch\xa2\x67weights\xf6\x68children\x81" * 20_000, "nesting depth"),
    ],
)
def test_a_hostile_omikuji_file_is_refused_by_name_and_fault(data, fault, tmp_path):
    (tmp_path / "tree0.cbor").write_bytes(data)
    with pytest.raises(FileFormatError, match=fault) as caught:
        LabelTree.from_omikuji(tmp_path)
    assert str(caught.value).startswith(str(tmp_path))


def test_omikuji_trees_that_do_not_exist_are_refused(tmp_path):
    with pytest.raises(FileFormatError, match=r"tree0\.cbor: is missing"):
        LabelTree.from_omikuji(tmp_path)
    with pytest.raises(FileFormatError, match="has label 19, but there are 3 labels"):
        LabelTree.from_omikuji(PEERS / "omikuji_model", n_labels=3)
    with pytest.raises(InputError, match="tree must be an integer"):
        LabelTree.from_omikuji(PEERS / "omikuji_model", tree=-1)


def test_a_linkage_of_some_labels():
    tree = lt.LabelTree.from_linkage(linkage([[0.0], [0.1], [5.0]]), labels=[7, 3, 5], n_labels=10)
    assert tree.to_newick() == "(5,(7,3));"
    assert tree.unplaced_labels.tolist() == [0, 1, 2, 4, 6, 8, 9]
    for labels in ([7, 3], [7, 3, 3], [7, 3, 10], [-1, 3, 5], [0.5, 1, 2]):
        with pytest.raises(lt.errors.InputError, match="labels must be 3 different label ids"):
            lt.LabelTree.from_linkage(linkage([[0.0], [0.1], [5.0]]), labels=labels, n_labels=10)
