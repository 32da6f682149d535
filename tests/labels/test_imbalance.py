"""The imbalance of a set against counting it out."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

from labeltrees.errors import InputError
from labeltrees.labels import imbalance


def count_out(Y, p, q):
    sums = p @ Y
    top = np.lexsort((np.arange(Y.shape[1]), -sums))[:q]
    labelled = Y.any(axis=1)
    among = Y[:, top].sum(axis=1)
    total = p[labelled].sum()
    return (
        p[among >= 1].sum() / total,
        p[labelled & (among >= np.minimum(Y.sum(axis=1), 3))].sum() / total,
        p[labelled & (among == Y.sum(axis=1))].sum() / total,
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_shares_equal_counting_them_out(seed, weighted):
    rng = np.random.default_rng(seed)
    Y = rng.random((400, 250)) < 0.5 / (1 + np.arange(250))
    p = rng.integers(0, 5, 400).astype(float) if weighted else np.ones(400)
    result = imbalance(sp.csr_array(Y), p if weighted else None)
    assert result.n_labels == np.count_nonzero(p @ Y)
    assert result.n_points == np.count_nonzero(Y.any(axis=1) & (p > 0))
    for q, one, three, all_labels in zip(
        result.q, result.at_least_one, result.at_least_three, result.all_labels, strict=True
    ):
        assert (one, three, all_labels) == pytest.approx(count_out(Y, p, q))


def test_q_grows_from_one_to_all_labels_and_has_one_percent():
    result = imbalance(np.eye(1234))
    assert result.q[0] == 1
    assert result.q[-1] == 1234
    assert 13 in result.q
    assert (np.diff(result.q) > 0).all()
    assert result.top_percent == pytest.approx(13 / 1234)


def test_points_with_fewer_than_three_labels_count_when_all_of_them_are_covered():
    result = imbalance([[1, 1, 1], [1, 1, 0]])
    assert result.at_least_three.tolist() == [0.0, 0.5, 1.0]
    assert result.all_labels[-1] == 1.0


def test_one_label_alone_serves_everything():
    result = imbalance([[1, 0], [1, 0]])
    np.testing.assert_array_equal(result.q, [1])
    assert result.top_percent == 1.0


def test_the_table_has_one_plain_record_a_row():
    table = imbalance([[1, 1, 0], [1, 0, 1]]).table()
    assert table[0] == {
        "q": 1,
        "share_of_labels": pytest.approx(1 / 3),
        "at_least_one": 1.0,
        "at_least_three": 0.0,
        "all_labels": 0.0,
    }
    assert all(type(value) in (int, float) for row in table for value in row.values())


def test_the_result_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        imbalance([[1]]).n_labels = 3


def test_a_set_without_labels_is_refused():
    with pytest.raises(InputError, match="at least one label"):
        imbalance(np.zeros((2, 2)))
