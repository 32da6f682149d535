"""The short-texts example, on a small file."""

import json
import sys

import pytest

from examples import short_texts

TEXTS = {"apple": "a red apple pie", "pear": "ripe pear juice", "plum": "sour plum jam"}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "train.jsonl"
    records = [{"text": f"{TEXTS[name]} number {n % 5}", "labels": [name]} for n in range(20) for name in TEXTS]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.mark.parametrize("with_test_file", [False, True])
def test_the_example_runs_and_finds_easy_labels(file, with_test_file, monkeypatch, capsys):
    files = [str(file)] * (2 if with_test_file else 1)
    monkeypatch.setattr(sys, "argv", ["short_texts.py", *files, "--jobs", "1"])
    short_texts.main()
    printed = capsys.readouterr().out
    sizes = "60 texts to train on, 60 to test" if with_test_file else "54 texts to train on, 6 to test"
    assert f"{sizes}, 3 labels" in printed
    assert printed.count("| 100.0 / 33.3 / 20.0 |") == 9
    assert printed.count("; true: ") == 4
