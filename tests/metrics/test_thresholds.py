import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import precision_recall_fscore_support

import labeltrees as lt
from labeltrees.metrics import suggest_thresholds
from labeltrees.metrics.thresholds import suggest_limits


def quality(Y, labels, scores, threshold):
    """Return precision, recall, F1, labels per point and the share of points without labels, from the definitions."""
    returned = np.zeros(Y.shape, dtype=int)
    for row, (own, values) in enumerate(zip(labels, scores, strict=True)):
        for label, value in zip(own, values, strict=True):
            if label >= 0 and value >= threshold:
                returned[row, label] = 1
    *found, _ = precision_recall_fscore_support(Y, returned, average="micro", zero_division=0)
    return [*found, returned.sum() / len(Y), (returned.sum(axis=1) == 0).mean()]


@given(st.integers(1, 30), st.integers(2, 8), st.integers(0, 2**32 - 1))
def test_suggestions_are_those_of_a_search_through_all_thresholds(n, n_labels, seed):
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, n_labels)) < 0.4).astype(int)
    Y[0, 0] = 1
    k = int(rng.integers(1, n_labels + 1))
    labels = np.array([rng.permutation(n_labels)[:k] for _ in range(n)])
    labels[rng.random(labels.shape) < 0.1] = -1
    scores = np.sort(rng.integers(0, 21, (n, k)) / 20, axis=1)[:, ::-1]
    suggested = {own.name: own for own in suggest_thresholds(Y, labels, scores, precision=0.6)}
    tried = {t: quality(Y, labels, scores, t) for t in np.unique(scores[labels >= 0])}
    if not tried:
        assert not suggested
        return
    assert suggested["best F1"].f1 == pytest.approx(max(own[2] for own in tried.values()))
    precise = [t for t, own in tried.items() if own[0] >= 0.6 - 1e-12]
    assert ("precision of 60 %" in suggested) == bool(precise)
    if precise:
        assert suggested["precision of 60 %"].threshold == pytest.approx(min(precise), abs=1e-4)
    for own in suggested.values():
        np.testing.assert_allclose(own[2:7], quality(Y, labels, scores, own.threshold))


def test_wrong_arguments_are_refused():
    with pytest.raises(lt.errors.InputError, match="precision must be a number in"):
        suggest_thresholds([[1]], [[0]], [[0.5]], precision=0)
    with pytest.raises(lt.errors.InputError, match="scores must be of the shape of labels"):
        suggest_thresholds([[1]], [[0]], [[0.5, 0.2]])


@given(st.integers(1, 20), st.integers(0, 2**32 - 1))
def test_the_best_limit_and_threshold_are_those_of_a_search_through_all(n, seed):
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, 5)) < 0.4).astype(int)
    Y[0, 0] = 1
    labels = np.array([rng.permutation(5)[:4] for _ in range(n)])
    scores = np.sort(rng.integers(0, 11, (n, 4)) / 10, axis=1)[:, ::-1]
    found = suggest_limits(Y, labels, scores)
    assert [own.limit for own in found] == [1, 2, 3, 4]
    for own in found:
        tried = [quality(Y, labels[:, : own.limit], scores[:, : own.limit], t) for t in np.unique(scores)]
        assert own.f1 == pytest.approx(max(values[2] for values in tried))
