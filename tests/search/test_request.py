"""Requests and queries are checked once; invalid ones are refused with a clear message."""

import numpy as np
import pytest
from scipy import sparse

import labeltrees as lt
from labeltrees.errors import InputError
from labeltrees.search import Searcher, SearchRequest
from labeltrees.search.queries import is_sound, query_rows


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("k", 0),
        ("k", 1.5),
        ("k", True),
        ("k", 2**31),
        ("search", "depth_first"),
        ("agreement", 0),
        ("beam", 0),
        ("beam", "3"),
        ("max_chunks", 0),
        ("max_microseconds", -1),
    ],
)
def test_a_bad_request_names_the_argument(name, value):
    with pytest.raises(InputError, match=name):
        SearchRequest(**{name: value})


def test_the_level_wise_search_is_gone_and_the_error_names_the_new_way():
    with pytest.raises(InputError, match="best_first"):
        SearchRequest(3, search="beam", beam=2)


def broken_csr(**change):
    X = sparse.csr_array(np.eye(2, 20, dtype=np.float32))
    for name, value in change.items():
        setattr(X, name, value)
    return X


@pytest.mark.parametrize(
    "X",
    [
        np.zeros((2, 19)),
        np.zeros(20),
        np.zeros((2, 3, 20)),
        np.full((2, 20), np.nan),
        np.full((2, 20), "a"),
        np.full((2, 20), 1e39),
        sparse.csr_array((2, 21)),
        sparse.csr_array(np.full((1, 20), np.inf)),
        broken_csr(indices=np.array([0, 20], np.int32)),
        broken_csr(indices=np.array([0, -1], np.int32)),
        broken_csr(indptr=np.array([0, 3, 2], np.int32)),
        broken_csr(indptr=np.array([0, 1, 5], np.int32)),
        broken_csr(indptr=np.array([1, 1, 2], np.int32)),
        None,
        "text",
    ],
    ids=lambda X: type(X).__name__,
)
@pytest.mark.filterwarnings("ignore:overflow")
def test_bad_queries_are_refused(twin, X):
    with pytest.raises(InputError, match="X"):
        Searcher(twin.random_model(1, n_features=20).pack()).topk(X, 3)


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array, sparse.lil_matrix, np.asarray])
def test_queries_of_every_kind_give_the_same(twin, make):
    model = twin.random_model(1)
    X = twin.random_queries(2, 4, model.n_features)
    searcher = Searcher(model.pack())
    expected = searcher.topk(X, 3).scores
    np.testing.assert_array_equal(searcher.topk(make(X.toarray()), 3).scores, expected)
    np.testing.assert_array_equal(searcher.topk(make(X.toarray().astype(np.float64)), 3).scores, expected)


@pytest.mark.parametrize("options", [{"loss": "hinge"}, {"score_power": 0}, {"score_power": -1.0}])
def test_bad_losses_are_refused(twin, options):
    with pytest.raises(InputError, match=next(iter(options))):
        Searcher(twin.random_model(1).pack(), **options)


def test_huge_values_give_finite_scores(twin):
    model = twin.random_model(1)
    X = np.zeros((2, model.n_features), np.float32)
    X[:, :] = [[3e38], [-3e38]]
    found = Searcher(model.pack()).topk(X, 5)
    assert np.isfinite(found.scores).all()
    assert (found.scores >= 0).all()
    assert (found.scores <= 1).all()


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


def test_a_model_refuses_the_level_wise_search_with_the_new_way():
    X, Y = sparse.csr_array(np.eye(4, dtype=np.float32)), sparse.csr_array(np.eye(4))
    with pytest.raises(InputError, match="best_first"):
        lt.LabelTreeClassifier(search="beam").fit(X, Y)
