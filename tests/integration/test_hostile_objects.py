"""Objects that run code while they are read, arrays in unusual forms, and arrays that another thread changes.

All of them end in an answer or in an error of ours. Before they were read once and then checked, most of these tests
ended the process with a segmentation fault.
"""

import threading

import numpy as np
import pytest
import scipy.sparse as sp

import labeltrees as lt
from labeltrees.data.encoders import ItemEncoder
from tests.sanitizers import WITH_THREAD_SANITIZER

N, D, L = 60, 40, 12
FORMATS = ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")


def points(seed=0):
    rng = np.random.default_rng(seed)
    X = sp.random_array((N, D), density=0.2, rng=rng, dtype=np.float32).tocsr()
    Y = sp.csr_array((np.ones(N, np.float32), (np.arange(N), np.arange(N) % L)), shape=(N, L))
    return X, Y


@pytest.fixture(scope="module")
def model():
    return lt.LabelTreeClassifier(n_jobs=2).fit(*points())


@pytest.fixture(scope="module")
def answer(model):
    return model.predictor()


def ends_well(call):
    """Whether a call returns; an error of ours is the other good end."""
    try:
        call()
    except lt.errors.LabelTreesError:
        return False
    return True


# Numbers with code.


def number_that_clears(kind, method, value, owner, refill=()):
    def change(self):
        owner.clear()
        owner.extend(refill)
        return value

    return type("Number", (kind,), {method: change})(value)


@pytest.mark.parametrize("refill", [(), range(5000)])
def test_a_list_of_values_that_is_cleared_while_it_is_read(answer, refill):
    values = []
    values += [number_that_clears(int, "__float__", 1, values, refill)] + [1.0] * 5000
    ends_well(lambda: answer([0] * 5001, values))
    values = [1.0] * 5000
    ends_well(lambda: answer([0] * 5000, [number_that_clears(int, "__float__", 1, values), *values[1:]]))


class Label:
    """Not an int: its __index__ is code."""

    def __init__(self, action):
        self.action = action

    def __index__(self):
        self.action()
        return 1


@pytest.mark.parametrize("option", ["exclude", "candidates"])
def test_labels_that_change_the_query_after_it_was_checked(answer, option):
    for feature in (2**31 - 1, -(2**31), 10**6):
        indices, values = np.arange(8, dtype=np.int32), np.ones(8, np.float32)

        def damage(indices=indices, values=values, feature=feature):
            indices[:] = feature
            values[:] = np.nan

        found, scores = answer(indices, values, **{option: [Label(damage)]})
        assert np.isfinite(scores).all()
        assert (found >= 0).all()


@pytest.mark.parametrize("option", ["exclude", "candidates"])
def test_labels_that_free_the_query_or_their_own_list(answer, option):
    indices, values = np.arange(8, dtype=np.int32), np.ones(8, np.float32)
    labels = []

    def free():
        indices.resize(0, refcheck=False)
        values.resize(0, refcheck=False)
        labels.clear()

    labels += [Label(free)] + [2] * 100
    answer(indices, values, **{option: labels})
    endless = []
    endless.append(Label(lambda: endless.append(Label(lambda: endless.append(endless[0])))))
    answer([0], [1.0], **{option: endless})


def test_weights_that_change_their_dict(answer):
    weights = {}

    class Weight(int):
        def __float__(self):
            weights.clear()
            return 2.0

    weights.update({label: Weight(2) for label in range(L)})
    ends_well(lambda: answer([0], [1.0], label_weight=weights))


def test_items_that_make_their_list_longer():
    encoder = ItemEncoder(["1", "2", "3"])
    model = lt.LabelTreeClassifier().fit(lt.Dataset([["1", "2"], ["2", "3"]] * 5, [["a"], ["b"]] * 5, encoder=encoder))
    history = []
    history.append(Label(lambda: history.append(history[0])))
    model.predictor()(history)


# Sparse matrices whose parts do not fit, in every form.


