import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from labeltrees import _core, fano_tree, split_labels
from labeltrees.errors import InputError
from labeltrees.tree.splits import coefficients, embedding_rows, trace_split

from .split_witness import best_of, follow, objective

TRADEOFFS = [0.0, 0.3, 1.0, 1.4, 1.9, 2.0]


def problem(seed, n=40, d=12, *, density=0.3):
    """Unit embeddings with clusters, and skewed weights."""
    rng = np.random.default_rng(seed)
    V = rng.random((n, d)) * (rng.random((n, d)) < density) + 0.5 * np.eye(d)[rng.integers(0, d, n)]
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    weights = rng.pareto(1.0, n) + 0.01
    return V.astype(np.float32), weights / weights.sum()


def best_assignment(scores, weights):
    """The alpha in [-1, 1]^n with alpha.weights = 0 that maximises sum_l weights_l alpha_l scores_l.

    The paper's Lemma: +1 from the largest score down until half of the weight is reached, and a fraction there.
    """
    scores = np.array(scores, dtype=float)
    crossing, alpha = _core.select_half(scores, np.array(weights, dtype=float))
    assignment = np.where(scores > scores[crossing], 1.0, -1.0)
    assignment[:crossing][scores[:crossing] == scores[crossing]] = 1.0
    assignment[crossing] = alpha
    return assignment


@pytest.mark.parametrize("tradeoff", TRADEOFFS)
@pytest.mark.parametrize("seed", range(5))
def test_the_assignment_is_the_optimum_of_the_linear_program(tradeoff, seed):
    V, f = problem(seed)
    rng = np.random.default_rng(seed + 100)
    difference = rng.standard_normal(V.shape[1])
    similarity, frequency = coefficients(tradeoff)
    scores = similarity / 2 * V @ difference + frequency * f
    alpha = best_assignment(scores, f)
    solution = linprog(-scores * f, A_eq=f[None, :], b_eq=[0.0], bounds=[(-1, 1)] * len(f))
    assert solution.success
    assert alpha @ f == pytest.approx(0, abs=1e-12)
    assert (scores * f) @ alpha == pytest.approx(-solution.fun, rel=1e-9, abs=1e-12)


@given(
    st.lists(st.sampled_from([-2.0, -1.0, 0.0, 0.5, 3.0, 1e300, -1e300, 1e-300]), min_size=1, max_size=200),
    st.integers(0, 2**32 - 1),
)
def test_selection_with_ties_and_extreme_scores_equals_sorting(scores, seed):
    weights = np.random.default_rng(seed).integers(1, 5, len(scores)).astype(float)
    alpha = best_assignment(scores, weights)
    order = np.lexsort((np.arange(len(scores)), -np.array(scores)))
    cumulated = np.cumsum(weights[order])
    crossing = int(np.searchsorted(cumulated, cumulated[-1] / 2))
    assert (alpha[order[:crossing]] == 1).all()
    assert (alpha[order[crossing + 1 :]] == -1).all()
    assert alpha @ weights == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("n", [65, 1000, 40_000])
def test_selection_of_many_labels_equals_sorting(n):
    rng = np.random.default_rng(n)
    scores = np.round(rng.standard_normal(n), 3) + np.where(rng.random(n) < 0.001, 1e6, 0)  # ties and outliers
    weights = rng.pareto(0.8, n) + 1e-6
    alpha = best_assignment(scores, weights)
    order = np.lexsort((np.arange(n), -scores))
    crossing = int(np.searchsorted(np.cumsum(weights[order]), weights.sum() / 2))
    assert np.flatnonzero(np.abs(alpha) < 1).tolist() in ([], [order[crossing]])
    assert (alpha[order[:crossing]] == 1).all()
    assert (alpha[order[crossing + 1 :]] == -1).all()


skewed_splits = st.fixed_dictionaries(
    {"seed": st.integers(0, 2**32 - 1), "n": st.integers(2, 60), "tradeoff": st.floats(0, 2), "relaxed": st.booleans()}
)


@settings(max_examples=150, deadline=None)
@given(skewed_splits, st.sampled_from(["weighted", "direct"]), st.sampled_from([np.asarray, sp.csr_array]))
def test_a_split_is_the_best_assignment_it_has_seen(split, path, form):
    V, f = problem(split["seed"], n=split["n"])
    similarity, frequency = coefficients(split["tradeoff"], path)
    trace = trace_split(form(V), f, split["tradeoff"], split["relaxed"], split["seed"], path=path)
    reached = objective(V, f, trace.assignment, similarity, frequency)
    seen = np.concatenate(trace.histories)
    assert reached == pytest.approx(seen.max(), rel=1e-6, abs=1e-9)
    assert trace.histories[trace.best].max() == pytest.approx(seen.max(), rel=1e-8, abs=1e-12)
    assignment, history = split_labels(form(V), f, split["tradeoff"], split["relaxed"], split["seed"], path=path)
    np.testing.assert_array_equal(assignment, trace.assignment)
    np.testing.assert_array_equal(history, trace.histories[trace.best])


