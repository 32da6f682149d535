"""Label frequencies, cover frequencies and weights against the paper, written down plainly."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from labeltrees._matrices import check_Y
from labeltrees.errors import InputError
from labeltrees.labels.frequency import cover_frequencies, frequencies_of_blocks, label_frequencies, label_weights


def plain_sum(values):
    """Sum from left to right: np.sum adds in another order."""
    total = 0.0
    for value in values:
        total += value
    return total


def brute_force_greedy(Y, p):
    """The paper's Algorithm 1, the argmax to the smallest id."""
    p = p.astype(float).copy()
    cover = np.zeros(Y.shape[1])
    while True:
        sums = np.array([plain_sum(p[i] for i in np.flatnonzero(column)) for column in Y.T])
        best = int(np.argmax(sums))
        if sums[best] == 0:
            return cover
        cover[best] = sums[best]
        p[Y[:, best]] = 0


def brute_force_marginal(Y, p):
    """The paper's Algorithm 2, with the point's weight."""
    f = np.array([plain_sum(p[i] for i in np.flatnonzero(column)) for column in Y.T])
    cover = np.zeros(Y.shape[1])
    for point, weight in zip(Y, p, strict=True):
        if point.any():
            cover[np.argmax(np.where(point, f, -1))] += weight
    return cover


BRUTE_FORCE = {"greedy": brute_force_greedy, "marginal": brute_force_marginal}


@st.composite
def cases(draw):
    n_points, n_labels = draw(st.integers(1, 14)), draw(st.integers(1, 7))
    Y = np.array(draw(st.lists(st.lists(st.booleans(), min_size=n_labels, max_size=n_labels),
                               min_size=n_points, max_size=n_points)))  # fmt: skip
    weight = draw(
        st.sampled_from(
            [
                st.just(1.0),
                st.integers(0, 3).map(float),
                st.floats(0, 1e6, allow_subnormal=False),
                st.sampled_from([0.1, 0.2, 0.3, 1e-9, 1e9]),
            ]
        )
    )
    p = np.array(draw(st.lists(weight, min_size=n_points, max_size=n_points)))
    return Y, p


@pytest.mark.parametrize("method", ["greedy", "marginal"])
@settings(max_examples=150)
@given(case=cases(), softness=st.sampled_from([0.0, 0.25, 1.0]))
def test_cover_equals_the_papers_algorithm(method, case, softness):
    Y, p = case
    if not p.any() or not (Y.T @ p).any():
        with pytest.raises(InputError):
            cover_frequencies(Y, p, method)
        return
    expected = (1 - softness) * BRUTE_FORCE[method](Y, p) + softness * (Y.T @ p)
    result = cover_frequencies(Y, p, method, softness)
    np.testing.assert_allclose(result, expected / expected.sum(), rtol=1e-9, atol=0)
    assert result.sum() == pytest.approx(1)


@pytest.mark.parametrize("weights", ["none", "whole", "real", "equal tenths"])
@pytest.mark.parametrize("seed", range(3))
def test_greedy_equals_brute_force_on_larger_skewed_sets(seed, weights):
    rng = np.random.default_rng(seed)
    n_points, n_labels = 400, 150
    Y = rng.random((n_points, n_labels)) < 0.3 / (1 + np.arange(n_labels))
    p = {
        "none": np.ones(n_points),
        "whole": rng.integers(0, 4, n_points).astype(float),
        "real": rng.lognormal(0, 3, n_points),
        "equal tenths": np.full(n_points, 0.1),
    }[weights]
    expected = brute_force_greedy(Y, p)
    result = cover_frequencies(sp.csr_array(Y), None if weights == "none" else p, "greedy")
    np.testing.assert_allclose(result, expected / expected.sum(), rtol=1e-9, atol=0)


def test_softness_one_is_the_label_frequencies():
    Y = np.random.default_rng(0).random((50, 20)) < 0.2
    for method in ("greedy", "marginal"):
        np.testing.assert_allclose(cover_frequencies(Y, method=method, softness=1.0), label_frequencies(Y))


