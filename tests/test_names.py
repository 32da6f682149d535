"""Names as two arrays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labeltrees._names import decode_names, encode_names
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
