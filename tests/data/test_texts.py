"""Texts with labels, in memory and from files of every format."""

import json
import logging

import numpy as np
import polars as pl
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import MultiLabelBinarizer

import labeltrees as lt
from labeltrees.data.text_formats import TextFields
from labeltrees.data.texts import no_features, read_blocks, read_table, read_text_pair, text_dataset
from tests.data.text_samples import LABELS, TEXTS, WEIGHTS, as_jsonl, as_table, write

ANIMALS = ["a red cat sat", "the red dog sat", "one dog", "čeština, one cat"]
OF_ANIMALS = [["cat", "red"], ["dog", "red", "dog"], ["dog"], []]


def test_features_are_scikit_learns_and_labels_sorted_names():
    dataset = text_dataset(ANIMALS, OF_ANIMALS)
    vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2, dtype=np.float32)
    np.testing.assert_array_equal(dataset.X.toarray(), vectorizer.fit_transform(ANIMALS).toarray())
    assert dataset.feature_names.tolist() == vectorizer.get_feature_names_out().tolist()
    binarizer = MultiLabelBinarizer()
    np.testing.assert_array_equal(dataset.Y.toarray(), binarizer.fit_transform(OF_ANIMALS))
    assert dataset.label_names.tolist() == binarizer.classes_.tolist()
    assert dataset.texts.tolist() == ANIMALS


def test_a_fitted_vectorizer_and_given_names_are_kept():
    vectorizer = TfidfVectorizer(dtype=np.float32).fit(["cat dog", "red"])
    dataset = text_dataset(ANIMALS, OF_ANIMALS, vectorizer, ["red", "dog", "unused", "cat"])
    assert dataset.feature_names.tolist() == ["cat", "dog", "red"]
    np.testing.assert_array_equal(dataset.Y.toarray(), [[1, 0, 0, 1], [1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]])


@pytest.mark.parametrize(
    ("texts", "labels", "names", "message"),
    [
        (ANIMALS, OF_ANIMALS[:2], None, "labels must be 4 sequences of names, one per text, got '2 of them'"),
        (ANIMALS, OF_ANIMALS, ["red", "dog"], "label 'cat' is not in label_names"),
        (["a", "b"], [["x"], ["y"]], None, "no features can be made from the 2 texts"),
    ],
)
def test_mismatched_inputs_are_refused(texts, labels, names, message):
    with pytest.raises(lt.errors.InputError, match=message):
        text_dataset(texts, labels, label_names=names)


def test_features_that_exist_already_are_kept_and_weights_too():
    dataset = text_dataset(ANIMALS, OF_ANIMALS, X=no_features(ANIMALS), sample_weight=[1, 2, 3, 4])
    assert (dataset.n_points, dataset.n_features, dataset.vectorizer) == (4, 0, None)
    assert dataset.sample_weight.tolist() == [1, 2, 3, 4]


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
@pytest.mark.parametrize("format", ["jsonl", "csv", "tsv"])
@pytest.mark.parametrize("weight", [None, "weight"])
def test_formats_of_lines_plain_and_compressed(tmp_path, format, suffix, weight):
    content = {"jsonl": as_jsonl(), "csv": as_table(","), "tsv": as_table("\t")}[format]
    path = write(tmp_path / f"data.{format}{suffix}", content)
    check(lt.read_texts(path, weight=weight), weights=weight is not None)
    other = write(tmp_path / f"other{suffix}", content)
    check(lt.read_texts(other, format=format))


def test_other_fields_and_several_of_them(tmp_path):
    path = write(tmp_path / "data.csv", "title;body,tags,body\nno,x|y z,red cat\nred,x,\n,y,red\n")
    dataset = lt.read_texts(path, text=["title;body", "body"], labels="tags", label_separator="|")
    assert dataset.texts.tolist() == ["no red cat", "red", "red"]
    assert dataset.label_names.tolist() == ["x", "y", "y z"]
    records = [{"a": "red", "b": "cat", "tags": ["x"]}, {"a": "red", "b": "", "tags": ["y"]}]
    path = write(tmp_path / "data.jsonl", "\n".join(map(json.dumps, records)))
    assert lt.read_texts(path, text=("a", "b"), labels="tags").texts.tolist() == ["red cat", "red"]


