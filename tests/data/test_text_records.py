"""Texts with named labels become Datasets."""

import json
import re

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import MultiLabelBinarizer

import labeltrees as lt
from labeltrees.data.files import write_any
from labeltrees.data.text_records import read_jsonl, read_jsonl_pair, text_dataset

TEXTS = ["a red cat sat", "the red dog sat", "one dog", "čeština, one cat"]
LABELS = [["cat", "red"], ["dog", "red", "dog"], ["dog"], []]


def write(path, records):
    with write_any(path) as stream:
        for record in records:
            stream.write(json.dumps(record).encode() + b"\n")
    return path


def test_features_are_scikit_learns_and_labels_sorted_names():
    dataset = text_dataset(TEXTS, LABELS)
    vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2, dtype=np.float32)
    np.testing.assert_array_equal(dataset.X.toarray(), vectorizer.fit_transform(TEXTS).toarray())
    assert dataset.feature_names.tolist() == vectorizer.get_feature_names_out().tolist()
    binarizer = MultiLabelBinarizer()
    np.testing.assert_array_equal(dataset.Y.toarray(), binarizer.fit_transform(LABELS))
    assert dataset.label_names.tolist() == binarizer.classes_.tolist()
    assert dataset.texts.tolist() == TEXTS


def test_a_fitted_vectorizer_and_given_names_are_kept():
    vectorizer = TfidfVectorizer(dtype=np.float32).fit(["cat dog", "red"])
    dataset = text_dataset(TEXTS, LABELS, vectorizer, ["red", "dog", "unused", "cat"])
    assert dataset.feature_names.tolist() == ["cat", "dog", "red"]
    np.testing.assert_array_equal(dataset.Y.toarray(), [[1, 0, 0, 1], [1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]])


@pytest.mark.parametrize(
    ("texts", "labels", "names", "message"),
    [
        (TEXTS, LABELS[:2], None, "labels must be 4 sequences of names, one a text, got '2 of them'"),
        (TEXTS, LABELS, ["red", "dog"], "label 'cat' is not in label_names"),
        (["a", "b"], [["x"], ["y"]], None, "no features can be made from the 2 texts"),
    ],
)
def test_what_does_not_fit_is_refused(texts, labels, names, message):
    with pytest.raises(lt.InputError, match=message):
        text_dataset(texts, labels, label_names=names)


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".zst"])
def test_lines_of_json_are_read_from_any_file(tmp_path, suffix):
    records = [{"text": text, "labels": labels, "id": 7} for text, labels in zip(TEXTS, LABELS, strict=True)]
    path = write(tmp_path / f"data.jsonl{suffix}", records)
    assert read_jsonl(path) == (TEXTS, LABELS)


def test_empty_lines_are_skipped_and_the_last_needs_no_end(tmp_path):
    path = tmp_path / "data.jsonl"
    path.write_text('\n{"text": "a", "labels": []}\n  \r\n{"text": "b", "labels": ["c"]}')
    assert read_jsonl(path) == (["a", "b"], [[], ["c"]])


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
        (b'{"text": "a", "labels": "b"}', "'labels' is not a list of strings"),
        (b'{"text": "a", "labels": ["b", 3]}', "'labels' is not a list of strings"),
    ],
)
def test_a_bad_line_is_named(tmp_path, line, fault):
    path = tmp_path / "data.jsonl"
    path.write_bytes(b'{"text": "a", "labels": []}\n\n' + line + b"\n")
    with pytest.raises(lt.FileFormatError, match=re.escape(f"{path}, line 3: {fault}")):
        read_jsonl(path)


def test_a_pair_shares_features_fitted_on_train_and_all_labels(tmp_path):
    train_path = write(
        tmp_path / "train.jsonl", [{"text": "red cat", "labels": ["b"]}, {"text": "red cat new", "labels": ["a"]}]
    )
    test_path = write(tmp_path / "test.jsonl.xz", [{"text": "red new new dog", "labels": ["c", "a"]}])
    train, test = read_jsonl_pair(train_path, test_path)
    for dataset in (train, test):
        assert dataset.label_names.tolist() == ["a", "b", "c"]
        assert dataset.feature_names.tolist() == ["cat", "red"]
    np.testing.assert_array_equal(train.Y.toarray(), [[0, 1, 0], [1, 0, 0]])
    np.testing.assert_array_equal(test.Y.toarray(), [[1, 0, 1]])
    np.testing.assert_array_equal(test.X.toarray(), [[0, 1]])
