"""One query a call: the same answers as in a batch, and bad queries refused."""

import os
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse

from labeltrees import _core
from labeltrees._names import encode_names
from labeltrees.errors import InputError
from labeltrees.models.linear.names import make_names
from labeltrees.search import Searcher, SearchRequest
from labeltrees.search.evidence import Evidence
from labeltrees.storage import pack_dense_chunks
from tests.sanitizers import WITH_THREAD_SANITIZER

pytestmark = pytest.mark.smoke


@pytest.fixture(scope="module")
def case(twin):
    model = twin.random_model(1, n_labels=300, most_children=20, n_features=200, values=None)
    X = twin.random_queries(2, 60, 200, values=None)
    return Searcher(model.pack(), normalize=True), X


@pytest.mark.parametrize("options", [{}, {"beam": 3}, {"search": "paths", "beam": 3}, {"max_chunks": 2}], ids=str)
def test_single_calls_equal_the_batch(case, options):
    searcher, X = case
    batch = searcher.topk(X, SearchRequest(5, **options))
    predict = searcher.predictor(SearchRequest(5, **options))
    for row in range(X.shape[0]):
        one = X[[row]]
        for query in (
            (one.indices, one.data),
            (one,),
            (one.indices.astype(np.int64), one.data.astype(np.float64)),
            (one.indices.tolist(), one.data.tolist()),
            (one.toarray()[0],),
        ):
            labels, scores = predict(*query)
            n = (batch.labels[row] >= 0).sum()
            np.testing.assert_array_equal(labels, batch.labels[row][:n])
            np.testing.assert_array_equal(scores, batch.scores[row][:n])
    assert labels.dtype == np.int64
    assert scores.dtype == np.float32


@pytest.mark.parametrize("evidence", [False, True], ids=["trees", "evidence"])
def test_values_of_the_same_index_are_added(case, evidence):
    searcher, _ = case
    rng = np.random.default_rng(3)
    if evidence:
        names = make_names(sparse.random_array((300, 200), density=0.05, rng=rng, format="csr"), np.zeros(300))
        searcher = Searcher(searcher.stores, normalize=True, evidence=Evidence(300, 200, (names,)))
    for n in (1, 8, 300):
        indices = rng.permutation(np.tile(rng.integers(0, 200, n), 2))
        row = sparse.csr_array((rng.standard_normal(2 * n), indices, [0, 2 * n]), shape=(1, 200), dtype=np.float32)
        summed = row.copy()
        summed.sum_duplicates()
        batch = searcher.topk(summed, SearchRequest(5))
        for query in ((row,), (row.indices, row.data), (row.indices.tolist(), row.data.tolist())):
            labels, scores = searcher.predictor(5)(*query)
            np.testing.assert_array_equal(labels, batch.labels[0])
            np.testing.assert_allclose(scores, batch.scores[0], rtol=1e-4)


def test_values_that_add_up_to_infinity_are_refused(case):
    with pytest.raises(InputError, match="finite"):
        case[0].predictor(5)([7, 7], [3e38, 3e38])


@pytest.mark.parametrize("names", [None, [f"näme {label}" for label in range(300)]], ids=["ids", "names"])
def test_lists_hold_the_same_with_six_digits(case, names):
    searcher, X = case
    native = None if names is None else _core.Names(*encode_names(names), "names")
    predict = searcher.predictor(7, names=native, with_names=names is not None)
    for row in range(X.shape[0]):
        expected, exact = searcher.predictor(7)(X[[row]])
        labels, scores = predict.lists(X[[row]].indices.tolist(), X[[row]].data.tolist())
        assert labels == [label if names is None else names[label] for label in expected.tolist()]
        assert scores == [float(f"{score:.6g}") for score in exact.tolist()]


def test_k_may_change_with_every_call(case):
    searcher, X = case
    predict = searcher.predictor(3)
    one = X[[0]]
    assert len(predict(one)[0]) == 3
    assert len(predict(one, k=7)[0]) == 7
    assert len(predict(one.indices, one.data, 1)[0]) == 1
    assert len(predict(one, k=10**9)[0]) <= searcher.n_labels


