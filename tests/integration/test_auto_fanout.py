"""Models in trees of fanout "auto"."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.preprocessing import normalize

import labeltrees as lt
from tests.models.twin import all_scores


@pytest.fixture(scope="module")
def problem():
    """Points of unit length with labels of falling frequency, enough of them for a tree of several nodes."""
    rng = np.random.default_rng(0)
    Y = rng.random((900, 400)) < 0.3 / (1 + np.arange(400))
    Y[np.arange(900), rng.integers(0, 400, 900)] = True
    X = Y @ rng.random((400, 30)) + rng.random((900, 30))
    return sparse.csr_array(normalize(X).astype(np.float32)), sparse.csr_array(Y.astype(np.float32))


@pytest.fixture(scope="module")
def fitted(problem):
    return lt.LabelTreeClassifier(fanout="auto", beam=None).fit(*problem)


def test_the_tree_is_the_one_that_build_tree_makes(fitted, problem):
    assert fitted.tree_.n_nodes > 1
    assert fitted.tree_ == lt.build_tree(*problem, fanout="auto")
    assert fitted.tree_ == lt.LabelTreeClassifier(fanout="auto", n_jobs=2).fit(*problem).tree_


def test_answers_are_the_best_labels(fitted, problem):
    X, _ = problem
    labels, scores = fitted.predict_topk(X[:20], 3)
    best = -np.sort(-all_scores(fitted, X[:20]), axis=1)[:, :3]
    np.testing.assert_allclose(scores, best, rtol=1e-3, atol=1e-6)
    assert (labels >= 0).all()


def test_saved_and_loaded_it_answers_the_same(fitted, problem, tmp_path):
    X, _ = problem
    fitted.save(tmp_path / "model")
    loaded = lt.load(tmp_path / "model")
    assert loaded.get_params()["fanout"] == "auto"
    assert loaded.tree_ == fitted.tree_
    for a, b in zip(fitted.predict_topk(X, 4), loaded.predict_topk(X, 4), strict=True):
        np.testing.assert_array_equal(a, b)


def test_it_is_cloned_and_trained_with_several_trees(fitted, problem):
    assert clone(fitted).fanout == "auto"
    several = clone(fitted).set_params(n_trees=2).fit(*problem)
    assert len(several.trees_) == 2


@pytest.mark.parametrize("fanout", ["wide", 1, 2.5, None, True])
def test_other_fanouts_are_refused(problem, fanout):
    with pytest.raises(lt.errors.InputError, match="fanout must be an integer of at least 2"):
        lt.LabelTreeClassifier(fanout=fanout).fit(*problem)
