"""Every instruction set of this machine gives the same result up to rounding."""

import numpy as np
import pytest

from labeltrees import _core
from labeltrees.search.evidence_arrays import from_short, to_short


@pytest.mark.parametrize("n", [0, 1, 3, 4, 7, 8, 15, 16, 17, 31, 100])
def test_gather_dot_equals_numpy_on_every_instruction_set(kernels, n):
    rng = np.random.default_rng(n)
    columns = rng.permutation(200)[:n].astype(np.int32)
    values = rng.standard_normal(n).astype(np.float32)
    dense = rng.standard_normal(200).astype(np.float32)
    assert _core.gather_dot(columns, values, dense) == pytest.approx(float(values @ dense[columns]), abs=1e-4)


@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 100])
def test_gather_dot_pairs_is_gather_dot_of_two_vectors(kernels, n):
    rng = np.random.default_rng(n)
    columns = rng.permutation(200)[:n].astype(np.int32)
    values = rng.standard_normal(n).astype(np.float32)
    dense = rng.standard_normal((200, 2)).astype(np.float32)
    sums = _core.gather_dot_pairs(columns, values, dense.ravel())
    np.testing.assert_allclose(sums, values @ dense[columns], atol=1e-4)


@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 100])
def test_dense_dot_equals_numpy_on_every_instruction_set(kernels, n):
    a, b = np.random.default_rng(n).standard_normal((2, n)).astype(np.float32)
    assert _core.dense_dot(a, b) == pytest.approx(float(a @ b), abs=1e-4)


@pytest.mark.parametrize("n_words", [1, 2, 61])
@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
def test_sum_present_equals_numpy_on_every_instruction_set(kernels, n_words, share):
    rng = np.random.default_rng(n_words)
    in_row, in_query = rng.random(64 * n_words) < 0.2, rng.random(64 * n_words) < share
    weights = to_short(rng.standard_normal(in_row.sum()))
    row, query = (np.packbits(bits, bitorder="little").view(np.uint64) for bits in (in_row, in_query))
    expected = from_short(weights)[in_query[in_row]].sum()
    assert _core.sum_present(row, query, weights) == pytest.approx(float(expected), abs=1e-4)


def test_an_unknown_instruction_set_is_rejected():
    assert not _core.use_kernels("mmx")