@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("tradeoff", [0.0, 0.3, 1.0, 1.4, 1.9])
def test_splits_are_as_good_as_the_papers_algorithm_from_the_same_starts(tradeoff, relaxed):
    similarity, frequency = coefficients(tradeoff)
    ratios = []
    for seed in range(40):
        V, f = problem(seed)
        trace = trace_split(V, f, tradeoff, relaxed, seed)
        reached = objective(V, f, trace.assignment, similarity, frequency)
        ratios.append(reached / best_of(V.astype(float), f, trace.starts, similarity, frequency, relaxed))
    assert np.mean(ratios) > 1 - 1e-4  # the tolerance at which a start ends
    assert np.mean(np.array(ratios) > 1 - 1e-4) >= 0.95  # ties of rounded labels may be broken differently


@pytest.mark.parametrize("tradeoff", [0.0, 1.0, 1.4])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_each_start_follows_the_papers_alternation(form, tradeoff):
    similarity, frequency = coefficients(tradeoff)
    for seed in range(6):
        V, f = problem(seed)
        trace = trace_split(form(V), f, tradeoff, random_state=seed, tolerance=0.0)
        for (i, j), history in zip(trace.starts, trace.histories, strict=True):
            _, expected = follow(V.astype(float), f, V[i].astype(float), V[j].astype(float), similarity, frequency)
            shared = min(len(history), len(expected)) - 1  # rounding may decide whether the last step rises
            assert abs(len(history) - len(expected)) <= 1
            np.testing.assert_allclose(history[:shared], expected[:shared], rtol=1e-5)


def test_both_starts_are_followed_and_drawn_by_weight():
    V, _ = problem(0)
    f = np.ones(len(V))
    f[3] = 1e6
    trace = trace_split(V, f, 1.0)
    assert len(trace.starts) == len(trace.histories) == 2
    assert all(3 in start for start in trace.starts)
    assert all(len(history) >= 2 for history in trace.histories)


def long_rows(seed, n=120, d=600):
    """Unit embeddings of a few topics with long rows, of which a few values make most of the length."""
    rng = np.random.default_rng(seed)
    V = rng.random((n, d)) * (rng.random((n, d)) < 0.6)
    V += 8 * (rng.random((6, d)) ** 20)[rng.integers(0, 6, n)]
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    return V.astype(np.float32), rng.pareto(1.0, n) + 0.01


def large_set(seed, n=4_500):
    rng = np.random.default_rng(seed)
    topics = rng.random((20, 50)) * (rng.random((20, 50)) < 0.2)
    V = topics[rng.integers(0, 20, n)] + rng.random((n, 50)) * (rng.random((n, 50)) < 0.1)
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    return V.astype(np.float32), rng.pareto(1.0, n) + 0.01


@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize(
    ("labels", "tradeoff"),
    [(long_rows, 0.0), (long_rows, 0.5), (long_rows, 1.0), (large_set, 0.0), (large_set, 1.0), (large_set, 1.3)],
)
def test_sides_found_with_less_work_are_a_start_for_all_labels_and_values(labels, tradeoff, relaxed):
    similarity, frequency = coefficients(tradeoff)
    ratios = []
    for seed in range(5):
        V, f = labels(seed)
        trace = trace_split(sp.csr_array(V), f, tradeoff, relaxed, seed)
        reached = objective(V, f, trace.assignment, similarity, frequency)
        assert trace.starts == [(-1, -1)]
        assert reached == pytest.approx(trace.histories[0].max(), rel=1e-6)
        pairs = np.random.default_rng(seed).choice(len(f), (2, 2), p=f / f.sum())
        ratios.append(reached / best_of(V.astype(float), f, pairs, similarity, frequency, relaxed))
    assert np.mean(ratios) > 0.995  # as good as the paper's algorithm from two pairs of labels


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0, 2), st.sampled_from(["weighted", "direct"]))
def test_relaxed_the_objective_never_falls_and_the_split_stops(seed, tradeoff, path):
    V, f = problem(seed, n=30)
    _, history = split_labels(V, f, tradeoff, relaxed=True, path=path, tolerance=0.0, max_iterations=1000)
    assert len(history) < 1000
    assert (np.diff(history) >= -1e-7 * np.abs(history[:-1])).all()


