"""Trees go to PECOS' cluster chain and come back; what PECOS wrote is read; hostile chains are refused."""

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
from scipy import sparse

from labeltrees import LabelTree
from labeltrees.errors import FileFormatError, InputError
from labeltrees.tree.pecos import pecos_chain
from tests.strategies import clusters, label_trees, labels_below

PEERS = Path(__file__).parents[1] / "data_files" / "peers"
EXPECTED = json.loads((PEERS / "expected.json").read_text())


def as_sets(lists):
    return {frozenset(labels) for labels in lists}


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
def test_a_pecos_chain_is_one_matrix_per_level_with_all_labels_in_the_last(tree):
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


def test_unplaced_labels_of_a_flat_tree_are_below_the_root(tmp_path):
    tree = LabelTree([0, 2], [~0, ~2], 4)
    tree.to_pecos_chain(tmp_path)
    assert LabelTree.from_pecos_chain(tmp_path).label_depth.tolist() == [1, 1, 1, 1]
    assert LabelTree.from_pecos_chain(tmp_path, unplaced_labels=[1, 3]) == tree


def test_a_chain_of_one_label_comes_back(tmp_path):
    tree = LabelTree([0, 1, 2, 3], [1, 2, ~1], 2)
    tree.to_pecos_chain(tmp_path)
    assert LabelTree.from_pecos_chain(tmp_path, unplaced_labels=[0]) == LabelTree([0, 1], [~1], 2)


@pytest.mark.parametrize("unplaced", [[5], [-1], [0.5], [0, 1, 2, 3, 4]])
def test_wrong_unplaced_labels_are_an_error_of_the_caller(tmp_path, unplaced):
    LabelTree([0, 3, 5], [~0, 1, ~1, ~2, ~3], 5).to_pecos_chain(tmp_path)
    with pytest.raises(InputError, match="unplaced_labels must be"):
        LabelTree.from_pecos_chain(tmp_path, unplaced_labels=unplaced)


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
        (([0, 1], [1, 2], [2, 1]), "column starts that do not increase from 0 to 2"),
        (([0, 1], [0, 1], [2, 1]), "column starts that do not increase from 0 to 2"),
        (([0, 1], [0, 5, 2], [2, 2]), "column starts that do not increase from 0 to 2"),
        (([0], [0, 1], [2, 1]), "must have one entry per row"),
        ((np.array([], dtype=np.int64), [0, 0], [2, 1]), "must have one entry per row"),
        (([0, 1], [0, 2], [2**40, 1]), "has a shape"),
        (([0, 1], [0, 2], [2, -1]), "has a shape"),
        (([0, 1], [0, 2], [2]), "has a shape"),
        (([0.0, 1.0], [0, 2], [2, 1]), "members of the wrong type"),
        (([0, 1], [0, 2], [2, 1], np.array(["a", "b"])), "members of the wrong type"),
        (([0, 1], [0, 2], [2, 1], None, b"csr"), "is not a CSC matrix"),
        (([0, 1], [0, 2], [2, 1], None, 3), "is not a CSC matrix"),
        (([0, 1], [0, 2], [2, 1], np.array([None, {}], dtype=object)), "unsupported npy header"),
        (([0, 1], [0, 2], np.array([[2, 1]])), "where its header claims"),
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


def test_a_pecos_label_in_no_cluster_or_a_node_without_labels_is_handled(tmp_path):
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
    with pytest.raises(FileFormatError, match="must have one entry per row"):
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
    with pytest.raises(FileFormatError, match="unsupported compression"):
        LabelTree.from_pecos_chain(tmp_path)


@pytest.mark.parametrize("magic", [b"\x93NUMPY\x03\x00", b"\x93NUMPY\x01\x01", b"\x93numpy\x01\x00"])
def test_other_versions_of_npy_are_refused(magic, tmp_path):
    with zipfile.ZipFile(good_chain(tmp_path) / "C0.npz", "w") as archive:
        archive.writestr("indices.npy", magic + b"\x02\x00{}" + bytes(16))
    with pytest.raises(FileFormatError, match="is not an array of npy version 1 or 2"):
        LabelTree.from_pecos_chain(tmp_path)


@pytest.mark.parametrize("n_bytes", [8, 24])
def test_a_member_must_have_the_bytes_of_its_header(n_bytes, tmp_path):
    buffer = io.BytesIO()
    np.save(buffer, np.arange(2))
    with zipfile.ZipFile(good_chain(tmp_path) / "C0.npz", "w") as archive:
        archive.writestr("indices.npy", buffer.getvalue()[:-16] + bytes(n_bytes))
    with pytest.raises(FileFormatError, match=rf"has {n_bytes} bytes where its header claims \[2\] values"):
        LabelTree.from_pecos_chain(tmp_path)
