"""Queries are checked before native code gets them."""

import numpy as np
import pytest
from scipy import sparse

from labeltrees.errors import InputError
from labeltrees.search.queries import is_sound, query_rows


def make_rows():
    return sparse.random_array((50, 30), density=0.3, rng=np.random.default_rng(0), format="csr", dtype=np.float32)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_sound_rows_are_not_copied(n_threads):
    X = make_rows()
    assert is_sound(X, n_threads)
    rows = query_rows(X, 30, n_threads)
    assert rows.check(30, n_threads) == (True, True)
    X.data[-1] = np.nan
    assert rows.check(30, n_threads) == (False, True)  # they share memory
    X.data[-1] = 1
    X.indices[0] = 30
    assert not rows.check(30, n_threads)[0]


@pytest.mark.parametrize("fault", [np.nan, np.inf, -np.inf, "negative", "large", "falling", "short"])
def test_rows_with_a_fault_are_not_sound_and_are_refused(fault):
    X = make_rows()
    if fault == "negative":
        X.indices[7] = -1
    elif fault == "large":
        X.indices[7] = 30
    elif fault == "falling":
        X.indptr[3] = X.indptr[5] + 1
    elif fault == "short":
        X.indptr[-1] += 1
    else:
        X.data[-1] = fault
    assert not is_sound(X)
    with pytest.raises(InputError):
        query_rows(X, 30)


def test_other_forms_are_converted():
    X = make_rows()
    for other in (X.astype(np.float64), X.tocsc(), X.tocoo()):
        assert not is_sound(other)
        rows = query_rows(other, 30)
        assert rows.n == 50
        assert rows.check(30, 1) == (True, True)


def test_rows_in_another_order_or_with_a_feature_twice_are_sound_but_not_canonical():
    X = make_rows()
    assert is_sound(X, canonical=True)
    first = X.indptr[4]
    for features in (X.indices[[first + 1, first]], X.indices[[first, first]]):
        other = X.copy()
        other.indices[first : first + 2] = features
        assert is_sound(other)
        assert not is_sound(other, canonical=True)
