"""The metrics of ranked lists and the depth of labels, on examples worked by hand and against plain loops."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from labeltrees import Dataset, LabelTree, metrics
from labeltrees.errors import InputError
from labeltrees.metrics import expected_depth_at_k

# Point 0 has labels 0, 1, 2; point 1 has label 3; point 2 has none.
Y_TRUE = np.array([[1, 1, 1, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 0]])
RETURNED = np.array([[1, 4, 0], [4, 3, -1], [0, -1, -1]])
D2, D3 = 1 / math.log2(3), 0.5


@pytest.mark.parametrize(
    ("metric", "k", "expected"),
    [
        (metrics.precision_at_k, 1, 1 / 3),
        (metrics.precision_at_k, 3, (2 / 3 + 1 / 3 + 0) / 3),
        (metrics.recall_at_k, 1, (1 / 3 + 0 + 0) / 3),
        (metrics.recall_at_k, 3, (2 / 3 + 1 + 0) / 3),
        (metrics.ndcg_at_k, 1, 1 / 3),
        (metrics.ndcg_at_k, 3, ((1 + D3) / (1 + D2 + D3) + D2 + 0) / 3),
        (metrics.coverage_at_k, 1, 1 / 4),
        (metrics.coverage_at_k, 3, 3 / 4),
        # F1 by label: 0 has 1 hit of 2 returned and 1 true; 1 is right; 2 never returned; 3 is right; 4 never true.
        (metrics.macro_f1_at_k, 3, (2 / 3 + 1 + 0 + 1 + 0) / 5),
    ],
)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_array])
def test_hand_worked_examples(metric, k, expected, form):
    assert metric(form(Y_TRUE), RETURNED, k) == pytest.approx(expected)


@st.composite
def cases(draw):
    n_points, n_labels, k = draw(st.integers(1, 8)), draw(st.integers(1, 9)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    Y = rng.random((n_points, n_labels)) < draw(st.sampled_from([0.0, 0.1, 0.5, 1.0]))
    returned = np.full((n_points, k), -1)
    for row in returned:
        size = rng.integers(0, min(k, n_labels) + 1)
        row[:size] = rng.permutation(n_labels)[:size]
    return Y, returned, k


@given(cases())
def test_a_plain_loop_over_points_gives_the_same(case):
    Y, returned, k = case
    precision = recall = ndcg = 0.0
    for row, labels in zip(Y, returned, strict=True):
        hits = [label >= 0 and bool(row[label]) for label in labels]
        gain = sum(hit / math.log2(place + 2) for place, hit in enumerate(hits))
        best = sum(1 / math.log2(place + 2) for place in range(min(k, row.sum())))
        precision += sum(hits) / k
        recall += sum(hits) / row.sum() if row.any() else 0
        ndcg += gain / best if row.any() else 0
    assert metrics.precision_at_k(Y, returned, k) == pytest.approx(precision / len(Y))
    assert metrics.recall_at_k(Y, returned, k) == pytest.approx(recall / len(Y))
    assert metrics.ndcg_at_k(Y, returned, k) == pytest.approx(ndcg / len(Y))


def test_perfect_answers_score_one():
    Y = np.array([[1, 1, 0, 0], [0, 0, 1, 1]])
    returned = [[1, 0], [2, 3]]
    for metric in (metrics.precision_at_k, metrics.recall_at_k, metrics.ndcg_at_k, metrics.macro_f1_at_k):
        assert metric(Y, returned, 2) == 1.0
    train = np.vstack([Y, Y])
    assert metrics.psp_at_k(Y, returned, 2, Y_train=train) == 1.0
    assert metrics.psndcg_at_k(Y, returned, 2, Y_train=train) == pytest.approx(1.0)
    assert metrics.coverage_at_k(Y, returned, 2) == 1.0


@pytest.mark.parametrize(
    "metric", [metrics.precision_at_k, metrics.recall_at_k, metrics.ndcg_at_k, metrics.macro_f1_at_k,
               metrics.coverage_at_k]
)  # fmt: skip
@pytest.mark.parametrize(
    ("Y", "labels", "k", "message"),
    [
        (Y_TRUE, RETURNED, 4, r"k must be an integer in \[1, 3\], got 4"),
        (Y_TRUE, RETURNED, 0, "k must be"),
        (Y_TRUE, RETURNED, 1.0, "k must be"),
        (Y_TRUE[:2], RETURNED, 1, "same number of rows, got 2 and 3"),
        (Y_TRUE, RETURNED + 1, 3, r"labels must be in \[-1, 4\], got 5 in row 0"),
        (Y_TRUE, RETURNED - 1, 3, r"labels must be in \[-1, 4\], got -2 in row 1"),
        (Y_TRUE, [[1, 1], [2, 3], [0, 4]], 2, "distinct in every row, got 1 twice in row 0"),
        (Y_TRUE, np.array([["a"], ["b"], [None]], dtype=object), 1, "labels must be a matrix of label ids"),
        (Y_TRUE, RETURNED.astype(float), 1, "labels must be a matrix of label ids"),
        (Y_TRUE, [1, 2, 3], 1, "labels must be a matrix of label ids"),
        (Y_TRUE, [[1], [2, 3], [4]], 1, "labels must be a matrix of label ids"),
        (Y_TRUE, np.zeros((3, 0), dtype=int), 1, "at least one row and one column"),
        (-Y_TRUE, RETURNED, 1, "Y_true has the negative value"),
    ],
)
def test_bad_input_is_refused_by_name(metric, Y, labels, k, message):
    with pytest.raises(InputError, match=message):
        metric(Y, labels, k)


@pytest.mark.parametrize("metric", ["precision_at_k", "recall_at_k", "f1_at_k", "ndcg_at_k"])
def test_lists_of_all_labels_are_like_longer_padded_ones(metric):
    labels = np.array([[2, 0, 1], [1, -1, -1]])
    padded = np.hstack([labels, np.full((2, 4), -1)])
    Y = np.array([[1, 0, 1], [0, 1, 0]])
    function = getattr(metrics, metric)
    assert function(Y, labels, 7) == pytest.approx(function(Y, padded, 7))
    assert function(Y, labels, 10**9) >= 0
    with pytest.raises(InputError, match="k must be"):
        function(Y, labels[:, :2], 3)


# Label 0 at depth 1, labels 1 and 2 at depth 2, label 3 nowhere.
TREE = LabelTree([0, 2, 4], [~0, 1, ~1, ~2], n_labels=4)


@pytest.mark.parametrize(
    ("labels", "k", "expected"),
    [
        ([[0, 1], [0, -1], [2, 1]], 1, (1 + 1 + 2) / 3),
        ([[0, 1], [0, -1], [2, 1]], 2, (2 + 1 + 2) / 3),
        ([[-1, -1], [2, 0]], 2, 2.0),
    ],
)
def test_the_deepest_of_the_first_k_counts(labels, k, expected):
    assert expected_depth_at_k(TREE, labels, k) == pytest.approx(expected)


def test_at_one_it_is_the_expected_depth_under_the_returned_frequencies():
    returned = np.random.default_rng(0).integers(0, 3, (50, 1))
    weights = np.bincount(returned[:, 0], minlength=4)
    assert expected_depth_at_k(TREE, returned, 1) == pytest.approx(TREE.expected_depth(weights))


def test_the_edge_to_the_label_can_be_left_out():
    tree = LabelTree([0, 2, 5], [~0, 1, ~1, ~2, ~3], n_labels=4)
    labels = [[0, 1], [0, 3]]
    of_last_node = np.array([0, 1, 1, 1])  # the depth of each label's node
    expected = of_last_node[np.array(labels)].max(axis=1).mean()
    assert expected_depth_at_k(tree, labels, 2, count_label_edge=False) == expected
    weights = np.array([4.0, 1, 1, 2])
    assert tree.expected_depth(weights, count_label_edge=False) == pytest.approx(of_last_node @ weights / weights.sum())


@pytest.mark.parametrize(
    ("tree", "labels", "k", "message"),
    [
        (TREE, [[3]], 1, "at least one label in the tree"),
        (TREE, [[4]], 1, r"labels must be in \[-1, 3\]"),
        (TREE, [[-1]], 1, "at least one label"),
        (TREE, [[0]], 2, "k must be"),
        ("oak", [[0]], 1, "tree must be a LabelTree"),
    ],
)
def test_bad_input_is_refused_by_name_depth(tree, labels, k, message):
    with pytest.raises(InputError, match=message):
        expected_depth_at_k(tree, labels, k)


def test_a_dataset_gives_names_their_meaning():
    data = Dataset([[1.0], [2.0]], [["cat"], ["dog", "cat"]])
    names = np.array([["cat", "dog"], ["dog", None]], dtype=object)
    assert metrics.precision_at_k(data, names, 1) == 1.0
    assert metrics.precision_at_k(data.Y, names, 2) == 0.5
    with pytest.raises(InputError, match="names of labels of Y_true"):
        metrics.precision_at_k(data, np.array([["cow"], ["cat"]], dtype=object), 1)
