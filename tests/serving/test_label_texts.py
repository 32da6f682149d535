"""Files with texts for labels."""

import pytest

from labeltrees.errors import FileFormatError
from labeltrees.serving.label_texts import read_label_texts


def test_two_columns_in_the_usual_forms(tmp_path):
    expected = {"http://a.example/1": "Cats, big and small", "http://a.example/2": 'A "dog"'}
    tsv = tmp_path / "texts.tsv"
    tsv.write_text('<http://a.example/1>\tCats, big and small\n\nhttp://a.example/2\tA "dog"\tmore\n')
    csv = tmp_path / "texts.csv"
    csv.write_text('uri,label_en\nhttp://a.example/1,"Cats, big and small"\nhttp://a.example/2,"A ""dog"""\n')
    assert read_label_texts(tsv) == read_label_texts(str(csv)) == read_label_texts(expected) == expected
    assert read_label_texts(None) == {}


def test_a_mapping_to_lists_gives_their_first_texts():
    assert read_label_texts({"a": ["cats", "felines"], "b": [], "c": "dogs"}) == {"a": "cats", "c": "dogs"}


@pytest.mark.parametrize(("content", "fault"), [(b"one column\n", "two columns"), (b"a\t\xff\n", "not UTF-8")])
def test_other_files_are_refused(tmp_path, content, fault):
    file = tmp_path / "texts.tsv"
    file.write_bytes(content)
    with pytest.raises(FileFormatError, match=fault):
        read_label_texts(file)


def test_the_language_of_a_vocabulary_can_be_chosen(tmp_path):
    file = tmp_path / "texts.csv"
    file.write_text("uri,label_en,label_fi\nhttp://a.example/1,cats,kissat\n")
    assert read_label_texts(file, "fi") == {"http://a.example/1": "kissat"}
