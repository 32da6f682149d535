"""Files of texts and labels in every form, and what is wrong with bad ones."""

import csv
import io
import json
import logging
import re

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import labeltrees as lt
from labeltrees.data.files import write_any
from labeltrees.data.text_fields import TextFields, form_of, split_labels
from labeltrees.data.text_files import open_texts, read_table

TEXTS = ["red cat", "red dog, one\nline more", 'a "red" čat', "", "red dog"]
LABELS = [["cat", "with, comma"], ['6" dog', "dog"], ["cat"], ["dog"], []]
WEIGHTS = [1.0, 2.5, 0.0, 4.0, 1.0]


def write(path, content):
    with write_any(path) as stream:
        stream.write(content if isinstance(content, bytes) else content.encode())
    return path


def as_jsonl(**changes):
    names = {"text": "text", "labels": "labels"} | changes
    rows = zip(TEXTS, LABELS, WEIGHTS, strict=True)
    return "".join(json.dumps({names["text"]: t, names["labels"]: ls, "weight": w}) + "\n" for t, ls, w in rows)


def label_field(labels, separator=","):
    text = io.StringIO()
    csv.writer(text, delimiter=separator, lineterminator="").writerow(labels)
    return text.getvalue() if labels else ""


def as_table(delimiter, separator=","):
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter)
    writer.writerow(["id", "labels", "text", "weight"])
    for i, (t, ls, w) in enumerate(zip(TEXTS, LABELS, WEIGHTS, strict=True)):
        writer.writerow([i, label_field(ls, separator), t, w])
    return text.getvalue()


def check(dataset, weights=False):
    assert dataset.texts.tolist() == TEXTS
    names = sorted({name for names in LABELS for name in names})
    assert dataset.label_names.tolist() == names
    assert [[names[i] for i in row.indices] for row in dataset.Y] == [sorted(row) for row in LABELS]
    expected = lt.TfidfVectorizer(sublinear_tf=True, min_df=2, dtype=np.float32)
    np.testing.assert_array_equal(dataset.X.toarray(), expected.fit_transform(TEXTS).toarray())
    assert dataset.feature_names.tolist() == ["dog", "red"]
    assert (dataset.sample_weight is None) == (not weights)
    if weights:
        assert dataset.sample_weight.tolist() == WEIGHTS


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".zst"])
@pytest.mark.parametrize("form", ["jsonl", "csv", "tsv"])
@pytest.mark.parametrize("weight", [None, "weight"])
def test_forms_of_lines_plain_and_compressed(tmp_path, form, suffix, weight):
    content = {"jsonl": as_jsonl(), "csv": as_table(","), "tsv": as_table("\t")}[form]
    path = write(tmp_path / f"data.{form}{suffix}", content)
    check(lt.read_texts(path, weight=weight), weights=weight is not None)
    other = write(tmp_path / f"other{suffix}", content)
    check(lt.read_texts(other, format=form))


@pytest.mark.parametrize("lists", [True, False])
def test_parquet_with_lists_and_with_strings(tmp_path, lists):
    labels = LABELS if lists else [label_field(names, ";") for names in LABELS]
    frame = pl.DataFrame({"text": TEXTS, "labels": labels, "weight": WEIGHTS})
    frame.write_parquet(tmp_path / "data.parquet")
    check(lt.read_texts(tmp_path / "data.parquet", weight="weight", label_separator=";"), weights=True)


def test_fasttext_lines(tmp_path):
    content = "__label__cat __label__big red  cat\n\nred __label__dog dog\nno label\n"
    path = write(tmp_path / "data.txt", content)
    dataset = lt.read_texts(path)
    assert dataset.texts.tolist() == ["red cat", "", "red dog", "no label"]
    assert dataset.label_names.tolist() == ["big", "cat", "dog"]
    assert dataset.Y.toarray().tolist() == [[1, 1, 0], [0, 0, 0], [0, 0, 1], [0, 0, 0]]
    assert form_of(write(tmp_path / "matrix.txt", "1 2 3\n0 0:1\n")) is None
    assert form_of(write(tmp_path / "data.ft", "no label first\n")) == "fasttext"