def damaged(kind, n_columns=D):
    """Return a matrix whose indices exceed its shape."""
    X, _ = points()
    matrix = X[:, :n_columns].asformat(kind)
    if kind in ("csr", "csc", "bsr"):
        matrix.indices = matrix.indices.copy()
        matrix.indices[3] = 10**6
    elif kind == "coo":
        matrix.coords = (matrix.coords[0].copy(), np.full_like(matrix.coords[1], 10**6))
    elif kind == "lil":
        matrix.rows[2], matrix.data[2] = [10**6], [1.0]
    elif kind == "dok":
        matrix._dict[(10**6, 10**6)] = 1.0
    else:
        matrix.offsets = matrix.offsets + 10**6
    return matrix


@pytest.mark.parametrize("kind", FORMATS)
def test_damaged_matrices_are_refused(model, kind):
    _, Y = points()
    X = damaged(kind)
    for call in (
        lambda: lt.LabelTreeClassifier().fit(X, Y),
        lambda: lt.pifa(X, Y),
        lambda: lt.Dataset(X, Y),
        lambda: lt.label_frequencies(X),
        lambda: lt.build_tree(X, Y),
        lambda: model.predict_topk(X),
        lambda: model.predict_topk(points()[0], candidates=damaged(kind, L)),
    ):
        if kind == "dia":  # all of its entries are outside: an empty matrix
            ends_well(call)
        else:
            with pytest.raises(lt.errors.InputError):
                call()


@pytest.mark.parametrize("kind", FORMATS)
def test_every_form_gives_the_same_model(kind):
    X, Y = points()
    expected = lt.LabelTreeClassifier().fit(X, Y).predict_topk(X)
    found = lt.LabelTreeClassifier().fit(X.asformat(kind), Y.asformat(kind)).predict_topk(X.asformat(kind))
    assert np.array_equal(found[0], expected[0])
    assert np.array_equal(found[1], expected[1])


class LyingRows(sp.csr_array):
    """Passes every check of its own, and shows other indices each time."""

    reads = 0

    def check_format(self, full_check=True):
        pass

    @property
    def indices(self):
        type(self).reads += 1
        own = self.__dict__["indices"]
        return own if type(self).reads % 2 else np.full_like(own, 10**8)

    @indices.setter
    def indices(self, value):
        self.__dict__["indices"] = value

    def tocsr(self, copy=False):
        return self


class LyingConversion(sp.coo_array):
    def tocsr(self, copy=False):
        return damaged("csr")


class LyingBounds(sp.csr_array):
    @property
    def indptr(self):
        own = self.__dict__["indptr"].copy()
        own[1:-1] = 10**9
        return own

    @indptr.setter
    def indptr(self, value):
        self.__dict__["indptr"] = value

    def check_format(self, full_check=True):
        pass


@pytest.mark.parametrize("kind", [LyingRows, LyingConversion, LyingBounds])
@pytest.mark.filterwarnings("ignore")
def test_subclasses_that_lie_about_themselves(model, kind):
    X, Y = points()
    for _ in range(4):
        lying = kind(X)
        kind.reads = 0
        ends_well(lambda lying=lying: lt.LabelTreeClassifier().fit(lying, Y))
        ends_well(lambda lying=lying: lt.pifa(X, kind(Y)))
        ends_well(lambda lying=lying: model.predict_topk(lying))
        ends_well(lambda lying=lying: lt.label_frequencies(lying))
        ends_well(lambda lying=lying: model.predict_topk(X, exclude=kind(Y)))


