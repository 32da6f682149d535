"""Names go to ids and back, whether the model was trained or opened from a file."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import labeltrees as lt
from labeltrees import _core
from labeltrees.models.common.label_names import LabelNames, StoredNames
from labeltrees.storage import encode_names

TEXTS = ["bee", "", "ant", "Ænt \N{ANT}"]


@pytest.fixture(params=["kept", "stored"])
def names(request):
    if request.param == "kept":
        return LabelNames(np.array(TEXTS, dtype=object))
    return StoredNames(*encode_names(TEXTS), "model")


def test_ids_become_names_and_minus_one_becomes_none(names):
    found = names.take(np.array([[3, 0], [-1, 1]]))
    assert found.dtype == object
    assert found.tolist() == [[TEXTS[3], "bee"], [None, ""]]
    assert names.take(np.zeros((0, 5), np.int64)).shape == (0, 5)


def test_all_names_are_present(names):
    assert len(names) == 4
    assert names.array.tolist() == TEXTS
    assert names.take(np.array([2])).tolist() == ["ant"]


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        (["ant", "bee"], [2, 0]),
        (("ant",), [2]),
        ({"ant"}, [2]),
        (np.array(["ant", ""]), [2, 1]),
        (np.array(["ant", "bee"], dtype=object), [2, 0]),
        ([["ant"], [], ["bee", "bee"]], [[2], [], [0, 0]]),
        ((["ant"], {"bee"}), [[2], [0]]),
        ([np.array(["ant"]), ["bee"]], [[2], [0]]),
        ([[1], ["ant"]], [[1], [2]]),
    ],
    ids=repr,
)
def test_names_become_ids(names, lists, expected):
    found = names.ids("candidates", lists)
    assert [np.asarray(entry).tolist() for entry in found] == expected


@pytest.mark.parametrize("lists", [None, [1, 2], [], [[1], [2]], np.array([1, 2]), "ant", 5, [np.int32(3)]], ids=repr)
def test_ids_are_passed_on_to_the_search_unchecked(names, lists):
    found = names.ids("candidates", lists)
    np.testing.assert_array_equal(found, lists)


def test_sparse_candidates_stay(names):
    matrix = sp.csr_array(np.eye(4))
    assert names.ids("candidates", matrix) is matrix


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        (["ant", "cow"], "candidates must be names of labels that the model knows, got 'cow'"),
        ([["ant"], ["cow"]], r"candidates\[1\] must be names of labels that the model knows, got 'cow'"),
        (["ant", 1], "candidates must be names of labels that the model knows, got 1"),
        (["ant", ["bee"]], r"candidates\[0\] must be a list of labels, got 'ant'"),
        ([["ant"], None], r"candidates\[1\] must be a list of labels, got None"),
        ([["ant", ["bee"]]], r"candidates\[0\] must be names of labels that the model knows, got \['bee'\]"),
    ],
    ids=repr,
)
def test_wrong_names_are_refused(names, lists, message):
    with pytest.raises(lt.errors.InputError, match=message):
        names.ids("candidates", lists)


def test_names_survive_pickling_without_their_table(names):
    assert names.ids("candidates", ["ant"]).tolist() == [2]
    again = pickle.loads(pickle.dumps(names))
    assert "position" not in again.__dict__
    assert again.array.tolist() == TEXTS
    assert again.ids("candidates", ["ant"]).tolist() == [2]


def test_an_empty_list_of_names_is_allowed():
    assert len(StoredNames(*encode_names([]), "folder")) == 0
    with pytest.raises(lt.errors.FileFormatError, match=r"^folder: the label names are damaged"):
        StoredNames(np.zeros(0, dtype=np.uint8), np.zeros(0, dtype=np.int64), "folder")


def test_names_are_stored_unchanged(names):
    text, ends = names.to_arrays()
    assert StoredNames(text, ends, "again").array.tolist() == TEXTS


@pytest.mark.parametrize(
    ("change", "value"),
    [(1, 10**9), (1, -1), (2, -(2**62)), (4, 2**62), (2, 1)],
    ids=["far", "minus", "low", "high", "back"],
)
def test_a_damaged_place_is_found_when_a_name_is_asked_for(change, value):
    text, ends = encode_names(TEXTS)
    ends = ends.copy()
    ends[change] = value
    names = StoredNames(text, ends, "folder")
    with pytest.raises(lt.errors.FileFormatError, match=r"^folder: the name of label \d is damaged"):
        names.take(np.arange(4))
    with pytest.raises(lt.errors.FileFormatError, match=r"^folder: the bounds of the names are damaged"):
        names.array  # noqa: B018


def test_names_that_are_not_text_are_found_when_asked_for():
    text, ends = encode_names(TEXTS)
    text = text.copy()
    text[0] = 255
    names = StoredNames(text, ends, "folder")
    assert names.take(np.array([2])).tolist() == ["ant"]
    with pytest.raises(lt.errors.FileFormatError, match="folder: a name is not UTF-8"):
        names.take(np.array([0]))


@pytest.mark.parametrize(
    ("ends", "number"), [([-1, 3, 6], 0), ([4, 3, 6], 0), ([0, 3, 7], 1), ([0, 3, 2], 1), ([0, 2**62, 6], 0)]
)
def test_native_code_refuses_names_whose_bounds_are_damaged(ends, number):
    text, known = np.frombuffer(b"antbee", np.uint8), _core.Names(*encode_names(["bee", "ant"]), "known")
    assert known.find_all(_core.Names(text, np.array([0, 3, 6]), "file")).tolist() == [1, 0]
    with pytest.raises(lt.errors.FileFormatError, match=f"file: the bounds of name {number} are damaged"):
        known.find_all(_core.Names(text, np.array(ends), "file"))