def test_other_fields_and_several_of_them(tmp_path):
    path = write(tmp_path / "data.csv", "title;body,tags,body\nno,x|y z,red cat\nred,x,\n,y,red\n")
    dataset = lt.read_texts(path, text=["title;body", "body"], labels="tags", label_separator="|")
    assert dataset.texts.tolist() == ["no red cat", "red", "red"]
    assert dataset.label_names.tolist() == ["x", "y", "y z"]
    records = [{"a": "red", "b": "cat", "tags": ["x"]}, {"a": "red", "b": "", "tags": ["y"]}]
    path = write(tmp_path / "data.jsonl", "\n".join(map(json.dumps, records)))
    assert lt.read_texts(path, text=("a", "b"), labels="tags").texts.tolist() == ["red cat", "red"]


@given(
    st.lists(st.text(min_size=1).filter(lambda name: name == name.strip() and "\r" not in name and "\n" not in name))
)
def test_any_labels_survive_being_a_string(names):
    for separator in (",", ";", "|"):
        assert split_labels(json.dumps(names), separator)[0] == names
        field = label_field(names, separator)
        if not field.startswith("["):
            assert split_labels(field, separator)[0] == names


def test_blank_labels_are_left_out_and_counted(tmp_path, caplog):
    path = write(tmp_path / "data.csv", 'text,labels\nred cat,"a,, b ,"\nred,b\n')
    with caplog.at_level(logging.WARNING, "labeltrees"):
        assert lt.read_texts(path).label_names.tolist() == ["a", "b"]
    assert "2 labels with an empty name left out" in caplog.text


def test_empty_texts_and_texts_without_labels_are_kept_and_counted(tmp_path, caplog):
    path = write(tmp_path / "data.jsonl", as_jsonl())
    with caplog.at_level(logging.WARNING, "labeltrees"):
        assert lt.read_texts(path).n_points == 5
    assert "1 of 5 texts are empty; they are kept" in caplog.text
    assert "1 of 5 texts have no label; they are kept" in caplog.text


def test_a_byte_order_mark_is_no_part_of_the_header(tmp_path):
    for name, content in (("a.csv", "text,labels\nred,x\nred,y\n"), ("a.jsonl", as_jsonl())):
        assert lt.read_texts(write(tmp_path / name, b"\xef\xbb\xbf" + content.encode())).n_points >= 2


def test_long_fields_and_line_ends_of_windows(tmp_path):
    long = "red " * 100_000
    path = write(tmp_path / "data.csv", f"text,labels\r\n{long},x\r\nred,y\r\n")
    assert lt.read_texts(path).texts.tolist() == [long, "red"]


BAD = [
    ("a.csv", b"", "a.csv: empty, without even a header"),
    ("a.csv", b"text,labels\n", "a.csv: no texts in it"),
    ("a.csv", b"text,tags\nred,x\n", "a.csv, line 1: no column 'labels'; the columns are 'text', 'tags'"),
    ("a.csv", b"text,text,labels\nred,x,y\n", "a.csv, line 1: the column 'text' stands twice"),
    ("a.csv", b'text,labels\n"two\nlines",x\nred\n', "a.csv, line 4: 1 fields, but the header has 2"),
    ("a.csv", b"text,labels\nred,x,y\n", "a.csv, line 2: 3 fields, but the header has 2"),
    ("a.csv", b'text,labels\nred,x\n"open,y\nmore,z\n', "a.csv, line 3: unexpected end of data"),
    ("a.csv", b'text,labels\n"red" cat,x\n', "a.csv, line 2: ',' expected after '\"'"),
    ("a.csv", "text,labels\nred,x\nkeitän,y\n".encode("latin-1"), "a.csv, line 3: not UTF-8 text (byte 5 of the line)"),
    ("a.csv", "text,labels\nred,x\n".encode("utf-16"), "a.csv, line 1: the file is in UTF-16"),
    ("a.csv", b"text,labels\nred,\ncat,\n", "a.csv: none of the 2 texts has a label"),
    ("a.csv.gz", b"text,labels\n", "a.csv.gz: the compressed file is damaged"),
    ("a.tsv", b"text,labels\nred,x\n", "a.tsv, line 1: no column 'text'; the columns are 'text,labels'"),
    ("a.jsonl", b"", "a.jsonl: no texts in it"),
    ("a.jsonl", b'{"text": "a", "labels": ["x"]}\n{"text": "a"\n', "a.jsonl, line 2: not a line of JSON"),
    ("a.jsonl", b'{"text": "a", "labels": null}\n', "a.jsonl, line 1: 'labels' is not a list of strings"),
    ("a.jsonl", b'{"text": null, "labels": []}\n', "a.jsonl, line 1: 'text' is not a string"),
    ("a.ft", b"__label__x a\n__label__ b\n", "a.ft, line 2: __label__ without a name"),
    ("a.ft", b"__label__x a\n\xff\n", "a.ft, line 2: not UTF-8 text"),
    ("a.parquet", b"PAR1 nonsense", "a.parquet: cannot be read as Parquet"),
    ("a.dat", b"text", "a.dat: no file of texts by its name; say its format"),
]


