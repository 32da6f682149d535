"""Negatives the model itself finds: points it sends to a node where they have no label."""

import numpy as np
import pytest

import labeltrees as lt
from labeltrees.models.linear import matcher
from labeltrees.models.linear.matcher import WIDTH, confused_points
from labeltrees.search import SearchRequest
from tests.models.twin import TIGHT, all_scores, any_tree, make_problem, tree_scores
from tests.strategies import labels_below


def wrong_nodes(model, X, Y):
    """The same by hand: nodes above a returned label, and above none of the point's own."""
    below = labels_below(model.tree_)
    returned = model.searcher_.topk(X, SearchRequest(WIDTH, beam=WIDTH)).labels
    wrong = np.zeros((X.shape[0], model.tree_.n_nodes), dtype=bool)
    for row in range(X.shape[0]):
        found, own = set(returned[row]) - {-1}, set(Y[[row]].indices)
        for node, labels in enumerate(below):
            wrong[row, node] = bool(labels & found) and not labels & own
    return wrong


@pytest.fixture(scope="module")
def large():
    """More labels than the matcher looks at, in narrow nodes."""
    return make_problem(6, n=150, n_labels=40, unlabelled=10)


@pytest.mark.parametrize("at_once", [65536, 7])
def test_only_wrong_nodes_are_found_and_all_of_them(large, monkeypatch, at_once):
    X, Y = large
    model = lt.LabelTreeClassifier(fanout=2, normalize=False).fit(X, Y)
    monkeypatch.setattr(matcher, "POINTS_AT_ONCE", at_once)
    found = confused_points(model.searcher_, model.tree_, X, Y)
    np.testing.assert_array_equal(found.toarray(), wrong_nodes(model, X, Y))
    assert found.nnz == found.toarray().sum() > 100
    assert not found[:140, [0]].nnz  # nobody with a label is wrong at the root


def test_a_matched_model_is_liblinears_with_the_points_added():
    X, Y = make_problem(7, n=100, unlabelled=5)
    tree = any_tree(3)
    plain = lt.LabelTreeClassifier(tree=tree, **TIGHT).fit(X, Y)
    matched = lt.LabelTreeClassifier(tree=tree, negatives="matcher", **TIGHT).fit(X, Y)
    expected = tree_scores(tree, X, Y, X, extra=wrong_nodes(plain, X, Y))
    np.testing.assert_allclose(all_scores(matched, X), expected, atol=3e-3)
    assert np.abs(expected - all_scores(plain, X)).max() > 0.05


def test_a_flat_tree_has_nothing_to_match(problem):
    plain, matched = (lt.LabelTreeClassifier(tree="flat", negatives=n).fit(*problem) for n in ("siblings", "matcher"))
    assert plain.searcher_.stores[0].chunks.tobytes() == matched.searcher_.stores[0].chunks.tobytes()
