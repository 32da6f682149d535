"""Trees go to napkinXC's rows and come back; what napkinXC wrote is read; wrong rows are refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labeltrees import FileFormatError, InputError, LabelTree
from tests.strategies import children_of, clusters, label_trees

PEERS = Path(__file__).parents[2] / "data_files" / "peers"
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
def test_wrong_unplaced_labels_are_the_callers_fault(unplaced):
    with pytest.raises(InputError, match="unplaced_labels must be"):
        LabelTree.from_napkinxc(small_tree().to_napkinxc(), unplaced_labels=unplaced)
