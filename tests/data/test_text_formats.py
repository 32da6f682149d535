"""Which format a file has, and labels in one string."""

import json

from hypothesis import given
from hypothesis import strategies as st

from labeltrees.data.text_formats import format_of, split_labels
from tests.data.text_samples import label_field, write


def test_the_name_or_the_first_words_show_the_format(tmp_path):
    assert format_of("data.ndjson.xz") == "jsonl"
    assert format_of("data.dat") is None
    assert format_of("data.dat", "csv") == "csv"
    assert format_of(write(tmp_path / "data.txt", "__label__cat red cat\n")) == "fasttext"
    assert format_of(write(tmp_path / "matrix.txt", "1 2 3\n0 0:1\n")) is None
    assert format_of(write(tmp_path / "data.ft", "no label first\n")) == "fasttext"


@given(
    st.lists(st.text(min_size=1).filter(lambda name: name == name.strip() and "\r" not in name and "\n" not in name))
)
def test_any_labels_survive_being_a_string(names):
    for separator in (",", ";", "|"):
        assert split_labels(json.dumps(names), separator)[0] == names
        field = label_field(names, separator)
        if not field.startswith("["):
            assert split_labels(field, separator)[0] == names
