"""Weights between items: the closed form of EASE, and the sparse weights beyond the frequent items."""

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from labeltrees.labels.items import item_gram, item_weights, sparse_item_weights


def make_baskets(seed=0, n=300, m=25):
    rng = np.random.default_rng(seed)
    topics = rng.random((4, m)) < 0.3
    return (topics[rng.integers(0, 4, n)] & (rng.random((n, m)) < 0.6)).astype(float), rng.integers(1, 4, n).astype(
        float
    )


def ease(B, weights, ridge):
    """EASE as published, with weighted baskets."""
    P = np.linalg.inv(B.T @ np.diag(weights) @ B + ridge * np.eye(B.shape[1]))
    W = -P / np.diag(P)
    np.fill_diagonal(W, 0)
    return W


def test_the_closed_form_is_that_of_ease():
    B, weights = make_baskets()
    np.testing.assert_allclose(item_weights(item_gram(sp.csr_array(B), weights), 5.0), ease(B, weights, 5.0), atol=1e-5)


def test_the_weights_do_not_depend_on_the_threads_of_the_linear_algebra():
    B, weights = make_baskets(n=2000, m=1200)
    gram = item_gram(sp.csr_array(B), weights)
    for ridge in (0.01, 5.0):  # in double and in single precision
        found = []
        for n_threads in (1, 2, 4):
            with threadpool_limits(n_threads, "blas"):
                found.append(item_weights(gram, ridge))
        assert np.array_equal(found[0], found[1])
        assert np.array_equal(found[0], found[2])


def test_among_all_items_the_sparse_weights_are_those_of_ease():
    B, weights = make_baskets()
    gram = sp.csr_array(B.T @ np.diag(weights) @ B)
    expected = ease(B, weights, 5.0)
    for item in range(0, 25, 4):
        others, found = sparse_item_weights(gram, item, 5.0, 25)
        dense = np.zeros(25)
        dense[others] = found
        assert dense[item] == 0
        # Items that are never in a basket together have no weight here.
        is_other = np.isin(np.arange(25), others)
        if is_other.sum() == 24:
            np.testing.assert_allclose(dense, expected[:, item], atol=1e-6)


@pytest.mark.parametrize("n_others", [1, 3, 10])
def test_only_the_items_that_share_most_baskets_get_weights(n_others):
    B, weights = make_baskets(1)
    gram = B.T @ np.diag(weights) @ B
    item = int(np.argmax(np.diag(gram)))
    others, found = sparse_item_weights(sp.csr_array(gram), item, 2.0, n_others)
    shared = np.where(np.arange(25) == item, -1, gram[item])
    expected = np.sort(np.argsort(-shared, kind="stable")[:n_others])
    assert others.tolist() == expected.tolist()
    ridge = np.linalg.solve(gram[np.ix_(expected, expected)] + 2.0 * np.eye(n_others), gram[expected, item])
    np.testing.assert_allclose(found, ridge)
