"""Points in every form give the same model and the same answers; wrong ones are refused."""

import numpy as np
import pytest
import scipy.sparse as sp

import labeltrees as lt
from labeltrees.models.linear.points import check_points
from tests.models.twin import all_scores, tight

SPARSE = {
    "csr_array": sp.csr_array,
    "csr_matrix": sp.csr_matrix,
    "csc_array": sp.csc_array,
    "csc_matrix": sp.csc_matrix,
    "coo_array": sp.coo_array,
    "lil_matrix": sp.lil_matrix,
    "float64": lambda X: X.astype(np.float64),
    "int64_indices": lambda X: with_indices(X, np.int64),
    "unsorted": lambda X: with_reversed_rows(X),
    "halves_twice": lambda X: with_every_entry_twice(X),
    "read_only": lambda X: read_only(X),
}


def with_indices(X, dtype):
    copy = sp.csr_array(X)
    copy.indices, copy.indptr = X.indices.astype(dtype), X.indptr.astype(dtype)
    return copy


def with_reversed_rows(X):
    order = np.concatenate([np.arange(X.indptr[row + 1] - 1, X.indptr[row] - 1, -1) for row in range(X.shape[0])])
    return sp.csr_array((X.data[order], X.indices[order], X.indptr), shape=X.shape)


def with_every_entry_twice(X):
    return sp.csr_array((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), X.indptr * 2), shape=X.shape)


def read_only(X):
    copy = X.copy()
    for part in (copy.data, copy.indices, copy.indptr):
        part.flags.writeable = False
    return copy


@pytest.mark.parametrize("form", SPARSE)
@pytest.mark.parametrize("normalize", [True, False])
def test_sparse_points_in_every_form_are_the_same_points(problem, form, normalize):
    X, Y = problem
    options = {"fanout": 3, "normalize": normalize}
    plain = lt.LabelTreeClassifier(**options).fit(X, Y)
    other = SPARSE[form](X)
    before = sp.csr_array(other, copy=True).toarray()
    found = lt.LabelTreeClassifier(**options).fit(other, Y)
    assert found.searcher_.stores[0].chunks.tobytes() == plain.searcher_.stores[0].chunks.tobytes()
    for expected, answer in zip(plain.predict_topk(X), found.predict_topk(other), strict=True):
        np.testing.assert_array_equal(answer, expected)
    np.testing.assert_array_equal(sp.csr_array(other).toarray(), before)  # nobody wrote into it


DENSE = {
    "float32": lambda X: X,
    "float64": lambda X: X.astype(np.float64),
    "columns": np.asfortranarray,
    "lists": lambda X: X.tolist(),
    "objects": lambda X: X.astype(object),
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "read_only": lambda X: np.frombuffer(X.tobytes(), np.float32).reshape(X.shape),
}


@pytest.mark.parametrize("form", DENSE)
@pytest.mark.parametrize("normalize", [True, False])
def test_dense_points_in_every_form_are_the_same_points(problem, form, normalize):
    X, Y = problem[0].toarray() + np.float32(0.1), problem[1]
    options = {"fanout": 3, "normalize": normalize}
    plain = lt.LabelTreeClassifier(**options).fit(X, Y)
    assert plain.searcher_.stores[0].matrices
    found = lt.LabelTreeClassifier(**options).fit(DENSE[form](X), Y)
    assert found.searcher_.stores[0].chunks.tobytes() == plain.searcher_.stores[0].chunks.tobytes()
    for queries in (DENSE[form](X), sp.csr_array(X)):
        for expected, answer in zip(plain.predict_topk(X), found.predict_topk(queries), strict=True):
            np.testing.assert_array_equal(answer, expected)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_dense_and_sparse_points_make_nearly_the_same_model(problem, loss):
    X, Y = problem
    sparse, dense = (lt.LabelTreeClassifier(fanout=3, **tight(loss)).fit(x, Y) for x in (X, X.toarray()))
    assert sparse.tree_ == dense.tree_
    np.testing.assert_allclose(all_scores(sparse, X), all_scores(dense, X), atol=2e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, int, bool, object])