def test_rows_of_every_sparse_class_are_taken(case):
    searcher, X = case
    predict = searcher.predictor(3)
    np.testing.assert_array_equal(predict(sparse.csr_matrix(X[[0]]))[0], predict(X[[0]])[0])


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ((np.array([200], np.int32), np.ones(1, np.float32)), "indices"),
        ((np.array([-1], np.int32), np.ones(1, np.float32)), "indices"),
        ((np.array([2**32], np.int64), np.ones(1, np.float32)), "indices"),
        ((np.array([1], np.int32), np.ones(2, np.float32)), "same length"),
        ((np.array([1], np.int32), np.array([np.nan], np.float32)), "finite"),
        ((np.array([1], np.int32), np.array([np.inf], np.float32)), "finite"),
        ((np.array([1.0], np.float32), np.ones(1, np.float32)), "indices"),
        ((np.array([1], np.int32), np.ones(1, np.int32)), "values"),
        ((np.array([[1]], np.int32), np.ones(1, np.float32)), "dimension"),
        ((np.arange(8, dtype=np.int32)[::2], np.ones(4, np.float32)), "contiguous"),
        (([200], [1.0]), "indices"),
        (([2**80], [1.0]), "indices"),
        ((["1"], [1.0]), "indices"),
        (([1], ["1"]), "finite"),
        (([1], [10**400]), "finite"),
        (([1, 2], [1.0]), "same length"),
        (((1,), (1.0,)), "array"),
        ((np.ones(5, np.float32),), "200 values"),
        (("text",), "no vectorizer"),
        ((sparse.csr_array((2, 200), dtype=np.float32),), "one CSR row"),
        ((np.array([1], np.int32), np.ones(1, np.float32), 0), "k"),
        ((np.array([1], np.int32), np.ones(1, np.float32), 2.5), "k"),
        ((np.array([1], np.int32), np.ones(1, np.float32), 2**70), "k"),
    ],
    ids=str,
)
def test_bad_queries_are_refused(case, query, message):
    searcher, _ = case
    with pytest.raises(InputError, match=message):
        searcher.predictor(3)(*query)


def test_a_search_after_a_refused_query_is_sound(case):
    searcher, X = case
    predict = searcher.predictor(3)
    before = predict(X[[0]])
    with pytest.raises(InputError):
        predict(np.array([500], np.int32), np.ones(1, np.float32))
    np.testing.assert_array_equal(predict(X[[0]])[1], before[1])


def test_many_threads_may_call_at_once(case):
    searcher, X = case
    batch = searcher.topk(X, 5)
    predict = searcher.predictor(5)
    rows = [X[[i]] for i in range(X.shape[0])]

    def work(_):
        return [predict(row)[1] for row in rows]

    with ThreadPoolExecutor(8) as pool:
        for scores in pool.map(work, range(24)):
            for row, found in enumerate(scores):
                np.testing.assert_array_equal(found, batch.scores[row][: len(found)])


def test_dense_models_take_dense_rows(twin):
    model = twin.random_model(3, n_features=30)
    store = pack_dense_chunks(model, model.W.toarray(), model.bias, np.ones(model.n_nodes))
    X = np.random.default_rng(0).standard_normal((5, 30)).astype(np.float32)
    searcher = Searcher(store)
    for row, scores in zip(X, searcher.topk(X, 4).scores, strict=True):
        np.testing.assert_array_equal(searcher.predictor(4)(row)[1], scores[: len(searcher.predictor(4)(row)[1])])


def test_a_predictor_keeps_what_it_needs_alive(twin):
    X = twin.random_queries(2, 3, 20)
    predict = Searcher(twin.random_model(1).pack()).predictor(3)
    assert len(predict(X[[0]])[0]) == 3


@pytest.mark.skipif(
    WITH_THREAD_SANITIZER,
    reason="ThreadSanitizer ends a fork whose new threads have the addresses of threads of its parent",
)
def test_a_searcher_works_after_fork(case):
    searcher, X = case
    before = searcher.topk(X, 5, n_jobs=2).scores
    child = os.fork()
    if child == 0:
        try:
            same = np.array_equal(searcher.topk(X, 5, n_jobs=2).scores, before)
            single = searcher.predictor(5)(X[[0]])[1]
            os._exit(0 if same and np.array_equal(single, before[0][: len(single)]) else 1)
        except BaseException:
            os._exit(2)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_a_searcher_pickles(case):
    searcher, X = case
    again = pickle.loads(pickle.dumps(searcher))
    assert not again.stores[0].checked
    np.testing.assert_array_equal(again.topk(X, 5).scores, searcher.topk(X, 5).scores)


def test_a_predictor_says_what_to_send_to_another_process(case):
    predict = case[0].predictor(SearchRequest(5))
    with pytest.raises(TypeError, match=r"cannot be pickled.*predictor\(\.\.\.\) in the other process"):
        pickle.dumps(predict)
