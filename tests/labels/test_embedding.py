"""PIFA embeddings against SciPy's product."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from labeltrees.errors import InputError
from labeltrees.labels import embedding
from labeltrees.labels.embedding import pifa


def twin(X, Y):
    """Y^T X with Y as 0/1, rows of unit length, in float64."""
    product = (sp.csr_array(Y) > 0).astype(float).T @ sp.csr_array(X).astype(float)
    dense = product.toarray()
    lengths = np.linalg.norm(dense, axis=1, keepdims=True)
    return np.divide(dense, lengths, out=np.zeros_like(dense), where=lengths > 0)


def random_case(seed, n_points=300, n_features=200, n_labels=80, negative=False):
    rng = np.random.default_rng(seed)
    X = sp.random_array((n_points, n_features), density=0.05, rng=rng, dtype=np.float32).tocsr()
    if negative:
        X.data -= 0.5
    Y = (sp.random_array((n_points, n_labels), density=0.03, rng=rng) > 0).tocsr()
    return X, Y


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("negative", [False, True])
def test_equals_scipys_normalised_product(seed, negative):
    X, Y = random_case(seed, negative=negative)
    result = pifa(X, Y)
    assert result.dtype == np.float32
    assert result.shape == (80, 200)
    assert result.has_canonical_format
    assert result.data.all()
    np.testing.assert_allclose(result.toarray(), twin(X, Y), atol=1e-6)


@given(
    st.integers(1, 12).flatmap(
        lambda n: st.tuples(
            st.lists(st.lists(st.integers(-2, 2), min_size=5, max_size=5), min_size=n, max_size=n),
            st.lists(st.lists(st.booleans(), min_size=6, max_size=6), min_size=n, max_size=n),
        )
    )
)
def test_small_cases_equal_the_twin(case):
    X, Y = (np.array(part) for part in case)
    expected = twin(X, Y)
    sparse = pifa(sp.csr_array(X), sp.csr_array(Y))
    np.testing.assert_allclose(sparse.toarray(), expected, atol=1e-6)
    np.testing.assert_allclose(pifa(X, Y), expected, atol=1e-6)
    assert sparse.nnz == np.count_nonzero(expected)


def test_many_columns_and_large_blocks_equal_the_twin():
    # 20,000 columns need several words of the upper level; five million occurrences need several rounds of blocks.
    rng = np.random.default_rng(0)
    X = sp.random_array((2000, 20_000), density=0.01, rng=rng, dtype=np.float32).tocsr()
    Y = sp.random_array((2000, 3000), density=0.004, rng=rng).tocsr()
    result = pifa(X, Y, n_jobs=2)
    expected = (Y > 0).astype(np.float64).T @ X.astype(np.float64)
    lengths = np.sqrt(expected.power(2).sum(axis=1))
    expected = sp.diags_array(1 / lengths) @ expected
    assert abs(result - expected).max() < 1e-6
    assert result.has_canonical_format


@pytest.mark.parametrize("dense", [False, True])
def test_the_number_of_threads_changes_nothing(dense):
    X, Y = random_case(5, n_points=3000, n_labels=2000)
    if dense:
        X = X.toarray()
    one, two = (pifa(X, Y, n_jobs=n_jobs) for n_jobs in (1, 2))
    if dense:
        np.testing.assert_array_equal(one, two)
    else:
        for name in ("indptr", "indices", "data"):
            np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


@pytest.mark.parametrize("n_points", [63, 64, 65, 1000])
def test_labels_with_many_points_equal_the_twin(n_points):
    # From 64 points on that touch most columns, touched columns are not noted one by one. Column 3 cancels out.
    rng = np.random.default_rng(n_points)
    X = rng.integers(-3, 4, (n_points, 40)) * (rng.random((n_points, 40)) < 0.2)
    X[:, 3] = 0
    X[:2, 3] = [1, -1]
    Y = np.hstack([np.ones((n_points, 1)), rng.random((n_points, 3)) < 0.9])
    result = pifa(sp.csr_array(X), Y)
    np.testing.assert_allclose(result.toarray(), twin(X, Y), atol=1e-6)
    assert result.has_canonical_format
    assert 3 not in result[[0]].indices


def test_unsorted_and_repeated_columns_are_summed():
    X = sp.csr_array((np.array([3.0, 1.0, 1.0, 2.0]), np.array([2, 0, 0, 1]), np.array([0, 3, 4])), shape=(2, 3))
    result = pifa(X, np.eye(2))
    np.testing.assert_allclose(result.toarray(), twin(X, np.eye(2)), atol=1e-6)
    assert result.has_canonical_format


def test_values_of_y_do_not_enter():
    X, Y = random_case(1)
    weighted = Y.astype(float) * 7.5
    np.testing.assert_array_equal(pifa(X, weighted).data, pifa(X, Y).data)


def test_a_label_without_points_or_with_empty_points_has_an_empty_row():
    X = sp.csr_array(np.array([[1.0, 0.0], [0.0, 0.0]]))
    result = pifa(X, np.array([[1, 0, 0], [0, 1, 0]]))
    np.testing.assert_array_equal(np.diff(result.indptr), [1, 0, 0])
    dense = pifa(X.toarray(), np.array([[1, 0, 0], [0, 1, 0]]))
    np.testing.assert_array_equal(dense, [[1, 0], [0, 0], [0, 0]])


def test_extreme_values_neither_overflow_nor_vanish():
    X = sp.csr_array(np.array([[3e38, 3e38, 0.0], [3e38, 0.0, 0.0], [0.0, 0.0, 1e-40]]))
    result = pifa(X, np.array([[1, 0], [1, 0], [0, 1]])).toarray()
    np.testing.assert_allclose(result, [[2 / 5**0.5, 1 / 5**0.5, 0], [0, 0, 1]], rtol=1e-6)


def test_very_wide_x_is_renumbered(monkeypatch):
    X, Y = random_case(2)
    wide = sp.csr_array((X.data, X.indices.astype(np.int64) * 10_000_000, X.indptr), shape=(300, 2_000_000_000))
    result = pifa(wide, Y)
    expected = pifa(X, Y)
    assert result.shape == (80, 2_000_000_000)
    np.testing.assert_array_equal(result.indices, expected.indices.astype(np.int64) * 10_000_000)
    np.testing.assert_array_equal(result.data, expected.data)
    monkeypatch.setattr(embedding, "_WIDEST", 10)
    np.testing.assert_array_equal(pifa(X, Y).toarray(), expected.toarray())


def test_the_callers_matrices_are_not_changed():
    X = sp.csr_array((np.array([1.0, 2.0]), np.array([1, 0]), np.array([0, 2])), shape=(1, 2))
    Y = sp.csr_array((np.array([1.0, 0.0]), np.array([1, 0]), np.array([0, 2])), shape=(1, 2))
    pifa(X, Y)
    np.testing.assert_array_equal(X.indices, [1, 0])
    np.testing.assert_array_equal(Y.data, [1.0, 0.0])


@pytest.mark.parametrize(
    ("X", "Y", "message"),
    [
        (np.ones((3, 2)), np.ones((2, 2)), "same number of rows, got 3 and 2"),
        (np.array([[1.0], [np.nan]]), np.ones((2, 1)), "X has a NaN at row 1, column 0"),
        (sp.csr_array([[1.0], [np.inf]]), np.ones((2, 1)), "X has an infinite value at row 1"),
        (np.array([[1e300], [1.0]]), np.ones((2, 1)), "too large for float32, at row 0"),
        (np.array([["a"], ["b"]]), np.ones((2, 1)), "X must be a matrix of real numbers"),
        (np.ones(3), np.ones((3, 1)), "X must be two-dimensional"),
        (sp.csr_array((2, 3)).astype(complex), np.ones((2, 1)), "X must be a matrix of real numbers"),
        (np.ones((0, 2)), np.ones((0, 2)), "the shape of X must be at least 1"),
        ([[1, 2], [3]], np.ones((2, 1)), "X is not a matrix"),
    ],
)
def test_bad_input_is_refused_by_name(X, Y, message):
    with pytest.raises(InputError, match=message):
        pifa(X, Y)


def test_a_sparse_matrix_with_column_ids_out_of_range_is_refused():
    X = sp.csr_array(np.ones((2, 2)))
    X.indices[3] = 7
    with pytest.raises(InputError, match="X is a damaged sparse matrix"):
        pifa(X, np.ones((2, 1)))


def test_zero_threads_are_refused():
    with pytest.raises(InputError, match="n_jobs"):
        pifa(np.ones((1, 1)), np.ones((1, 1)), n_jobs=0)
