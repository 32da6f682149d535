"""Texts in Parquet files."""

import re

import polars as pl
import pytest

import labeltrees as lt
from tests.data.text_samples import LABELS, TEXTS, WEIGHTS, label_field


def test_labels_may_be_lists_or_strings(tmp_path):
    for labels in (LABELS, [label_field(names, ";") for names in LABELS]):
        pl.DataFrame({"text": TEXTS, "labels": labels, "weight": WEIGHTS}).write_parquet(tmp_path / "data.parquet")
        dataset = lt.read_texts(tmp_path / "data.parquet", weight="weight", label_separator=";")
        assert dataset.texts.tolist() == TEXTS
        assert [sorted(dataset.label_names[row.indices].tolist()) for row in dataset.Y] == [
            sorted(row) for row in LABELS
        ]
        assert dataset.sample_weight.tolist() == WEIGHTS


@pytest.mark.parametrize(
    ("columns", "fault"),
    [
        ({"text": ["a", None], "labels": [["x"], ["y"]]}, "row 2: 'text' is null (1 of 2 rows here)"),
        ({"text": [None, None], "labels": [["x"], ["y"]]}, "row 1: 'text' is null (2 of 2 rows here)"),
        ({"text": ["a", "b"], "labels": [None, None]}, "none of the 2 texts has a label"),
        ({"text": ["a"], "labels": [[1]]}, "column 'labels' is of type List(Int64), not lists of strings or strings"),
        ({"text": [1], "labels": [["x"]]}, "column 'text' is of type Int64, not strings"),
        ({"text": ["a"]}, "no column 'labels'; the columns are 'text'"),
        ({"text": [], "labels": []}, "the file has no texts"),
    ],
)
def test_bad_columns_of_parquet_are_refused(tmp_path, columns, fault):
    path = tmp_path / "a.parquet"
    pl.DataFrame(columns).write_parquet(path)
    with pytest.raises(lt.FileFormatError, match=re.escape(f"{path}: {fault}")):
        lt.read_texts(path)
