"""Hostile and altered JSON is refused by fault, or is a tree."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labeltrees import FileFormatError, LabelTree


def named_tree():
    names = ["", "tea", "green 'tea'", 'naïve "\\" 茶\n']
    return LabelTree([0, 2, 4], [~3, 1, ~0, ~2], 4, label_names=names, label_weights=[0.5, 0, 0.125, 1 / 3])


def load_bytes(path, data):
    path.write_bytes(data)
    return LabelTree.load(path)


@given(position=st.integers(0, 400), change=st.integers(1, 255))
def test_an_altered_json_is_a_tree_or_refused(position, change, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "altered.json"
    data = bytearray(named_tree().to_json().encode())
    data[position % len(data)] ^= change
    try:
        load_bytes(path, bytes(data)).summary()
    except FileFormatError as error:
        assert "altered.json" in str(error)  # noqa: PT017


def altered(**changes):
    value = json.loads(named_tree().to_json())
    value.update(changes)
    return json.dumps({key: content for key, content in value.items() if content is not ...})


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "is not JSON"),
        ("[1, 2]", "is not a tree"),
        ("[" * 100_000, "nested too deeply"),
        (altered(format="other"), "is not a tree"),
        (altered(version=2), "format version 2"),
        (altered(version=[2] * 100), "format version"),
        (altered(n_labels=...), "missing or unknown keys"),
        (altered(colour="red"), "missing or unknown keys: .*'colour'"),
        (altered(n_labels=2.0), "has n_labels 2.0"),
        (altered(n_labels=True), "has n_labels True"),
        (altered(n_labels=2**31 - 1, label_names=None, label_weights=None), "only 3 are placed"),
        (altered(n_labels=3, label_names=None, label_weights=None), "is label 3, but there are 3 labels"),
        (altered(children=[1.5]), "children that is not a list of integers"),
        (altered(children=[True]), "children that is not a list of integers"),
        (altered(children={"a": 1}), "children that is not a list of integers"),
        (altered(children=[[-1]]), "children that is not a list of integers"),
        (altered(children=[10**30]), "beyond 64 bits in children"),
        (altered(children=[-4, 2**31, -1, -3]), "children must be within"),
        (altered(child_ptr=[0, 2, 3]), "child_ptr must be the number of children"),
        (altered(child_ptr=[]), "child_ptr must be one entry longer"),
        (altered(label_names=["a"]), "label_names must be a sequence of 4 strings"),
        (altered(label_names="abcd"), "label_names must be a sequence of 4 strings"),
        (altered(label_names=["a", "b", 3, "d"]), r"label_names\[2\] must be a string"),
        (altered(label_weights=["1"] * 4), "not a list of numbers"),
        (altered(label_weights=[1, 2, -3, 4]), r"label_weights\[2\] must be a finite"),
        (altered(label_weights=[1, 2, 10**400, 4]), "too large for a float"),
        (altered(label_weights=[1, 2, float("nan"), 4]), "has the number NaN"),
        (named_tree().to_json().replace('"version"', '"format"'), "has a key twice"),
        (named_tree().to_json().replace("[0, 2, 4]", "[0, 2, " + "4" * 5000 + "]"), "is not supported JSON"),
    ],
)
def test_a_hostile_json_is_refused_by_fault(text, fault):
    with pytest.raises(FileFormatError, match=fault) as caught:
        LabelTree.from_json(text)
    assert str(caught.value).startswith("JSON text: ")
