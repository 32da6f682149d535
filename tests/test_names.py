"""Names as two arrays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labeltrees._names import decode_names, encode_names, nfc, nfc_labels, same_in_nfc
from labeltrees.errors import FileFormatError


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_names_come_back(names):
    assert decode_names(*encode_names(names)) == names


@pytest.mark.parametrize("ends", [[], [1, 3], [0, 2], [0, 3, 1, 3], [0, 4]])
def test_damaged_names_are_refused(ends):
    with pytest.raises(FileFormatError, match="names"):
        decode_names(np.frombuffer(b"abc", np.uint8), np.array(ends, np.int64))


def test_names_that_are_not_text_are_refused():
    with pytest.raises(FileFormatError, match="UTF-8"):
        decode_names(np.array([255], np.uint8), np.array([0, 1]))


COMPOSED, DECOMPOSED = "caf\u00e9", "cafe\u0301"


def test_names_that_look_the_same_become_one_and_are_reported(caplog):
    assert nfc(DECOMPOSED) == COMPOSED
    assert nfc_labels([DECOMPOSED, "tea", COMPOSED]) == [COMPOSED, "tea", COMPOSED]
    assert "1 label name was given" in caplog.text
    assert "caf\u00e9" in caplog.text
    assert same_in_nfc(["\u212a", "K", "tea"]) == ["K"]  # the sign for kelvin


def test_at_most_five_merged_names_are_shown(caplog):
    for n in (5, 6):
        caplog.clear()
        forms = [f"{letter}{accent}" for letter in "aeiouy"[:n] for accent in ("\u0301",)]
        nfc_labels([*forms, *map(nfc, forms)])
        assert f"{n} label names were given" in caplog.text
        assert caplog.text.rstrip().endswith(" ...") == (n == 6)
        assert caplog.text.count("'") == 10


def test_one_form_alone_is_normalised_without_a_report(caplog):
    assert nfc_labels([DECOMPOSED, "tea"]) == [COMPOSED, "tea"]
    assert caplog.text == ""


@given(st.lists(st.text(max_size=4)))
def test_normalised_names_are_those_of_python(names):
    assert nfc_labels(names) == [nfc(name) for name in names]
