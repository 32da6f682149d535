"""Labels of points in every form users have them."""

import unicodedata

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import MultiLabelBinarizer

import labeltrees as lt
from labeltrees.data.label_sets import has_label, known_labels, read_label_sets
from labeltrees.models.common.label_names import LabelNames

MATRIX = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 1]], dtype=np.float32)
IDS = [[0, 2], [], [1, 2]]


class NotAnArray:
    """What scikit-learn calls array-like: it can become an array, and is none."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype)


def objects(rows):
    array = np.empty(len(rows), dtype=object)
    array[:] = rows
    return array


@pytest.mark.parametrize(
    "Y",
    [
        MATRIX,
        MATRIX.astype(np.float64),
        MATRIX.astype(bool),
        MATRIX.astype(np.int8),
        np.asfortranarray(MATRIX),
        MATRIX.astype(object),
        MATRIX.tolist(),
        MATRIX.astype(int).tolist(),
        MATRIX.astype(bool).tolist(),
        [list(row) for row in MATRIX.astype(bool)],
        NotAnArray(MATRIX),
        *(
            kind(MATRIX)
            for kind in (sp.csr_array, sp.csc_array, sp.coo_array, sp.lil_array, sp.csr_matrix, sp.dok_matrix)
        ),
        sp.csr_array((np.array([1.0, 0, 1, 1, 1]), ([0, 0, 0, 2, 2], [0, 1, 2, 1, 2])), shape=(3, 3)),
    ],
    ids=lambda Y: f"{type(Y).__name__} {getattr(Y, 'dtype', '')}",
)
def test_matrices_of_every_kind_are_read(Y):
    sets = read_label_sets(Y)
    np.testing.assert_array_equal(sets.Y.toarray(), MATRIX)
    assert sets.Y.dtype == np.float32
    assert sets.Y.nnz == 4
    assert sets.names is None
    assert sets.is_matrix


@pytest.mark.parametrize(
    "Y",
    [
        IDS,
        tuple(IDS),
        [tuple(ids) for ids in IDS],
        [set(ids) for ids in IDS],
        [np.array(ids, dtype=np.int32) for ids in IDS],
        [[np.int64(label) for label in ids] for ids in IDS],
        [[2, 0, 2, 2], [], [1, 2]],
        objects(IDS),
    ],
    ids=["lists", "tuple of lists", "tuples", "sets", "arrays", "numpy ints", "twice", "objects"],
)
def test_lists_of_ids_of_every_kind_are_read(Y):
    sets = read_label_sets(Y)
    np.testing.assert_array_equal(sets.Y.toarray(), MATRIX)
    assert sets.names is None
    assert not sets.is_matrix


@pytest.mark.parametrize("kind", ["lists", "sets", "arrays", "numpy strings", "objects"])
def test_lists_of_names_of_every_kind_are_read(kind):
    rows = [["ant", "cat"], [], ["bee", "cat"]]
    Y = {
        "lists": rows,
        "sets": [set(row) for row in rows],
        "arrays": [np.array(row, dtype=str) for row in rows],
        "numpy strings": [[np.str_(name) for name in row] for row in rows],
        "objects": objects(rows),
    }[kind]
    sets = read_label_sets(Y)
    np.testing.assert_array_equal(sets.Y.toarray(), MATRIX)
    assert sets.names.tolist() == ["ant", "bee", "cat"]
    assert set(map(type, sets.names)) == {str}


def test_a_table_of_names_is_a_list_of_lists():
    sets = read_label_sets(np.array([["b", "a"], ["c", "c"]]))
    assert sets.names.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(sets.Y.toarray(), [[1, 1, 0], [0, 0, 1]])


@given(st.lists(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=3), max_size=4), min_size=1))
def test_names_are_read_as_scikit_learn_does(rows):
    rows = [[unicodedata.normalize("NFC", name) for name in row] for row in rows]
    if not any(rows):
        with pytest.raises(lt.errors.InputError, match="no labels"):
            read_label_sets(rows)
        return
    binarizer = MultiLabelBinarizer().fit(rows)
    sets = read_label_sets(rows)
    assert sets.names.tolist() == binarizer.classes_.tolist()
    np.testing.assert_array_equal(sets.Y.toarray(), binarizer.transform(rows))


def test_names_that_differ_in_a_last_null_stay_apart():
    assert read_label_sets([["a"], ["a\0"]]).names.tolist() == ["a", "a\0"]


@given(st.lists(st.lists(st.integers(0, 9), max_size=4), min_size=1).filter(any))
def test_ids_are_read_as_scikit_learn_does_unless_they_are_a_matrix(rows):
    sets = read_label_sets(rows)
    if sets.is_matrix:
        assert len({len(row) for row in rows}) == 1
        np.testing.assert_array_equal(sets.Y.toarray(), rows)
    else:
        n_labels = max(max(row, default=0) for row in rows) + 1
        expected = MultiLabelBinarizer(classes=range(n_labels)).fit_transform(rows)
        np.testing.assert_array_equal(sets.Y.toarray(), expected)


@pytest.mark.parametrize(
    ("Y", "is_matrix"),
    [([[1, 0], [0, 1]], True), ([[0], [1]], False), ([[0, 1], [1]], False), ([[1, 2], [0, 1]], False)],
)
def test_rows_of_zeros_and_ones_are_a_matrix(Y, is_matrix):
    assert read_label_sets(Y).is_matrix == is_matrix


def test_values_of_a_matrix_are_kept_as_relevance():
    assert read_label_sets([[0.5, 0], [2, 3.5]]).Y.toarray().tolist() == [[0.5, 0], [2, 3.5]]


@pytest.mark.parametrize(
    ("Y", "message"),
    [
        (np.array([0.5, 1.0]), r"Unknown label type: Y\[0\] = 0.5 is not a class"),
        (["a", None], r"Y\[1\] must be a label as in the other rows"),
        (["a", 5], r"Y\[1\] must be a text as in the other rows"),
        ("ab", "Y must be a sparse or dense matrix of points and labels, or a list of lists"),
        (5, "Y must be a sparse or dense matrix"),
        (None, "Y must be a sparse or dense matrix"),
        ({0: [1]}, "Y must be a sparse or dense matrix"),
        ([["a"], "b"], r"Y\[1\] must be a list of labels, got 'b'"),
        ([[0], 5], r"Y\[1\] must be a list of labels, got 5"),
        ([["a"], [1]], "got 'lists of int, str'"),
        ([["a"], [None]], "got 'lists of NoneType, str'"),
        ([[0.5], [1.5, 2]], "got 'lists of float, int'"),
        ([[["a"]], [["b"]]], "got 'lists of list'"),
        ([[0], [-1]], r"Y\[1\] must be label ids in \[0, 2147483646\], got -1"),
        ([[0], [1], [2**31]], r"Y\[2\] must be label ids in"),
        ([[0], [2**80]], r"Y\[1\] must be label ids in"),
        ([], "no labels"),
        ([[], []], "no labels"),
        (np.ones((2, 2, 2)), "two-dimensional"),
        (np.array([[1, -1]]), "negative value -1 at row 0, column 1"),
        (np.array([[1, np.nan]]), "NaN at row 0, column 1"),
        (np.array([[1, np.inf]]), "infinite value at row 0, column 1"),
        (np.array([[1j]]), "real numbers"),
        (sp.csr_array(np.array([[0, -2.0]])), "negative value -2 at row 0, column 1"),
        (sp.coo_array(np.ones(3)), "two-dimensional"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_other_forms_are_refused(Y, message):
    with pytest.raises(lt.errors.InputError, match=message):
        read_label_sets(Y)


# ---- labels a model knows --------------------------------------------------------------------------------------------

KNOWN = LabelNames(np.array(["cat", "ant", "bee"], dtype=object))


def test_names_are_put_in_the_models_order_and_unknown_ones_left_out():
    found = known_labels([["ant", "dog"], [], ["bee", "cat"]], (3, 3), KNOWN)
    np.testing.assert_array_equal(found.toarray(), [[0, 1, 0], [0, 0, 0], [1, 0, 1]])


@pytest.mark.parametrize("names", [None, KNOWN])
def test_ids_beyond_the_models_are_left_out_and_fewer_are_enough(names):
    np.testing.assert_array_equal(known_labels([[0], [7, 1]], (2, 3), names).toarray(), [[1, 0, 0], [0, 1, 0]])


def test_a_matrix_must_have_the_models_shape():
    np.testing.assert_array_equal(known_labels(MATRIX, (3, 3), None).toarray(), MATRIX)
    for shape, message in {(3, 4): "Y has 3 columns without names, and the model has 4", (2, 3): "X has 2 p"}.items():
        with pytest.raises(lt.errors.InputError, match=message):
            known_labels(MATRIX, shape, None)


def test_names_for_a_model_without_names_are_refused():
    with pytest.raises(lt.errors.InputError, match=r"Y names its labels .*the labels of the model have no names: fit"):
        known_labels([["a"]], (1, 3), None)


@pytest.mark.parametrize(
    ("Y", "kind", "names"),
    [
        (["b", "a", "b"], "classes", ["a", "b"]),
        (np.array(["b", "a", "b"], dtype=object), "classes", ["a", "b"]),
        ([3, -7, 3], "numbers", ["-7", "3"]),
        (np.array([3.0, -7.0, 3.0]), "numbers", ["-7", "3"]),
        (np.array([True, False, True]), "numbers", ["0", "1"]),
    ],
    ids=repr,
)
def test_one_label_per_point(Y, kind, names):
    found = read_label_sets(Y)
    assert (found.kind, found.names.tolist()) == (kind, names)
    classes = [str(int(y)) if kind == "numbers" else y for y in Y]
    expected = [[float(own == name) for name in names] for own in classes]
    np.testing.assert_array_equal(found.Y.toarray(), expected)


@pytest.mark.parametrize("mark", [";", "|", ","])
def test_cells_with_a_separator_in_most_rows_are_split(mark, caplog):
    found = read_label_sets([f"tea{mark} milk", f"milk{mark}rice", "tea", None])
    assert (found.kind, found.names.tolist()) == ("sets", ["milk", "rice", "tea"])
    np.testing.assert_array_equal(found.Y.toarray(), [[1, 0, 1], [1, 1, 0], [0, 0, 1], [0, 0, 0]])
    assert f"contain {mark!r}, so they are split" in caplog.text


def test_cells_with_a_separator_in_some_rows_are_reported(caplog):
    assert read_label_sets(["tea;milk", "milk", "rice"]).kind == "classes"
    assert "if it separates labels, split them first" in caplog.text


def test_columns_of_another_data_set_are_aligned_by_name():
    Y = lt.Dataset(np.zeros((2, 1)), [[1, 0, 1], [0, 1, 0]], label_names=["bee", "dog", "cat"]).Y
    np.testing.assert_array_equal(known_labels(Y, (2, 3), KNOWN).toarray(), [[1, 0, 1], [0, 0, 0]])
    np.testing.assert_array_equal(known_labels(Y[1:], (1, 3), KNOWN).toarray(), [[0, 0, 0]])


def test_labels_of_which_none_is_known_are_refused():
    Y = lt.Dataset(np.zeros((1, 1)), np.ones((1, 6)), label_names=list("defghi")).Y
    with pytest.raises(lt.errors.InputError, match=r"none of the labels of Y \('d', 'e', 'f', ...\); its labels are"):
        known_labels(Y, (1, 3), KNOWN)


@given(st.integers(1, 20), st.integers(1, 20), st.integers(0, 2**32 - 1))
def test_pairs_are_looked_up(n, n_labels, seed):
    rng = np.random.default_rng(seed)
    dense = rng.integers(0, 2, (n, n_labels)) * rng.random((n, n_labels))
    points, labels = rng.integers(0, n, 30), rng.integers(0, n_labels, 30)
    np.testing.assert_array_equal(has_label(sp.csr_array(dense), points, labels), dense[points, labels] > 0)
    assert has_label(sp.csr_array(dense), points[:0], labels[:0]).shape == (0,)
