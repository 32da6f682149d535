"""Checked matrices: what is checked once is not looked at again."""

import numpy as np
import pytest
import scipy.sparse as sp

from labeltrees._matrices import (
    CheckedX,
    CheckedY,
    Indicator,
    SparseRows,
    check_sample_weight,
    check_X,
    check_Y,
    sparse_features,
)
from labeltrees.errors import InputError

X = np.array([[0.5, 0.0, 2.0], [0.0, -1.0, 0.0]])
Y = np.array([[1, 0, 3], [0, 0, 0]])


def test_checked_values_pass_through_as_the_same_object():
    checked_x, checked_y = check_X(X), check_Y(Y)
    assert check_X(checked_x) is checked_x
    assert check_Y(checked_y) is checked_y


def test_a_sparse_matrix_becomes_canonical_rows_for_native_code():
    unsorted = sp.csr_array((np.array([2.0, 0.5, -1.0]), np.array([2, 0, 1]), np.array([0, 2, 3])), shape=(2, 3))
    checked = check_X(unsorted)
    rows = checked.rows
    assert isinstance(rows, SparseRows)
    assert (rows.indptr.dtype, rows.indices.dtype, rows.values.dtype) == (np.int64, np.int32, np.float32)
    assert rows.indices.tolist() == [0, 2, 1]
    assert (checked.n_points, checked.n_features, rows.n_columns) == (2, 3, 3)
    assert unsorted.indices.tolist() == [2, 0, 1]


def test_a_dense_matrix_stays_dense_and_is_copied_unless_it_is_read_only():
    dense = np.ascontiguousarray(X, dtype=np.float32)
    checked = check_X(dense)
    assert checked.rows is checked.matrix
    assert not np.shares_memory(checked.matrix, dense)
    dense.flags.writeable = False
    assert np.shares_memory(check_X(dense).matrix, dense)
    assert sparse_features(dense).toarray().tolist() == dense.tolist()


def test_sparse_values_may_be_huge_but_not_infinite():
    huge = sp.csr_array(np.array([[0.0, 3e38], [1.0, -3e38]]))  # their squares are not finite in float32
    assert check_X(huge).rows.values.tolist() == [float(np.float32(v)) for v in (3e38, 1.0, -3e38)]
    for bad in (np.nan, np.inf, -np.inf, 1e39):
        huge.data[1] = bad
        with pytest.raises(InputError, match="row 1, column 0"):
            check_X(huge)


def test_labels_become_relevance_values_and_an_indicator():
    checked = check_Y(sp.csr_array((np.array([1, 0, 3]), (np.array([0, 0, 0]), np.array([0, 1, 2]))), shape=(2, 3)))
    assert checked.matrix.data.tolist() == [1.0, 3.0]
    indicator = checked.indicator
    assert isinstance(indicator, Indicator)
    assert (indicator.indptr.tolist(), indicator.indices.tolist(), indicator.n_labels) == ([0, 2, 2], [0, 2], 3)
    assert checked.indicator is indicator


@pytest.mark.parametrize(("check", "kind"), [(check_X, CheckedX), (check_Y, CheckedY)])
def test_an_empty_matrix_is_refused_unless_it_is_allowed_even_when_checked_before(check, kind):
    checked = check(np.zeros((0, 3)), allow_empty=True)
    assert isinstance(checked, kind)
    with pytest.raises(InputError, match="the shape of Q must be at least 1"):
        check(checked, "Q")


def test_errors_name_the_matrix_and_the_place():
    with pytest.raises(InputError, match="E has a NaN at row 1, column 0"):
        check_X([[1.0, 2.0], [np.nan, 0.0]], "E")
    with pytest.raises(InputError, match="Y has the negative value -1 at row 0, column 1"):
        check_Y([[0, -1]])


@pytest.mark.parametrize(
    ("weights", "fault"),
    [
        ([1.0], "of shape"),
        ([0.0, 0.0], "zero for every point"),
        ([1.0, -1.0], r"sample_weight\[1\]"),
        (["a", "b"], "an array of numbers"),
        ([1e290, 1e290], "must sum to at most"),
        (np.array(["2026-01-01", "2026-01-02"], "datetime64[D]"), r"an array of numbers, got 'datetime64\[D\]'"),
        ([np.datetime64("2026-01-01")] * 2, "an array of numbers"),
        (np.array([1, 2], "timedelta64[s]"), "an array of numbers"),
        (np.ma.masked_array([1.0, 2.0], [True, False]), "sample_weight must be an array without masked values"),
    ],
)
def test_point_weights_that_cannot_be_used_are_refused(weights, fault):
    with pytest.raises(InputError, match=fault):
        check_sample_weight(weights, 2)


@pytest.mark.parametrize("check", [check_X, check_Y, sparse_features])
def test_masked_values_are_refused(check):
    with pytest.raises(InputError, match="must be an array without masked values"):
        check(np.ma.masked_array(Y, Y > 1))
    check(np.ma.masked_array(Y, False))