def test_lists_whose_length_differs_from_their_items():
    class Longer(list):
        def __len__(self):
            return 100

    class Endless(list):
        def __iter__(self):
            return iter(["a", "b", "c", "d"])

    X, _ = points()
    for Y in ([Longer(["a", "b"])] * N, [Endless(["a"])] * N, Longer([["a"], ["b"]] * (N // 2))):
        ends_well(lambda Y=Y: lt.LabelTreeClassifier().fit(X, Y))


# Arrays in unusual forms.


def forms(array):
    """Yield the same numbers strided, unaligned, in the other byte order and read-only."""
    wide = np.zeros(2 * len(array), array.dtype)
    wide[::2] = array
    yield "strided", wide[::2]
    buffer = np.zeros(array.nbytes + 1, np.uint8)
    unaligned = buffer[1:].view(array.dtype)
    unaligned[:] = array
    yield "unaligned", unaligned
    yield "big-endian", array.astype(array.dtype.newbyteorder(">"))
    frozen = array.copy()
    frozen.flags.writeable = False
    yield "read-only", frozen


@pytest.mark.parametrize("place", ["data", "indices", "indptr"])
@pytest.mark.parametrize("form", ["strided", "unaligned", "big-endian", "read-only"])
def test_arrays_of_a_matrix_in_unusual_forms_are_converted(model, place, form):
    X, Y = points()
    expected = lt.LabelTreeClassifier().fit(X, Y).predict_topk(X)
    unusual = X.copy()
    setattr(unusual, place, dict(forms(getattr(X, place)))[form])
    found = lt.LabelTreeClassifier().fit(unusual, Y).predict_topk(unusual)
    for own, other in zip(found, expected, strict=True):
        assert np.array_equal(own, other)
    ends_well(lambda: lt.LabelTreeClassifier().fit(X, unusual))


@pytest.mark.parametrize("form", ["strided", "unaligned", "big-endian", "read-only"])
def test_queries_and_labels_in_unusual_forms(model, answer, form):
    X, _ = points()
    row = X[[0]]
    expected = answer(row.indices, row.data)
    indices, values = dict(forms(row.indices))[form], dict(forms(row.data))[form]
    if ends_well(lambda: answer(indices, values)):
        assert np.array_equal(answer(indices, values)[0], expected[0])
    excluded = dict(forms(expected[0][:2]))[form]
    assert not set(expected[0][:2].tolist()) & set(answer(row.indices, row.data, exclude=excluded)[0].tolist())
    labels, _ = model.predict_topk(X, exclude=excluded)
    assert not np.isin(labels, expected[0][:2]).any()
    dense = dict(forms(X.toarray().reshape(-1)))[form].reshape(X.shape)
    assert np.array_equal(model.predict_topk(dense)[0], model.predict_topk(X)[0])
    assert np.array_equal(lt.LabelTreeClassifier().fit(dense, points()[1]).predict_topk(X)[0].shape, (N, 5))


JUNK = (
    np.zeros((0, 0)), np.zeros((0, D)), np.zeros((N, 0)), np.zeros(0), np.float32(1), np.zeros((N, D, 1)),
    np.full((N, D), None), np.full((N, D), 1j), np.zeros((N, D), "M8[s]"), np.zeros((N, D), "S3"),
    sp.csr_array((0, 0)), sp.csr_array((N, 0)), sp.csr_array((N, D), dtype=np.complex64), sp.coo_array(np.zeros(3)),
    np.ma.masked_array(np.zeros((N, D)), True), np.zeros((N, D), [("a", "f4")]), memoryview(b"abc"), object(), 3, None,
    [[1, 2], [3]], [[object()]], [[10**400]], np.ones((N, D), np.float16),
    sp.csr_array(np.ones((N, D), np.longdouble)), range(3), {1: 2}, b"abc", "abc", np.array("abc"),
)  # fmt: skip


@pytest.mark.parametrize("junk", JUNK, ids=lambda junk: type(junk).__name__)
@pytest.mark.filterwarnings("ignore")
def test_other_objects_are_refused_with_an_error_of_ours(model, answer, junk):
    X, Y = points()
    for call in (
        lambda: lt.LabelTreeClassifier().fit(junk, Y),
        lambda: lt.LabelTreeClassifier().fit(X, junk),
        lambda: lt.LabelTreeClassifier().fit(X, Y, junk),
        lambda: lt.pifa(junk, Y),
        lambda: lt.label_frequencies(junk),
        lambda: lt.Dataset(junk, junk),
        lambda: model.predict_topk(junk),
        lambda: model.predict_topk(X, candidates=junk),
        lambda: model.predict_topk(X, exclude=junk),
        lambda: model.predict_topk(X, label_weight=junk),
        lambda: model.predict_topk(X, junk),
        lambda: answer(junk),
        lambda: answer(junk, junk),
        lambda: answer([0], [1.0], exclude=junk),
        lambda: answer([0], [1.0], candidates=junk),
        lambda: answer([0], [1.0], k=junk),
    ):
        ends_well(call)


def test_an_object_with_half_of_a_csr_row_is_refused(answer):
    class Half:
        indptr = (0, 1)

    class NoLength:
        indptr = indices = data = 3

    for half in (Half(), NoLength()):
        with pytest.raises(lt.errors.InputError, match="one CSR row"):
            answer(half)


# Arrays that another thread changes.

writes_during_reads = pytest.mark.skipif(
    WITH_THREAD_SANITIZER, reason="the test itself is a race, which ThreadSanitizer reports"
)


class Writer:
    """Writes to arrays from another thread while a block runs."""

    def __init__(self, *changes):
        self.changes, self.stop = changes, threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.stop.is_set():
            for array, good, bad in self.changes:
                np.copyto(array, bad)
                np.copyto(array, good)

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()


def large_points():
    rng = np.random.default_rng(1)
    X = sp.random_array((2000, 3000), density=0.02, rng=rng, dtype=np.float32).tocsr()
    Y = sp.csr_array((np.ones(2000, np.float32), (np.arange(2000), np.arange(2000) % 200)), shape=(2000, 200))
    return X, Y


@writes_during_reads
def test_matrices_that_another_thread_changes_during_a_fit():
    X, Y = large_points()
    bad = np.full_like(X.indices, 2**31 - 1), np.full_like(X.indptr, 10**9), np.full_like(X.data, np.nan)
    good = X.indices.copy(), X.indptr.copy(), X.data.copy()
    bad_labels, good_labels = np.full_like(Y.indices, 2**31 - 1), Y.indices.copy()
    for _ in range(3):
        with Writer(
            (X.indices, good[0], bad[0]),
            (X.indptr, good[1], bad[1]),
            (X.data, good[2], bad[2]),
            (Y.indices, good_labels, bad_labels),
        ):
            for _ in range(4):
                ends_well(lambda: lt.LabelTreeClassifier(n_jobs=2).fit(X, Y))
                ends_well(lambda: lt.pifa(X, Y))


@writes_during_reads
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # of NumPy's sum, if the values change in between
def test_dense_matrices_that_another_thread_changes_during_a_fit():
    X, Y = large_points()
    dense = np.ascontiguousarray(X.toarray()[:, :400])
    with Writer((dense, dense.copy(), np.full_like(dense, np.nan))):
        for normalize in (True, False, True, False):
            ends_well(lambda normalize=normalize: lt.LabelTreeClassifier(normalize=normalize).fit(dense, Y))


@writes_during_reads
def test_queries_that_another_thread_changes_during_a_search():
    X, Y = large_points()
    model = lt.LabelTreeClassifier(n_jobs=2).fit(X, Y)
    answer = model.predictor()
    row = X[[0]]
    exclude = np.arange(20, dtype=np.int32)
    changes = [
        (array, array.copy(), np.full_like(array, 2**31 - 1)) for array in (X.indices, X.indptr, row.indices, exclude)
    ]
    with Writer(*changes, (X.data, X.data.copy(), np.full_like(X.data, np.nan))):
        for _ in range(30):
            ends_well(lambda: model.predict_topk(X, exclude=exclude))
            ends_well(lambda: model.searcher_.topk(X, 5))
            for _ in range(50):
                ends_well(lambda: answer(row.indices, row.data, exclude=exclude))