def test_dense_queries_find_what_sparse_ones_find(problem, model, dtype):
    dense = (problem[0].toarray() * 4).round().astype(dtype)
    for order in ("C", "F"):
        found = model.predict_topk(np.array(dense, order=order))
        for expected, answer in zip(model.predict_topk(sp.csr_array(dense.astype(float))), found, strict=True):
            np.testing.assert_array_equal(answer, expected)
    np.testing.assert_array_equal(model.predict_topk(dense.tolist())[0], found[0])


def test_an_empty_batch_has_an_empty_answer(problem, model, named):
    X, Y = problem
    for empty in (X[:0], X[:0].toarray()):
        labels, scores = model.predict_topk(empty, 3)
        assert labels.shape == scores.shape == (0, 3)
        assert named.predict_topk(empty, 3)[0].shape == (0, 3)
        assert model.predict(empty).shape == model.predict_scores(empty).shape == (0, 12)
    with pytest.raises(lt.InputError, match="score needs at least one point"):
        model.score(X[:0], Y[:0])


def damaged(change):
    matrix = sp.csr_array(np.eye(3, dtype=np.float32))
    change(matrix)
    return matrix


WRONG = {
    "nan": (sp.csr_array([[np.nan, 1.0]]), "X has a NaN at row 0, column 0"),
    "inf": (sp.csr_array([[1.0, np.inf]]), "X has an infinite value at row 0, column 1"),
    "too large": (sp.csr_array([[1.0, 1e300]]), "too large for float32, at row 0, column 1"),
    "complex": (sp.csr_array([[1j, 0]]), "real numbers"),
    "no column": (sp.csr_array((3, 0)), r"0 feature\(s\)"),
    "no row": (sp.csr_array((0, 3)), r"0 sample\(s\)"),
    "one dimension": (sp.coo_array(np.ones(3)), "two-dimensional"),
    "index": (damaged(lambda X: X.indices.__setitem__(1, 7)), "damaged sparse matrix"),
    "negative index": (damaged(lambda X: X.indices.__setitem__(1, -7)), "damaged sparse matrix"),
    "indptr": (damaged(lambda X: X.indptr.__setitem__(1, 900)), "damaged sparse matrix"),
    "falling indptr": (damaged(lambda X: X.indptr.__setitem__(1, -5)), "damaged sparse matrix"),
    "dense nan": (np.array([[np.nan, 1.0]]), "NaN"),
    "dense inf": (np.array([[np.inf, 1.0]]), "infinity"),
    "dense too large": (np.array([[1e300, 1.0]]), "infinity|too large"),
    "dense no row": (np.ones((0, 3)), r"0 sample\(s\)"),
    "dense no column": (np.ones((3, 0)), r"0 feature\(s\)"),
    "dense vector": (np.ones(3), "2D array"),
    "dense cube": (np.ones((2, 2, 2)), "dim 3"),
    "text": ([["a", "b"]], "could not convert string to float|numeric"),
    "ragged": ([[1.0], [1.0, 2.0]], "inhomogeneous"),
    "nothing": (None, "array"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_points_are_refused(case):
    X, message = WRONG[case]
    with pytest.raises(lt.InputError, match=message):
        lt.LabelTreeClassifier(tree="flat").fit(X, [["a"]])


@pytest.mark.parametrize("case", ["nan", "index", "indptr", "dense nan", "dense vector"])
def test_wrong_queries_are_refused(model, case):
    X, message = WRONG[case]
    with pytest.raises(lt.InputError, match=message):
        model.predict_topk(X)


@pytest.mark.parametrize("make", [sp.csr_array, np.asarray], ids=["sparse", "dense"])
@pytest.mark.parametrize("method", ["predict", "predict_topk", "predict_scores"])
def test_queries_of_other_width_are_refused(model, make, method):
    with pytest.raises(lt.InputError, match="X has 39 features, but LabelTreeClassifier is expecting 40"):
        getattr(model, method)(make(np.ones((2, 39))))


def test_the_number_of_features_is_noted(problem):
    model = lt.LabelTreeClassifier()
    assert check_points(model, problem[0], fitting=True).shape == (120, 40)
    assert model.n_features_in_ == 40
