"""Contexts that are far more common than others: what their weights do to frequencies, trees and depths."""

import numpy as np
import pytest
import scipy.sparse as sp

import labeltrees as lt

N_LABELS, COPIES = 64, 50


@pytest.fixture(scope="module")
def contexts():
    """Points with two labels of 64, all as frequent; points of the first four labels are 50 times as common."""
    rng = np.random.default_rng(0)
    first = np.repeat(np.arange(N_LABELS), 10)
    second = rng.permutation(first)
    n = len(first)
    Y = sp.csr_array((np.ones(2 * n), (np.tile(np.arange(n), 2), np.concatenate([first, second]))), (n, N_LABELS))
    Y.data[:] = 1
    X = sp.csr_array(Y @ sp.random_array((N_LABELS, 40), density=0.2, rng=rng)) + sp.random_array(
        (n, 40), density=0.05, rng=rng
    )
    common = first < 4
    return X.tocsr().astype(np.float32), Y.astype(np.float32), np.where(common, float(COPIES), 1.0)


def repeated(contexts):
    """Return the data with every point as often as its weight says: the witness for what weights must do."""
    X, Y, weights = contexts
    rows = np.repeat(np.arange(len(weights)), weights.astype(int))
    return X[rows], Y[rows]


def test_frequencies_are_those_of_the_repeated_points(contexts):
    _, Y, weights = contexts
    _, repeated_Y = repeated(contexts)
    np.testing.assert_allclose(lt.label_frequencies(Y, weights), lt.label_frequencies(repeated_Y))
    for method in ("marginal", "greedy"):
        cover = lt.cover_frequencies(Y, weights, method=method)
        np.testing.assert_allclose(cover, lt.cover_frequencies(repeated_Y, method=method))
        # Not the same as without weights, and the common contexts' labels gain.
        plain = lt.cover_frequencies(Y, method=method)
        assert cover[:4].sum() > 2 * plain[:4].sum()
    assert lt.label_frequencies(Y, weights)[:4].sum() > 5 * lt.label_frequencies(Y)[:4].sum()


@pytest.mark.parametrize("tradeoff", [0.5, 1.0, 1.5, 2.0])
def test_labels_of_common_contexts_rise_in_the_tree(contexts, tradeoff):
    X, Y, weights = contexts
    frequencies = lt.label_frequencies(Y, weights)
    plain, weighted = (
        lt.build_tree(X, Y, tradeoff=tradeoff, fanout=2, sample_weight=given) for given in (None, weights)
    )
    assert weighted.label_depth[:4].max() < plain.label_depth[:4].min()
    assert weighted.label_depth[:4].max() < np.median(weighted.label_depth)
    assert weighted.expected_depth(frequencies) < plain.expected_depth(frequencies) - 0.3
    # Where all contexts count alike, the tree made for other frequencies is the worse one.
    assert weighted.expected_depth(lt.label_frequencies(Y)) > plain.expected_depth(lt.label_frequencies(Y))


def test_at_tradeoff_0_weights_leave_the_tree_balanced(contexts):
    X, Y, weights = contexts
    tree = lt.build_tree(X, Y, tradeoff=0.0, fanout=2, sample_weight=weights)
    assert set(tree.label_depth.tolist()) == {6}


def test_the_tree_depends_on_frequencies_as_on_repeated_points(contexts):
    X, Y, weights = contexts
    embeddings = lt.pifa(X, Y)
    repeated_X, repeated_Y = repeated(contexts)
    settings = {"tradeoff": 1.5, "fanout": 2, "embeddings": embeddings}
    tree = lt.build_tree(X, Y, sample_weight=weights, **settings)
    witness = lt.build_tree(repeated_X, repeated_Y, **settings)
    np.testing.assert_array_equal(tree.label_depth, witness.label_depth)


@pytest.mark.parametrize("tradeoff", [1.0, 1.5])
def test_answers_to_common_contexts_come_from_nearer_the_root(contexts, tradeoff):
    X, Y, weights = contexts
    common = weights > 1
    depths = {}
    for name, given in (("plain", None), ("weighted", weights)):
        model = lt.LabelTreeClassifier(tradeoff=tradeoff, fanout=2).fit(X, Y, sample_weight=given)
        labels, _ = model.predict_topk(X, 1)
        depth = model.tree_.label_depth[labels[:, 0]]
        depths[name] = np.average(depth, weights=weights), depth[common].mean()
    assert depths["weighted"][0] < depths["plain"][0] - 0.5
    assert depths["weighted"][1] < depths["plain"][1] - 0.5