@pytest.mark.parametrize("seed", range(8))
def test_weighted_similarity_is_similarity_of_labels_repeated_by_frequency(seed):
    V, _ = problem(seed, n=25)
    counts = np.random.default_rng(seed).integers(1, 6, len(V))
    weighted, _ = split_labels(V, counts, 1.0, relaxed=True, random_state=seed, tolerance=0.0)
    repeated, _ = split_labels(
        np.repeat(V, counts, axis=0), np.ones(counts.sum()), 0.0, relaxed=True, random_state=seed, tolerance=0.0
    )
    shares = np.add.reduceat(repeated, np.concatenate([[0], np.cumsum(counts)[:-1]])) / counts
    np.testing.assert_allclose(weighted, shares, atol=1e-6)


@given(st.integers(0, 2**32 - 1), st.integers(2, 60))
def test_at_tradeoff_zero_the_sides_differ_by_at_most_one_label(seed, n):
    V, _ = problem(seed, n=n)
    assignment, _ = split_labels(V, np.full(n, 1 / n), 0.0, random_state=seed)
    assert set(assignment) == {-1.0, 1.0}
    assert abs(assignment.sum()) <= 1


@given(st.integers(0, 2**32 - 1), st.integers(2, 60))
def test_at_tradeoff_two_the_split_is_fanos_first_cut(seed, n):
    V, f = problem(seed, n=n)
    assignment, _ = split_labels(V, f, 2.0)
    tree = fano_tree(f)
    first = tree.children[0]
    left = {~first} if first < 0 else set(np.flatnonzero(label_below(tree, first)))
    assert set(np.flatnonzero(assignment > 0)) == left


def label_below(tree, node):
    below = np.zeros(tree.n_labels, bool)
    for label in range(tree.n_labels):
        below[label] = node in tree.path(label)
    return below


@pytest.mark.parametrize("tradeoff", TRADEOFFS)
@pytest.mark.parametrize(
    ("V", "weights"),
    [
        (np.zeros((5, 3)), np.ones(5)),
        (np.ones((5, 3)) / np.sqrt(3), np.ones(5)),
        (np.eye(5), np.array([1.0, 0, 0, 0, 0])),
        (np.eye(5), np.zeros(5)),
        (np.eye(2), np.ones(2)),
        (np.eye(6), np.array([1e300, 1e-300, 1, 1, 1, 1])),
        (np.eye(6), np.array([1 - 1e-12, 2e-13, 2e-13, 2e-13, 2e-13, 2e-13])),
    ],
    ids=["zero", "equal", "one-mass", "no-mass", "two", "extreme", "nearly-all"],
)
def test_degenerate_labels_still_fill_both_sides(V, weights, tradeoff):
    assignment, history = split_labels(V, weights, tradeoff)
    assert set(assignment) == {-1.0, 1.0}
    assert np.isfinite(history).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.eye(3), [1, 1, 1], 2.5), "tradeoff must be a number in"),
        ((np.eye(3), [1, 1], 1.0), "weights must be a vector of 3 numbers"),
        ((np.eye(3), [1, -1, 1], 1.0), r"weights\[1\] must be"),
        ((np.eye(3), [1, np.nan, 1], 1.0), r"weights\[1\] must be"),
        ((np.full((3, 2), np.nan), [1, 1, 1], 1.0), "embeddings has a NaN at row 0"),
        ((np.eye(1), [1], 1.0), "at least 2 rows"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(InputError, match=message):
        split_labels(*arguments)


def test_full_returns_the_centres_of_both_sides():
    V, f = problem(3, n=20)
    trace = split_labels(V, f, 0.5, full=True)
    for side, centre in zip((1, -1), trace.centres, strict=True):
        expected = (f * (1 + side * trace.assignment) / 2) @ V
        np.testing.assert_allclose(centre, expected / np.linalg.norm(expected), atol=1e-6)
    assert trace.histories[trace.best].max() == split_labels(V, f, 0.5)[1].max()


@pytest.mark.parametrize("most", [1, 5, 70])
def test_rows_keep_their_largest_values(most):
    rng = np.random.default_rng(3)
    matrix = sp.random_array((40, 200), density=0.3, rng=rng, dtype=np.float32, format="csr")
    matrix.data -= 0.5
    matrix.data[matrix.indptr[7] : matrix.indptr[8]] = 0.3  # of equal values, those with the smaller columns
    matrix.data[matrix.indptr[9] : matrix.indptr[10]] = 0.0
    found = embedding_rows(matrix).largest(most)
    kept = sp.csr_array((found.values, found.columns, found.indptr), shape=(40, 200)).toarray()
    for row, own in zip(matrix.toarray().astype(float), kept, strict=True):
        expected = np.zeros(200)
        best = np.argsort(-np.abs(row), kind="stable")[:most]
        expected[best] = row[best]
        np.testing.assert_allclose(own, expected / max(np.linalg.norm(expected), 1e-30), rtol=1e-5)


def test_dense_rows_stay_whole():
    rows = embedding_rows(np.eye(3, dtype=np.float32))
    assert rows.largest(1) is rows
