"""A Dataset takes any form of matrix, refuses bad data with its place, and cannot change afterwards."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

import labeltrees as lt
from labeltrees.data import as_dataset

X_DENSE = np.array([[0.5, 0, 0, -2], [0, 0, 0, 0], [1, 0, 3, 0]])
Y_DENSE = np.array([[1, 0], [1, 1], [0, 0]])


def test_matrices_become_canonical_csr_of_float32():
    dataset = lt.Dataset(X_DENSE, Y_DENSE)
    for matrix, dense in ((dataset.X, X_DENSE), (dataset.Y, Y_DENSE)):
        assert type(matrix) is sparse.csr_array
        assert matrix.dtype == np.float32
        assert matrix.indices.dtype == matrix.indptr.dtype == np.int32
        np.testing.assert_array_equal(matrix.toarray(), dense)
    assert (dataset.n_points, dataset.n_features, dataset.n_labels, len(dataset)) == (3, 4, 2, 3)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int8])
def test_every_sparse_form_gives_the_same_dataset(form, kind, dtype):
    dense = (2 * X_DENSE).astype(dtype)
    dataset = lt.Dataset(kind(dense).asformat(form), kind(Y_DENSE.astype(bool)).asformat(form))
    np.testing.assert_array_equal(dataset.X.toarray(), dense)
    np.testing.assert_array_equal(dataset.Y.toarray(), Y_DENSE)
    assert dataset.X.has_canonical_format


def test_lists_of_lists_are_dense_matrices():
    dataset = lt.Dataset(X_DENSE.tolist(), Y_DENSE.astype(bool).tolist())
    np.testing.assert_array_equal(dataset.X.toarray(), X_DENSE)


@settings(deadline=None)
@given(
    hnp.arrays(np.int32, st.integers(0, 30), elements=st.integers(0, 5)),
    st.randoms(use_true_random=False),
)
def test_unsorted_and_repeated_entries_are_merged_as_scipy_sums_them(columns, random):
    cuts = sorted(random.randint(0, len(columns)) for _ in range(2))
    indptr = np.array([0, *cuts, len(columns)], dtype=np.int64)
    values = np.array([random.randint(1, 9) for _ in columns], dtype=np.float32)
    given = sparse.csr_array((values, columns, indptr), shape=(3, 6))
    before = values.copy(), columns.copy()
    dataset = lt.Dataset(given, np.ones((3, 1)))
    expected = np.zeros((3, 6), dtype=np.float32)
    for row in range(3):
        for entry in range(indptr[row], indptr[row + 1]):
            expected[row, columns[entry]] += values[entry]
    np.testing.assert_array_equal(dataset.X.toarray(), expected)
    for row in range(3):
        assert (np.diff(dataset.X.indices[dataset.X.indptr[row] : dataset.X.indptr[row + 1]]) > 0).all()
    np.testing.assert_array_equal(values, before[0])
    np.testing.assert_array_equal(columns, before[1])


def test_a_false_claim_of_sorted_indices_is_not_believed():
    given = sparse.csr_array((np.ones(2, np.float32), np.array([3, 1]), np.array([0, 2])), shape=(1, 4))
    given.has_canonical_format = True
    assert lt.Dataset(given, [[1]]).X.indices.tolist() == [1, 3]


def test_good_csr_is_copied_only_if_it_can_change():
    given = sparse.csr_array(X_DENSE.astype(np.float32))
    assert not np.shares_memory(lt.Dataset(given, Y_DENSE).X.data, given.data)  # another thread might change it
    frozen = given.copy()
    frozen.data = given.data.copy()
    frozen.data.flags.writeable = False
    dataset = lt.Dataset(frozen, Y_DENSE)
    assert np.shares_memory(dataset.X.data, frozen.data)
    assert np.shares_memory(lt.Dataset(dataset.X, Y_DENSE).X.indices, dataset.X.indices)
    given.data[0] = 7  # the caller's own array stays writeable
    assert given.data.flags.writeable


def test_stored_zeros_are_dropped_from_y_and_the_given_matrix_stays():
    given = sparse.csr_array((np.array([1.0, 0.0, 0.25]), np.array([0, 1, 1]), np.array([0, 2, 3])), shape=(2, 2))
    dataset = lt.Dataset(np.zeros((2, 0)), given)
    assert dataset.Y.nnz == 2
    assert given.nnz == 3
    np.testing.assert_array_equal(dataset.Y.toarray(), given.toarray())


def with_entry(value, row, column):
    matrix = np.zeros((20, 9))
    matrix[3, 2] = 1
    matrix[row, column] = value
    return matrix


@pytest.mark.parametrize("make", [np.asarray, sparse.csc_array])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.nan, "X has a NaN at row 12, column 7"),
        (-np.inf, "X has an infinite value at row 12, column 7"),
        (-1e39, r"X has -1e\+39, too large for float32, at row 12, column 7"),
    ],
)
def test_a_bad_value_in_x_is_named_with_its_place(make, value, message):
    with pytest.raises(lt.errors.InputError, match=f"^{message}$"):
        lt.Dataset(make(with_entry(value, 12, 7)), np.ones((20, 1)))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.nan, "Y has a NaN at row 0, column 8"),
        (np.inf, "Y has an infinite value at row 0, column 8"),
        (-0.5, "Y has the negative value -0.5 at row 0, column 8"),
    ],
)
def test_a_bad_value_in_y_is_named_with_its_place(value, message):
    with pytest.raises(lt.errors.InputError, match=f"^{message}$"):
        lt.Dataset(np.ones((20, 1)), with_entry(value, 0, 8))


def damaged():
    matrix = sparse.csr_array(X_DENSE)
    matrix.indices = np.array([0, 3, 0, 9], dtype=np.int32)
    return matrix


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": np.ones(3)}, r"X must be two-dimensional, got 'an array of shape \(3,\)'"),
        ({"X": sparse.coo_array(np.ones(3))}, "X must be two-dimensional"),
        ({"X": X_DENSE.astype(str)}, "X must be a matrix of real numbers"),
        ({"Y": Y_DENSE.astype(complex)}, "Y must be a matrix of real numbers"),
        ({"Y": [[0], [0.5, 1], []]}, "Y must be a sparse or dense matrix"),
        ({"X": damaged()}, "X is a damaged sparse matrix"),
        ({"Y": np.ones((4, 2))}, "X has 3 rows and Y has 4"),
        ({"X": None}, "X must be"),
        ({"label_names": ["a"]}, "label_names must be 2 strings, got '1 of them'"),
        ({"label_names": ["a", "a"]}, "label_names has 'a' twice, at 0 and 1"),
        ({"label_names": "ab"}, "label_names must be a sequence of strings"),
        ({"label_names": ["a", 3]}, r"label_names\[1\] must be a string, got 3"),
        ({"label_names": np.array([["a", "b"]])}, "label_names must be one-dimensional"),
        ({"feature_names": ["a", "b"]}, "feature_names must be 4 strings"),
        ({"texts": ["a", "b"]}, "texts must be 3 strings"),
        ({"sample_weight": [1, 2]}, r"sample_weight must be of shape \(3,\)"),
        ({"sample_weight": [1, -2, 1]}, r"sample_weight\[1\] must be a finite number of at least 0, got -2.0"),
        ({"sample_weight": [1, 1, np.nan]}, r"sample_weight\[2\] must be a finite number"),
        ({"sample_weight": [0, 0, 0]}, "sample_weight is zero for every point"),
        ({"sample_weight": ["a", "b", "c"]}, "sample_weight must be an array of numbers"),
    ],
)
def test_bad_arguments_are_refused_by_name(arguments, message):
    with pytest.raises(lt.errors.InputError, match=message):
        lt.Dataset(**({"X": X_DENSE, "Y": Y_DENSE} | arguments))


def full():
    return lt.Dataset(
        X_DENSE,
        Y_DENSE,
        label_names=np.array(["a", "b"]),
        feature_names=list("wxyz"),
        sample_weight=[1, 0, 2],
        texts=["one", "two", "three"],
    )


def test_names_texts_and_weights_are_kept():
    dataset = full()
    assert dataset.label_names.dtype == object
    assert dataset.label_names.tolist() == ["a", "b"]
    assert all(type(name) is str for name in dataset.label_names)
    assert dataset.feature_names.tolist() == list("wxyz")
    assert dataset.sample_weight.dtype == np.float64
    assert dataset.texts.tolist() == ["one", "two", "three"]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (slice(1, None), [1, 2]),
        (slice(None, None, -1), [2, 1, 0]),
        ([2, 0, 2], [2, 0, 2]),
        (np.array([-1]), [2]),
        (np.array([True, False, True]), [0, 2]),
    ],
)
def test_points_are_taken_with_all_that_belongs_to_them(rows, expected):
    for taken in (full()[rows], full().take(rows)):
        np.testing.assert_array_equal(taken.X.toarray(), X_DENSE[expected])
        np.testing.assert_array_equal(taken.Y.toarray(), Y_DENSE[expected])
        np.testing.assert_array_equal(taken.sample_weight, np.array([1, 0, 2])[expected])
        assert taken.texts.tolist() == [["one", "two", "three"][i] for i in expected]
        assert taken.label_names.tolist() == ["a", "b"]
        assert taken.X.indptr.dtype == np.int32


def test_an_empty_dataset_is_allowed():
    empty = lt.Dataset(X_DENSE, Y_DENSE)[[]]
    assert (empty.n_points, empty.n_features, empty.n_labels) == (0, 4, 2)
    assert "0 points" in repr(empty)


@pytest.mark.parametrize("rows", [0, [3], [-4], [0.5], "a", np.array([True]), [[0]]])
def test_invalid_rows_are_refused(rows):
    with pytest.raises(lt.errors.InputError, match="rows must be"):
        lt.Dataset(X_DENSE, Y_DENSE)[rows]


def test_points_without_any_weight_cannot_be_taken():
    with pytest.raises(lt.errors.InputError, match="sample_weight is zero for every point"):
        full()[[1]]


def test_a_dataset_cannot_be_changed():
    dataset = full()
    with pytest.raises(AttributeError, match="read-only"):
        dataset.X = dataset.X
    with pytest.raises(AttributeError, match="read-only"):
        del dataset.Y
    for array in (
        dataset.X.data,
        dataset.X.indices,
        dataset.Y.indptr,
        dataset.label_names,
        dataset.sample_weight,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[0]


def test_a_dataset_is_not_an_iterable():
    with pytest.raises(TypeError, match="not iterable"):
        list(full())


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda dataset: pickle.loads(pickle.dumps(dataset))])
def test_copies_and_pickles_are_equal(duplicate):
    other = duplicate(full())
    np.testing.assert_array_equal(other.X.toarray(), X_DENSE)
    assert other.texts.tolist() == full().texts.tolist()
    with pytest.raises(AttributeError, match="read-only"):
        other.X = None


def test_repr_shows_the_shape_and_other_fields():
    assert repr(full()) == (
        "Dataset(3 points, 4 features, 2 labels; a point has 1.33 features and 1 labels; "
        "with label_names, feature_names, sample_weight, texts)"
    )


def test_as_dataset_takes_a_dataset_or_a_pair():
    dataset = full()
    assert as_dataset(dataset) is dataset
    np.testing.assert_array_equal(as_dataset((X_DENSE, Y_DENSE)).X.toarray(), X_DENSE)


@pytest.mark.parametrize("train", [None, X_DENSE, (X_DENSE,), "ab"])
def test_as_dataset_refuses_other_things(train):
    with pytest.raises(lt.errors.InputError, match="train must be a Dataset or a pair"):
        as_dataset(train)


def test_labels_of_a_point():
    dataset = lt.Dataset(np.zeros((3, 1)), [[0, 1, 1], [0, 0, 0], [2, 0, 1]], label_names=["a", "b", "c"])
    assert [dataset.labels_of(point) for point in (0, 1, 2, -1)] == [["b", "c"], [], ["a", "c"], ["a", "c"]]
    assert lt.Dataset(dataset.X, dataset.Y).labels_of(0) == [1, 2]
    with pytest.raises(lt.errors.InputError, match=r"point must be an integer in \[-3, 2\]"):
        dataset.labels_of(3)


# Texts, contexts and lists of labels.

TEXTS, NAMES = ["red wine", "white wine", "red tea"], [["wine", "red"], ["wine"], ["tea"]]


def test_texts_and_lists_of_names_make_a_dataset_that_models_take():
    data = lt.Dataset(TEXTS * 5, NAMES * 5)
    assert data.label_names.tolist() == ["red", "tea", "wine"]
    assert data.X.shape == (15, 0)
    assert data.texts.tolist() == TEXTS * 5
    model, same = lt.LabelTreeClassifier().fit(data), lt.LabelTreeClassifier().fit(TEXTS * 5, NAMES * 5)
    for found, expected in zip(model.predict_topk(TEXTS, 2), same.predict_topk(TEXTS, 2), strict=True):
        assert found.tolist() == expected.tolist()
    text_model = lt.TextLabelTreeClassifier(dim=4, epochs=1, buckets=50)
    assert text_model.fit(data).classes_.tolist() == ["red", "tea", "wine"]


def test_ids_of_labels_may_be_lists_of_different_lengths():
    data = lt.Dataset(np.eye(3), [[0, 2], [1], []], label_names=["a", "b", "c", "d"])
    assert data.Y.toarray().tolist() == [[1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    with pytest.raises(lt.errors.InputError, match="label_names must be None where Y has names already"):
        lt.Dataset(np.eye(3), NAMES, label_names=["a"])


def test_contexts_need_an_encoder():
    encoder = lt.encoders.ItemEncoder(["milk", "bread"])
    data = lt.Dataset([["milk"], ["bread", "milk"]], np.eye(2), encoder=encoder)
    assert (data.X != encoder.transform([["milk"], ["bread", "milk"]])).nnz == 0
    with pytest.raises(lt.errors.InputError, match="lists of items need an encoder"):
        lt.Dataset([["milk"], ["bread", "milk"]], np.eye(2))


def test_label_names_can_be_replaced(tmp_path):
    data = lt.Dataset(np.eye(2), np.eye(2), label_names=["a", "b"])
    lt.write_parts(data, tmp_path / "parts", 1)
    for each in (data, lt.open_parts(tmp_path / "parts")):
        assert each.with_label_names(["c", "d"]).label_names.tolist() == ["c", "d"]
        assert each.with_label_names(None).label_names is None
        assert each.label_names.tolist() == ["a", "b"]
        with pytest.raises(lt.errors.InputError, match="label_names must be 2 strings"):
            each.with_label_names(["c"])


RAGGED = [[1], [2, 3], 1]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"groups": RAGGED}, "groups must be 3 integers or texts, one per point, got "),
        ({"times": RAGGED}, "times must be 3 numbers or dates"),
        ({"times": [1.0, np.nan, 2.0]}, r"times\[1\] must be a time, got "),
        ({"times": np.array(["2026-01-01", "2026-01-02", "NaT"], "M8[s]")}, r"times\[2\] must be a time, got "),
    ],
)
def test_wrong_groups_and_times_are_refused(given, message):
    with pytest.raises(lt.errors.InputError, match=message):
        lt.Dataset(X_DENSE, Y_DENSE, **given)