@pytest.mark.parametrize(("name", "content", "fault"), BAD, ids=[f"{name} {fault[-25:]}" for name, _, fault in BAD])
def test_bad_files_are_refused_with_file_and_line(tmp_path, name, content, fault):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(lt.FileFormatError, match=re.escape(f"{tmp_path}/{fault}")):
        lt.read_texts(path)


@pytest.mark.parametrize(
    ("columns", "fault"),
    [
        ({"text": ["a", None], "labels": [["x"], ["y"]]}, "row 2: 'text' is null (1 of 2 rows here)"),
        ({"text": [None, None], "labels": [["x"], ["y"]]}, "row 1: 'text' is null (2 of 2 rows here)"),
        ({"text": ["a", "b"], "labels": [None, None]}, "none of the 2 texts has a label"),
        ({"text": ["a"], "labels": [[1]]}, "column 'labels' is of type List(Int64), not lists of strings or strings"),
        ({"text": [1], "labels": [["x"]]}, "column 'text' is of type Int64, not strings"),
        ({"text": ["a"]}, "no column 'labels'; the columns are 'text'"),
        ({"text": [], "labels": []}, "no texts in it"),
    ],
)
def test_bad_columns_of_parquet_are_refused(tmp_path, columns, fault):
    path = tmp_path / "a.parquet"
    pl.DataFrame(columns).write_parquet(path)
    with pytest.raises(lt.FileFormatError, match=re.escape(f"{path}: {fault}")):
        lt.read_texts(path)


@pytest.mark.parametrize("value", ["-1", "nan", "many", "inf"])
def test_bad_weights_are_refused(tmp_path, value):
    path = write(tmp_path / "a.csv", f"text,labels,n\nred,x,1\nred,y,{value}\n")
    with pytest.raises(lt.FileFormatError, match=r"line 3: 'n' is not a number of at least 0"):
        lt.read_texts(path, weight="n")
    if value != "many":
        frame = pl.DataFrame({"text": ["red", "red"], "labels": ["x", "y"], "n": [1.0, float(value)]})
        frame.write_parquet(tmp_path / "a.parquet")
        with pytest.raises(lt.FileFormatError, match=r"row 2: 'n' is not a number of at least 0"):
            lt.read_texts(tmp_path / "a.parquet", weight="n")


@pytest.mark.parametrize("changes", [{"format": "xml"}, {"labels": None}, {"text": ()}, {"label_separator": '"'}])
def test_bad_arguments_are_refused(tmp_path, changes):
    path = write(tmp_path / "a.jsonl", as_jsonl())
    with pytest.raises(lt.InputError, match=next(iter(changes))):
        lt.read_texts(path, **changes)


def test_a_file_that_is_not_there(tmp_path):
    for name in ("a.jsonl", "a.parquet"):
        with pytest.raises(FileNotFoundError, match="no such file"):
            lt.read_texts(tmp_path / name)


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_blocks_are_the_whole_file(tmp_path, form):
    path = tmp_path / f"data.{form}"
    if form == "parquet":
        pl.DataFrame({"text": TEXTS, "labels": LABELS}).write_parquet(path)
    else:
        write(path, as_jsonl() if form == "jsonl" else as_table(","))
    blocks = list(open_texts(path, TextFields(), form, block_size=2))
    assert [len(block.texts) for block in blocks] == [2, 2, 1]
    assert [text for block in blocks for text in block.texts] == TEXTS
    assert [labels for block in blocks for labels in block.labels] == LABELS


def test_a_split_is_seeded_and_keeps_the_order(tmp_path):
    records = [{"text": str(i), "labels": ["x"]} for i in range(40)]
    path = write(tmp_path / "data.jsonl", "\n".join(map(json.dumps, records)))
    table = read_table(path, TextFields())
    train, test = table.split(0.25, seed=3)
    again = table.split(0.25, seed=3)
    assert (train, test) == again
    assert len(test.texts) == 10
    for part in (train, test):
        assert part.texts == sorted(part.texts, key=int)
    assert sorted([*train.texts, *test.texts], key=int) == table.texts
    assert table.split(0.25, seed=4)[1].texts != test.texts