@pytest.mark.parametrize("method", ["greedy", "marginal"])
def test_ties_go_to_the_smaller_label(method):
    Y = np.array([[0, 1, 1], [0, 1, 1], [1, 0, 0]])
    np.testing.assert_allclose(cover_frequencies(Y, method=method), [1 / 3, 2 / 3, 0])


def test_greedy_and_marginal_differ_where_the_second_label_covers_nothing_new():
    # Label 1 is second by frequency but mostly beside label 0; label 2 covers points no other label does.
    Y = np.array([[1, 1, 0]] * 4 + [[1, 0, 0]] + [[0, 1, 1]] * 1 + [[0, 0, 1]] * 2)
    np.testing.assert_allclose(cover_frequencies(Y, method="greedy"), [5 / 8, 0, 3 / 8])
    np.testing.assert_allclose(cover_frequencies(Y, method="marginal"), [5 / 8, 1 / 8, 2 / 8])


def test_frequencies_count_weighted_occurrences():
    Y = sp.csr_array(np.array([[5, 0.5, 0], [1, 0, 0], [0, 0, 0]]))
    np.testing.assert_allclose(label_frequencies(Y), [2 / 3, 1 / 3, 0])
    np.testing.assert_allclose(label_frequencies(Y, [1, 3, 7]), [4 / 5, 1 / 5, 0])


def test_stored_zeros_are_no_labels():
    Y = sp.csr_array((np.array([1.0, 0.0, 2.0]), np.array([0, 1, 1]), np.array([0, 2, 3])), shape=(2, 2))
    np.testing.assert_allclose(label_frequencies(Y), [0.5, 0.5])


