"""Files become parts in blocks, with the points that reading them whole gives."""

import json

import numpy as np
import pytest

import labeltrees as lt
from labeltrees.errors import FileFormatError, InputError
from tests.data.parts.test_parts_dataset import assert_same, random_dataset


@pytest.fixture
def xmc(tmp_path):
    lt.write_xmc(random_dataset(200), tmp_path / "train.txt")
    return tmp_path / "train.txt"


def test_xmc_files_become_parts(xmc, tmp_path):
    parts = lt.read_xmc(xmc, parts=tmp_path / "parts", points_per_part=64)
    assert_same(parts, lt.read_xmc(xmc))
    assert [part.n_points for part in parts.parts] == [64, 64, 64, 8]


def test_weights_beside_the_file_are_read_with_it(xmc, tmp_path):
    weights = np.random.default_rng(0).random(200)
    (tmp_path / "train.weights.txt").write_text("".join(f"{weight:.17g}\n" for weight in weights))
    assert_same(lt.read_xmc(xmc, parts=tmp_path / "parts", points_per_part=64), lt.read_xmc(xmc))


@pytest.mark.parametrize(
    ("lines", "message"), [("1\n" * 199, "fewer"), ("1\n" * 201, "more weights"), ("x\n" * 200, "not a number")]
)
def test_weights_that_do_not_fit_are_refused(xmc, tmp_path, lines, message):
    (tmp_path / "train.weights.txt").write_text(lines)
    with pytest.raises(FileFormatError, match=message):
        lt.read_xmc(xmc, parts=tmp_path / "parts")
    assert not (tmp_path / "parts").exists()


def test_texts_become_parts(tmp_path):
    rng = np.random.default_rng(0)
    words = [f"word{i}" for i in range(40)]
    with open(tmp_path / "texts.jsonl", "w") as file:
        for i in range(120):
            record = {"text": " ".join(rng.choice(words, 6)), "labels": [f"l{i % 7}", f"l{i % 5}"], "w": 1 + i % 3}
            file.write(json.dumps(record) + "\n")
    whole = lt.read_texts(tmp_path / "texts.jsonl", weight="w")
    parts = lt.read_texts(tmp_path / "texts.jsonl", weight="w", parts=tmp_path / "parts", points_per_part=50)
    assert_same(parts, whole)
    assert parts.encoder.n_features == whole.n_features


def test_texts_without_labels_are_refused(tmp_path):
    (tmp_path / "texts.jsonl").write_text('{"text": "red wine", "labels": []}\n' * 3)
    with pytest.raises(FileFormatError, match="none of the 3 texts has a label"):
        lt.read_texts(tmp_path / "texts.jsonl", parts=tmp_path / "parts")
    (tmp_path / "texts.jsonl").write_text('{"text": "", "labels": ["a"]}\n' * 3)
    with pytest.raises(InputError, match="no features can be made"):
        lt.read_texts(tmp_path / "texts.jsonl", parts=tmp_path / "parts")
