"""Formats of texts with labels; errors name the file and the line."""

import gzip
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import labeltrees as lt
from labeltrees.data.text_formats import TextFields, format_of, split_labels
from labeltrees.data.texts import TextTable, read_table
from tests.data.text_samples import as_jsonl, label_field, write

BAD = [
    ("a.csv", b"", "a.csv: the file is empty; it must have a header"),
    ("a.csv", b"text,labels\n", "a.csv: the file has no texts"),
    ("a.csv", b"text,tags\nred,x\n", "a.csv, line 1: no column 'labels'; the columns are 'text', 'tags'"),
    ("a.csv", b"text,text,labels\nred,x,y\n", "a.csv, line 1: the column 'text' occurs twice"),
    ("a.csv", b'text,labels\n"two\nlines",x\nred\n', "a.csv, line 4: 1 fields, but the header has 2"),
    ("a.csv", b"text,labels\nred,x,y\n", "a.csv, line 2: 3 fields, but the header has 2"),
    ("a.csv", b'text,labels\nred,x\n"open,y\nmore,z\n', "a.csv, line 3: unexpected end of data"),
    ("a.csv", b'text,labels\n"red" cat,x\n', "a.csv, line 2: ',' expected after '\"'"),
    ("a.csv", "text,labels\nred,x\nkeitän,y\n".encode("latin-1"), "a.csv, line 3: not UTF-8 text (byte 5 of the line)"),
    ("a.csv", "text,labels\nred,x\n".encode("utf-16"), "a.csv, line 1: the file is in UTF-16"),
    ("a.csv", b"text,labels\nred,\ncat,\n", "a.csv: none of the 2 texts has a label"),
    ("a.csv.gz", b"text,labels\n", "a.csv.gz: the compressed file is damaged"),
    ("a.tsv", b"text,labels\nred,x\n", "a.tsv, line 1: no column 'text'; the columns are 'text,labels'"),
    ("a.jsonl", b"", "a.jsonl: the file has no texts"),
    ("a.jsonl", b'{"text": "a", "labels": ["x"]}\n{"text": "a"\n', "a.jsonl, line 2: not a line of JSON"),
    ("a.jsonl", b'{"text": "a", "labels": null}\n', "a.jsonl, line 1: 'labels' is not a list of strings"),
    ("a.jsonl", b'{"text": null, "labels": []}\n', "a.jsonl, line 1: 'text' is not a string"),
    ("a.ft", b"__label__x a\n__label__ b\n", "a.ft, line 2: __label__ without a name"),
    ("a.ft", b"__label__x a\n\xff\n", "a.ft, line 2: not UTF-8 text"),
    ("a.parquet", b"PAR1 nonsense", "a.parquet: cannot be read as Parquet"),
    ("a.dat", b"text", "a.dat: the format is not clear from the name"),
]
LINES = "Tea\t<http://x/tea> <http://x/drinks>\n\nNothing\t\nMilk and tea\t http://x/milk\t<http://x/tea>\r\n"
TEXTS = ["Tea", "Nothing", "Milk and tea"]
LABELS = [["http://x/drinks", "http://x/tea"], [], ["http://x/milk", "http://x/tea"]]


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


def test_fasttext_lines(tmp_path):
    content = "__label__cat __label__big red  cat\n\nred __label__dog dog\nno label\n"
    path = write(tmp_path / "data.txt", content)
    dataset = lt.read_texts(path)
    assert dataset.texts.tolist() == ["red cat", "", "red dog", "no label"]
    assert dataset.label_names.tolist() == ["big", "cat", "dog"]
    assert dataset.Y.toarray().tolist() == [[1, 1, 0], [0, 0, 0], [0, 0, 1], [0, 0, 0]]


def test_a_byte_order_mark_is_not_part_of_the_header(tmp_path):
    for name, content in (("a.csv", "text,labels\nred,x\nred,y\n"), ("a.jsonl", as_jsonl())):
        assert lt.read_texts(write(tmp_path / name, b"\xef\xbb\xbf" + content.encode())).n_points >= 2
    # Alone on a line, it leaves a blank line.
    assert lt.read_texts(write(tmp_path / "b.jsonl", b"\xef\xbb\xbf\n" + as_jsonl().encode())).n_points >= 2


