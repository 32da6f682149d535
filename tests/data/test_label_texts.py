"""Texts of labels: their forms, their arrays and their file."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import labeltrees as lt
from labeltrees.data.label_texts import LabelTexts, read_label_texts

valid_text = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)


@given(st.lists(st.lists(valid_text, max_size=3), max_size=6))
def test_texts_come_back_unchanged(lists):
    texts = LabelTexts.of_lists(lists)
    assert texts.lists() == lists
    assert [texts.title(label) for label in range(len(texts))] == [own[0] if own else None for own in lists]
    copy = LabelTexts.from_arrays(texts.arrays("t."), "t.", len(lists), "file")
    copy.verify()
    assert copy.lists() == lists


def test_titles_have_the_shape_of_the_labels():
    texts = LabelTexts.of_lists([["cats", "felines"], []])
    assert texts.titles([[0, 1], [-1, 0]]).tolist() == [["cats", None], [None, "cats"]]


@pytest.mark.parametrize(
    ("given_texts", "names", "expected", "new"),
    [
        (["cats", None, ["dogs", " "]], None, [["cats"], [], ["dogs"]], []),
        ({1: "b", 2: ["c", "d"]}, None, [[], ["b"], ["c", "d"]], []),
        ({"b": "two"}, ["a", "b", "c"], [[], ["two"], []], []),
        ({"z": "last", "x": "new"}, ["a", "b", "c"], [[], [], [], ["new"], ["last"]], ["x", "z"]),
        (LabelTexts.of_lists([["a"], [], []]), None, [["a"], [], []], []),
    ],
)
def test_the_forms_of_texts(given_texts, names, expected, new):
    texts, added = read_label_texts(given_texts, names, 3)
    assert texts.lists() == expected
    assert added == new


@pytest.mark.parametrize(
    ("given_texts", "names", "message"),
    [
        ("cats", None, "label_texts must be a str or a list of str per label"),
        (["cats"], None, "label_texts must be 3 of them, one per label"),
        ([1, 2, 3], None, r"label_texts\[0\] must be a str or a list of str"),
        ({"a": [3]}, ["a", "b", "c"], r"label_texts\['a'\] must be a str or a list of str"),
        ({"a": "\ud800"}, ["a", "b", "c"], r"label_texts\['a'\] is not valid Unicode"),
        ({7: "x"}, None, "because labels have no names"),
        ({7: "x"}, ["a", "b", "c"], "a dict from names of labels"),
    ],
)
def test_wrong_texts_are_refused(given_texts, names, message):
    with pytest.raises(lt.errors.InputError, match=message):
        read_label_texts(given_texts, names, 3)


def test_a_dataset_carries_texts_of_labels():
    dataset = lt.Dataset(np.eye(2), np.eye(2), label_names=["a", "b"], label_texts={"b": "bees"})
    assert dataset[:1].label_texts.lists() == [[], ["bees"]]
    assert "label_texts" in repr(dataset)
    with pytest.raises(lt.errors.InputError, match="a label without points has an empty column"):
        lt.Dataset(np.eye(2), np.eye(2), label_names=["a", "b"], label_texts={"c": "x"})