def test_blank_labels_are_left_out_and_counted(tmp_path, caplog):
    path = write(tmp_path / "data.csv", 'text,labels\nred cat,"a,, b ,"\nred,b\n')
    with caplog.at_level(logging.WARNING, "labeltrees"):
        assert lt.read_texts(path).label_names.tolist() == ["a", "b"]
    assert "2 labels with an empty name are left out" in caplog.text


def test_empty_texts_and_texts_without_labels_are_kept_and_counted(tmp_path, caplog):
    path = write(tmp_path / "data.jsonl", as_jsonl())
    with caplog.at_level(logging.WARNING, "labeltrees"):
        assert lt.read_texts(path).n_points == 5
    assert "1 of 5 texts is empty; it is kept" in caplog.text
    assert "1 of 5 texts has no label; it is kept" in caplog.text


@pytest.mark.parametrize("value", ["-1", "nan", "many", "inf"])
def test_bad_weights_are_refused(tmp_path, value):
    path = write(tmp_path / "a.csv", f"text,labels,n\nred,x,1\nred,y,{value}\n")
    with pytest.raises(lt.errors.FileFormatError, match=r"line 3: 'n' is not a number >= 0"):
        lt.read_texts(path, weight="n")
    if value != "many":
        frame = pl.DataFrame({"text": ["red", "red"], "labels": ["x", "y"], "n": [1.0, float(value)]})
        frame.write_parquet(tmp_path / "a.parquet")
        with pytest.raises(lt.errors.FileFormatError, match=r"row 2: 'n' is not a number >= 0"):
            lt.read_texts(tmp_path / "a.parquet", weight="n")


@pytest.mark.parametrize("changes", [{"format": "xml"}, {"labels": None}, {"text": ()}, {"label_separator": '"'}])
def test_bad_arguments_are_refused(tmp_path, changes):
    path = write(tmp_path / "a.jsonl", as_jsonl())
    with pytest.raises(lt.errors.InputError, match=next(iter(changes))):
        lt.read_texts(path, **changes)


def test_a_file_that_does_not_exist(tmp_path):
    for name in ("a.jsonl", "a.parquet"):
        with pytest.raises(FileNotFoundError, match="no such file"):
            lt.read_texts(tmp_path / name)


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet"])
def test_blocks_are_the_whole_file(tmp_path, format):
    path = tmp_path / f"data.{format}"
    if format == "parquet":
        pl.DataFrame({"text": TEXTS, "labels": LABELS}).write_parquet(path)
    else:
        write(path, as_jsonl() if format == "jsonl" else as_table(","))
    blocks = list(read_blocks(path, TextFields(), format, block_size=2))
    assert [len(block.texts) for block in blocks] == [2, 2, 1]
    assert [text for block in blocks for text in block.texts] == TEXTS
    assert [labels for block in blocks for labels in block.labels] == LABELS


def test_a_split_is_seeded_and_keeps_the_order(tmp_path):
    records = [{"text": str(i), "labels": ["x"]} for i in range(40)]
    path = write(tmp_path / "data.jsonl", "\n".join(map(json.dumps, records)))
    table = read_table(path)
    train, test = table.split(0.25, seed=3)
    again = table.split(0.25, seed=3)
    assert (train, test) == again
    assert len(test.texts) == 10
    for part in (train, test):
        assert part.texts == sorted(part.texts, key=int)
    assert sorted([*train.texts, *test.texts], key=int) == table.texts
    assert table.split(0.25, seed=4)[1].texts != test.texts


def test_a_pair_shares_features_fitted_on_train_and_all_labels(tmp_path):
    train_path = write(
        tmp_path / "train.jsonl", '{"text": "red cat", "labels": ["b"]}\n{"text": "red cat new", "labels": ["a"]}\n'
    )
    test_path = write(tmp_path / "test.jsonl.xz", '{"text": "red new new dog", "labels": ["c", "a"]}\n')
    train, test = read_text_pair(train_path, test_path)
    for dataset in (train, test):
        assert dataset.label_names.tolist() == ["a", "b", "c"]
        assert dataset.feature_names.tolist() == ["cat", "red"]
    np.testing.assert_array_equal(train.Y.toarray(), [[0, 1, 0], [1, 0, 0]])
    np.testing.assert_array_equal(test.Y.toarray(), [[1, 0, 1]])
    np.testing.assert_array_equal(test.X.toarray(), [[0, 1]])