def test_repeated_entries_are_one_label():
    Y = sp.coo_array((np.ones(3), ([0, 0, 1], [0, 0, 1])), shape=(2, 2))
    np.testing.assert_allclose(label_frequencies(Y), [0.5, 0.5])
    csr = sp.csr_array((np.ones(3), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    np.testing.assert_allclose(label_frequencies(csr), [0.5, 0.5])


@pytest.mark.parametrize("function", [label_frequencies, cover_frequencies])
@pytest.mark.parametrize(
    ("Y", "sample_weight", "message"),
    [
        (np.zeros((3, 2)), None, "at least one label"),
        (sp.csr_array((3, 2)), None, "at least one label"),
        (np.array([[1, 0], [0, 0]]), [0, 1], "at least one label on a point of positive weight"),
        (np.array([[1, -1]]), None, "Y has the negative value -1 at row 0, column 1"),
        (sp.csr_array([[0, 1], [0, -1]]), None, "Y has the negative value -1 at row 1, column 1"),
        (np.array([[1.0], [np.nan]]), None, "Y has a NaN at row 1"),
        (np.array([1, 0]), None, "Y must be two-dimensional"),
        ("labels", None, "Y must be two-dimensional"),
        (np.ones((2, 1)), [1, 2, 3], r"sample_weight must be of shape \(2,\)"),
        (np.ones((2, 1)), [1, -1], r"sample_weight\[1\] must be"),
        (np.ones((2, 1)), [1, np.inf], r"sample_weight\[1\] must be"),
        (np.ones((2, 1)), [0, 0], "sample_weight is zero for every point"),
        (np.ones((2, 1)), ["a", "b"], "sample_weight must be"),
        (np.ones((2, 1)), [[1, 1]], "sample_weight must be"),
        (np.ones((2, 1)), [1e308, 1e308], "sample_weight must sum to at most"),
    ],
)
def test_bad_input_is_refused_by_name(function, Y, sample_weight, message):
    with pytest.raises(InputError, match=message):
        function(Y, sample_weight)


@pytest.mark.parametrize(("argument", "value"), [("method", "best"), ("softness", 1.5), ("softness", "soft")])
def test_bad_parameters_are_refused_by_name(argument, value):
    with pytest.raises(InputError, match=argument):
        cover_frequencies(np.eye(2), **{argument: value})


@given(
    seed=st.integers(0, 2**32 - 1), cuts=st.lists(st.integers(1, 59), max_size=5, unique=True), weighted=st.booleans()
)
@settings(max_examples=30)
@pytest.mark.parametrize("method", ["marginal", "greedy"])
def test_blocks_of_points_change_no_byte(method, seed, cuts, weighted):
    rng = np.random.default_rng(seed)
    Y = sp.random_array((60, 9), density=0.3, rng=rng, format="csr")
    weights = rng.random(60) ** 8 + 1e-9 if weighted else None
    bounds = [0, *sorted(cuts), 60]

    def blocks():
        for first, last in itertools.pairwise(bounds):
            yield check_Y(Y[first:last]).indicator, None if weights is None else weights[first:last]

    frequencies, covers = frequencies_of_blocks(blocks, 9, method, 0.25)
    np.testing.assert_array_equal(frequencies, label_frequencies(Y, weights))
    np.testing.assert_array_equal(covers, cover_frequencies(Y, weights, method, 0.25))


F = np.array([0.5, 0.3, 0.2])
COVER = np.array([0.7, 0.3, 0.0])


@pytest.mark.parametrize(
    ("tradeoff", "path", "expected"),
    [
        (0.0, "weighted", 2 * np.ones(3) + 0.1 / 3),
        (0.5, "weighted", 1.5 * np.sqrt(F) + 0.1 / 3),
        (1.0, "weighted", F + 0.1 / 3),
        (1.5, "weighted", 0.5 * F + 0.5 * COVER + 0.1 / 3),
        (2.0, "weighted", COVER + 0.1 / 3),
        (0.0, "direct", 1 / 3 + 0 * F + 0.1 / 3),
        (1.0, "direct", 0.5 / 3 + 0.5 * COVER + 0.1 / 3),
        (2.0, "direct", COVER + 0.1 / 3),
    ],
)
def test_weights_follow_the_formula(tradeoff, path, expected):
    result = label_weights(F, COVER, tradeoff, 0.1, path)
    np.testing.assert_allclose(result, expected / expected.sum(), rtol=1e-12)


@given(st.floats(0, 2), st.floats(0, 10), st.sampled_from(["weighted", "direct"]))
def test_unseen_labels_get_nothing_and_the_rest_sums_to_one(tradeoff, smoothing, path):
    result = label_weights([0, 2, 0, 1, 1], [0, 3, 0, 1, 0], tradeoff, smoothing, path)
    assert (result[[0, 2]] == 0).all()
    assert result.sum() == pytest.approx(1)
    assert (result >= 0).all()


@pytest.mark.parametrize("path", ["weighted", "direct"])
def test_at_tradeoff_zero_all_weights_are_the_same_number(path):
    counts = np.random.default_rng(0).integers(1, 1000, 333)
    assert len(set(label_weights(counts, counts, 0, path=path))) == 1


def test_smoothing_counts_all_labels_also_unseen_ones():
    # g / L with L = 4, although two labels are never seen.
    result = label_weights([3, 1, 0, 0], [1, 1, 0, 0], 1.0, smoothing=1.0)
    expected = np.array([0.75 + 0.25, 0.25 + 0.25])
    np.testing.assert_allclose(result[:2], expected / expected.sum())


@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_counts_work_like_shares(scale):
    np.testing.assert_allclose(label_weights(F * scale, COVER * 7, 1.3), label_weights(F, COVER, 1.3))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((F, COVER, 2.1), "tradeoff must be a number in"),
        ((F, COVER, np.nan), "tradeoff"),
        ((F, COVER, 1.0, -0.1), "smoothing"),
        ((F, COVER, 1.0, 0.1, "straight"), "path must be one of"),
        ((F, COVER[:2], 1.0), "same length, got 3 and 2"),
        ((-F, COVER, 1.0), "frequencies must be"),
        ((F, [0, np.nan, 1], 1.0), "cover_frequencies must be"),
        (([], [], 1.0), "frequencies must be"),
        (([0, 0], [0, 1], 1.0), "frequencies must be"),
        ((["a"], [1], 1.0), "frequencies must be"),
        (([1, 0], [0.5, 0.5], 1.0), "0 where frequencies are, got 0.5 for label 1"),
        (([1e308, 1e308], [1, 1], 1.0), "finite sum"),
    ],
)
def test_bad_arguments_are_refused_by_name(arguments, message):
    with pytest.raises(InputError, match=message):
        label_weights(*arguments)
