"""Precision and recall by frequency, and reliability of probabilities, against plain loops over the definitions."""

import math

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss

from labeltrees.errors import InputError
from labeltrees.metrics import by_frequency
from labeltrees.metrics.groups import reliability

# Label 0 has 5 training points, labels 1 and 2 have 3, label 3 has 1, label 4 none.
Y_TRAIN = np.array([[1, 1, 1, 1, 0], [1, 1, 1, 0, 0], [1, 1, 1, 0, 0], [1, 0, 0, 0, 0], [1, 0, 0, 0, 0]])
Y_TRUE = np.array([[1, 1, 0, 0, 0], [1, 0, 1, 1, 0]])
RETURNED = np.array([[0, 2, 3], [0, 2, -1]])


def groups(**changes):
    return by_frequency(Y_TRUE, RETURNED, 3, **({"Y_train": Y_TRAIN, "tail_below": 2, "head_from": 4} | changes))


def test_counts_by_hand():
    head, torso, tail = groups()
    assert [group.name for group in (head, torso, tail)] == ["head", "torso", "tail"]
    assert [group.n_labels for group in (head, torso, tail)] == [1, 2, 2]
    assert [(group.precision.count, group.precision.total) for group in (head, torso, tail)] == [(2, 2), (1, 2), (0, 1)]
    assert [(group.recall.count, group.recall.total) for group in (head, torso, tail)] == [(2, 2), (1, 2), (0, 1)]
    assert torso.recall.value == 0.5


def test_the_groups_add_up_to_all_answers():
    result = groups()
    assert sum(group.precision.total for group in result) == np.count_nonzero(RETURNED >= 0)
    assert sum(group.recall.total for group in result) == Y_TRUE.sum()


def test_a_group_without_answers_is_nan():
    head, *_ = groups(head_from=100)
    assert head.n_labels == 0
    assert math.isnan(head.precision.value)
    assert math.isnan(head.recall.low)


def random_answers(clumped):
    """2,000 points with four labels each; with `clumped` the answers of a point are all correct or all wrong."""
    rng = np.random.default_rng(1)
    n_points, n_labels = 2000, 40
    returned = np.array([rng.permutation(n_labels)[:4] for _ in range(n_points)])
    right = np.repeat(rng.random((n_points, 1)) < 0.3, 4, axis=1) if clumped else rng.random((n_points, 4)) < 0.3
    Y = np.zeros((n_points, n_labels))
    np.put_along_axis(Y, returned, right, axis=1)
    return Y, returned, right


@pytest.mark.parametrize("clumped", [False, True])
def test_intervals_agree_with_resampling_the_points(clumped):
    Y, returned, right = random_answers(clumped)
    *_, tail = by_frequency(Y, returned, 4, Y_train=np.eye(40))
    rng = np.random.default_rng(2)
    resampled = [right[rng.integers(0, len(right), len(right))].mean() for _ in range(2000)]
    low, high = np.quantile(resampled, [0.025, 0.975])
    assert tail.precision.high - tail.precision.low == pytest.approx(high - low, rel=0.1)
    assert tail.precision.low == pytest.approx(low, abs=0.005)
    assert tail.precision.low < tail.precision.value < tail.precision.high


def test_independent_answers_give_wilsons_interval():
    # One answer per point, 7 of 20 correct: Wilson's interval is 0.1812 to 0.5671.
    Y = np.zeros((20, 2))
    Y[:7, 0] = 1
    *_, tail = by_frequency(Y, np.zeros((20, 1), dtype=int), 1, Y_train=np.eye(2))
    assert tail.precision.low == pytest.approx(0.1812, abs=1e-4)
    assert tail.precision.high == pytest.approx(0.5671, abs=1e-4)


def test_more_confidence_means_a_wider_interval():
    wide, narrow = (groups(confidence=confidence)[1].precision for confidence in (0.99, 0.5))
    assert wide.low < narrow.low < narrow.high < wide.high


def test_intervals_stay_within_zero_and_one():
    head, _, tail = groups()
    assert head.precision.high == 1.0
    assert 0 < head.precision.low < 1
    assert tail.precision.low == 0.0


def test_a_record_is_flat():
    assert set(groups()[0].record()) == {
        "group", "n_labels", "precision", "precision_low", "precision_high", "recall", "recall_low", "recall_high",
        "n_returned", "n_true",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"Y_train": Y_TRAIN[:, :3]}, "Y_train must have the 5 labels of Y_true, got 3"),
        ({"tail_below": 0}, "tail_below"),
        ({"head_from": 1}, "head_from must be an integer of at least 2"),
        ({"confidence": 1}, "confidence"),
    ],
)
def test_bad_input_is_refused_by_name(changes, message):
    with pytest.raises(InputError, match=message):
        groups(**changes)


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(0)
    p = np.round(rng.random(500) ** 2, 3)
    return p, rng.random(500) < p


def test_bins_and_error_follow_the_definition(sample):
    p, hits = sample
    found = reliability(p, hits)
    error = 0.0
    for row in found.bins:
        inside = [i for i in range(500) if row.low <= p[i] < row.high or (row.high == 1 and p[i] == 1)]
        assert row.n_labels == len(inside)
        assert row.probability == pytest.approx(np.mean(p[inside]))
        assert row.correct == pytest.approx(np.mean(hits[inside]))
        assert row.correct_low <= row.correct <= row.correct_high
        error += len(inside) / 500 * abs(row.probability - row.correct)
    assert sum(row.n_labels for row in found.bins) == 500
    assert found.error == pytest.approx(error)
    assert found.brier == pytest.approx(brier_score_loss(hits, p))


def test_certainty_belongs_to_the_last_bin_and_empty_bins_are_left_out():
    found = reliability(np.array([1.0, 1.0]), np.array([True, False]))
    assert [(row.low, row.high, row.n_labels, row.correct) for row in found.bins] == [(0.9, 1.0, 2, 0.5)]
    assert found.error == 0.5


def test_reliable_probabilities_have_a_small_error(sample):
    p, hits = sample
    assert reliability(p, hits).error < 0.1 < reliability(1 - p, hits).error