def test_long_fields_and_line_ends_of_windows(tmp_path):
    long = "red " * 100_000
    path = write(tmp_path / "data.csv", f"text,labels\r\n{long},x\r\nred,y\r\n")
    assert lt.read_texts(path).texts.tolist() == [long, "red"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", '{"text": "a"}\n{"text": "b", "labels": null}\n{"text": "c", "labels": ["d"]}\n'),
        ("a.csv", "text\na\nb\nc\n"),
    ],
)
def test_labels_may_be_missing_if_they_are_not_required(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    found = read_table(tmp_path / name, TextFields(labels_required=False))
    assert found.texts == ["a", "b", "c"]
    assert found.labels == [[], [], ["d"] if name == "a.jsonl" else []]
    with pytest.raises(lt.errors.FileFormatError, match="labels"):
        read_table(tmp_path / name)


def test_empty_lines_are_skipped_and_the_last_needs_no_end(tmp_path):
    path = tmp_path / "data.jsonl"
    path.write_text('\n{"text": "a", "labels": []}\n  \r\n{"text": "b", "labels": ["c"]}')
    assert read_table(path) == TextTable(["a", "b"], [[], ["c"]])


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (b"{", "not a line of JSON"),
        (b"\xff\xfe\xff", "not a line of JSON"),
        (b"[" * 100_000, "not a line of JSON"),
        (b"[1]", "not an object with 'text' and 'labels'"),
        (b'{"labels": []}', "'text' is missing"),
        (b'{"text": "a"}', "'labels' is missing"),
        (b'{"text": 3, "labels": []}', "'text' is not a string"),
        (b'{"text": "a", "labels": 5}', "'labels' is not a list of strings"),
        (b'{"text": "a", "labels": ["b", 3]}', "'labels' is not a list of strings"),
    ],
)
def test_a_bad_line_is_named(tmp_path, line, fault):
    path = tmp_path / "data.jsonl"
    path.write_bytes(b'{"text": "a", "labels": []}\n\n' + line + b"\n")
    with pytest.raises(lt.errors.FileFormatError, match=re.escape(f"{path}, line 3: {fault}")):
        read_table(path)


@pytest.mark.parametrize(("name", "content", "fault"), BAD, ids=[f"{name} {fault[-25:]}" for name, _, fault in BAD])
def test_bad_files_are_refused_with_file_and_line(tmp_path, name, content, fault):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(lt.errors.FileFormatError, match=re.escape(f"{tmp_path}/{fault}")):
        lt.read_texts(path)


def read(path, **how):
    return lt.read_texts(path, vectorizer=lt.TfidfVectorizer(), **how)


@pytest.mark.parametrize(("name", "format"), [("a.tsv", "auto"), ("a.txt", "annif"), ("a.tsv.gz", "annif")])
def test_lines(tmp_path, name, format):
    content = LINES.encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    data = read(tmp_path / name, format=format)
    assert list(data.texts) == TEXTS
    assert [data.labels_of(i) for i in range(3)] == LABELS


def test_a_tsv_with_a_header_is_not_taken_for_annifs(tmp_path):
    (tmp_path / "a.tsv").write_text("text\tlabels\nTea\t<http://x/tea>\n")
    assert read(tmp_path / "a.tsv").label_names.tolist() == ["<http://x/tea>"]


def test_a_line_without_a_tab_is_refused_with_its_number(tmp_path):
    (tmp_path / "a.tsv").write_text("Tea\t<http://x/tea>\nMilk\n")
    with pytest.raises(lt.errors.FileFormatError, match=r"a.tsv, line 2: no tab between the text and its URIs"):
        read(tmp_path / "a.tsv")


def test_a_folder_of_documents(tmp_path):
    (tmp_path / "b.txt").write_text("Milk\nand tea\n", encoding="utf-8-sig")
    (tmp_path / "b.tsv").write_text("<http://x/milk>\tmilk\t1\n<http://x/tea>\ttea\n")
    (tmp_path / "a.txt").write_text("Tea")
    (tmp_path / "a.key").write_text("teas\n\nhot drinks\n")
    (tmp_path / "c.txt").write_text("No labels")
    data = read(tmp_path)
    assert list(data.texts) == ["Tea", "Milk\nand tea", "No labels"]
    assert [data.labels_of(i) for i in range(3)] == [["hot drinks", "teas"], ["http://x/milk", "http://x/tea"], []]


def test_weights_and_empty_folders_are_refused(tmp_path):
    with pytest.raises(lt.errors.FileFormatError, match="a folder without documents"):
        read(tmp_path)
    (tmp_path / "a.txt").write_text("Tea")
    with pytest.raises(lt.errors.FileFormatError, match="has no field for weights"):
        read(tmp_path, weight="n")
    (tmp_path / "a.tsv").write_text("Tea\t<http://x/tea>\n")
    with pytest.raises(lt.errors.FileFormatError, match="has no field for weights"):
        read(tmp_path / "a.tsv", weight="n")
