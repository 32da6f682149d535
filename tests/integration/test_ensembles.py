"""Several trees: the best labels of each are scored in all."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from labeltrees.errors import InputError
from labeltrees.search import Searcher, SearchRequest


def pooled(twin, models, X, k, allowed=True, places=None):
    """Brute force: the first places (k of them) of the union of each tree's k best, by mean probability."""
    each = [np.where(allowed, twin.path_scores(model, X), -np.inf) for model in models]
    mean = np.exp([twin.path_scores(model, X) for model in models]).astype(np.float32).sum(axis=0) / np.float32(
        len(each)
    )
    candidates = np.full(mean.shape, False)
    for scores in each:
        labels, _ = twin.best_of(scores, k)
        for row, found in enumerate(labels):
            candidates[row, found[found >= 0]] = True
    with np.errstate(divide="ignore"):
        return twin.best_of(np.where(candidates, np.log(mean), -np.inf), k if places is None else places)


@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 40), n_trees=st.integers(2, 4))
@settings(max_examples=30, deadline=None)
@example(seed=260809, k=15, n_trees=2)  # a tie beyond the end of the list
def test_averages_equal_brute_force_over_the_union_of_candidates(twin, seed, k, n_trees):
    models = [twin.random_model(seed + i, most_children=3 + i) for i in range(n_trees)]
    X = twin.random_queries(seed, 5, models[0].n_features)
    labels, scores = pooled(twin, models, X, k, places=k + 1)
    found = Searcher([model.pack() for model in models]).topk(X, k)
    np.testing.assert_allclose(found.scores, scores[:, :k], rtol=1e-5)
    # Means may tie in one precision and not in the other: compare labels where neighbours are apart, the next one too.
    clear = np.abs(np.diff(scores, axis=1, prepend=2)) > 1e-5
    apart = clear[:, 1:] & clear[:, :-1]
    np.testing.assert_array_equal(found.labels[apart], labels[:, :k][apart])


def test_filters_hold_in_every_tree(twin):
    models = [twin.random_model(i, most_children=4) for i in range(3)]
    X = twin.random_queries(1, 10, models[0].n_features)
    allowed = np.random.default_rng(0).random((10, models[0].n_labels)) < 0.3
    _, scores = pooled(twin, models, X, 4, allowed)
    found = Searcher([model.pack() for model in models]).topk(
        X, SearchRequest(4, candidates=[np.flatnonzero(row) for row in allowed])
    )
    np.testing.assert_allclose(found.scores, scores, rtol=1e-5)
    assert all(allowed[row][labels[labels >= 0]].all() for row, labels in enumerate(found.labels))


def test_single_calls_and_threads_agree(twin):
    models = [twin.random_model(i, n_labels=100, values=None) for i in range(3)]
    X = twin.random_queries(1, 70, models[0].n_features, values=None)
    searcher = Searcher([model.pack() for model in models])
    one, two = searcher.topk(X, 5, n_jobs=1), searcher.topk(X, 5, n_jobs=2)
    np.testing.assert_array_equal(one.scores, two.scores)
    predict = searcher.predictor(5)
    for row in range(70):
        labels, scores = predict(X[[row]])
        np.testing.assert_array_equal(labels, one.labels[row])
        np.testing.assert_array_equal(scores, one.scores[row])


def test_budgets_are_shared_among_the_trees(twin):
    models = [twin.random_model(i, n_labels=200, most_children=2, stop=0.0) for i in range(2)]
    X = twin.random_queries(1, 5, models[0].n_features)
    found = Searcher([model.pack() for model in models]).topk(X, SearchRequest(5, max_chunks=4), stats=True)
    assert found.stats.partial.all()


def test_trees_over_other_labels_or_features_are_refused(twin):
    first = twin.random_model(0).pack()
    for other in (twin.random_model(0, n_labels=31).pack(), twin.random_model(0, n_features=21).pack()):
        with pytest.raises(InputError, match="stores"):
            Searcher([first, other])
    with pytest.raises(InputError, match="stores"):
        Searcher([])
