"""The weights f(tradeoff) against DESIGN's formula, worked by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labeltrees.errors import InputError
from labeltrees.labels.weights import label_weights

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
