"""Reading some points at a time gives the points, faults and base of reading the file whole."""

import os

import numpy as np
import pytest
import scipy.sparse as sp

import labeltrees as lt
from labeltrees import FileFormatError, InputError
from labeltrees.data.xmc_blocks import open_xmc_blocks

N_POINTS = 500


def random_dataset():
    rng = np.random.default_rng(0)
    X = sp.random_array((N_POINTS, 60), density=0.2, rng=rng, dtype=np.float32, format="csr")
    Y = sp.random_array((N_POINTS, 20), density=0.1, rng=rng, dtype=np.float32, format="csr")
    Y.data[:] = 1
    return lt.Dataset(X, Y)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("blocks") / "points.txt.gz"
    lt.write_xmc(random_dataset(), path)
    return path


def one_based(path, target):
    """Write the points of `path` with ids from 1."""
    whole = lt.read_xmc(path)
    lines = [f"{N_POINTS} {whole.n_features} {whole.n_labels}"]
    for x, y in zip(whole.X, whole.Y, strict=True):
        labels = ",".join(str(label + 1) for label in y.indices)
        lines.append(" ".join([labels, *(f"{f + 1}:{v}" for f, v in zip(x.indices, x.data, strict=True))]))
    target.write_text("\n".join(lines) + "\n")
    return target


def put_together(blocks):
    blocks = list(blocks)
    return sp.vstack([block.X for block in blocks]), sp.vstack([block.Y for block in blocks]), len(blocks)


@pytest.mark.parametrize("block_bytes", [1, 100, 5000, 1 << 22])
def test_the_blocks_together_are_the_file(path, block_bytes):
    whole = lt.read_xmc(path)
    with open_xmc_blocks(path, block_bytes=block_bytes) as blocks:
        assert (blocks.n_points, blocks.n_features, blocks.n_labels) == (N_POINTS, 60, 20)
        X, Y, n_blocks = put_together(blocks)
    assert (X != whole.X).nnz == 0
    assert (Y != whole.Y).nnz == 0
    assert n_blocks > 10 or block_bytes > 5000


def test_auto_looks_at_the_whole_file_before_the_first_block(path, tmp_path, caplog):
    moved = one_based(path, tmp_path / "moved.txt")
    with open_xmc_blocks(moved, block_bytes=300) as blocks:
        X, Y, _ = put_together(blocks)
    whole = lt.read_xmc(path)
    assert (X != whole.X).nnz == 0
    assert (Y != whole.Y).nnz == 0
    assert "ids are taken to start at 1" in caplog.text


@pytest.mark.parametrize("index_base", ["auto", 0])
@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "the file is empty"),
        ("2 2 2\n0 0:1\n", r"the header says N=2 points, the file has 1"),
        ("1 2 2\n0 0:1\n1 1:1\n", "line 3"),
        ("2 2 2\n0 0:1\n1 5:1\n", "line 3: feature id 5 is out of range"),
        ("x" * 5000, "line 1: the header must be three counts"),
    ],
)
def test_a_fault_names_file_and_line(tmp_path, index_base, text, fault):
    path = tmp_path / "bad.txt"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=rf"bad\.txt.*{fault}"), open_xmc_blocks(path, index_base) as blocks:
        list(blocks)


def test_a_fault_far_in_the_file_names_its_line(path, tmp_path):
    whole = one_based(path, tmp_path / "cut.txt").read_text().splitlines()
    whole[400] += " 61:1"
    (tmp_path / "cut.txt").write_text("\n".join(whole))
    with (
        pytest.raises(FileFormatError, match=r"line 401: feature id 61 "),
        open_xmc_blocks(tmp_path / "cut.txt", 1, block_bytes=2000) as blocks,
    ):
        list(blocks)


def test_what_cannot_be_read_twice_needs_a_base(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="cannot be read twice, so index_base must be 0 or 1"):
        with open_xmc_blocks(tmp_path / "pipe"):
            pass


@pytest.mark.parametrize("index_base", [2, True, "zero"])
def test_another_base_is_refused(path, index_base):
    with pytest.raises(InputError, match="index_base must be 'auto', 0 or 1"):
        with open_xmc_blocks(path, index_base):
            pass
