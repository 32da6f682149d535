"""Options for features of texts and for texts of labels."""

import json

import pytest

import labeltrees as lt
from labeltrees.data.tfidf import PRESETS
from tests.cli.conftest import sets

POINTS = [("brown rice", ["rice"]), ("white rice", ["rice"]), ("green tea", ["tea"]), ("black tea", ["tea"])] * 2


@pytest.fixture
def texts_file(tmp_path):
    path = tmp_path / "points.jsonl"
    path.write_text("".join(json.dumps({"text": text, "labels": labels}) + "\n" for text, labels in POINTS))
    return path


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_of_features(run, texts_file, tmp_path, preset):
    result = run("fit", texts_file, "-o", tmp_path / "model", "--features", preset)
    assert result.exit_code == 0, result.output
    model = lt.load(tmp_path / "model")
    assert model.predict_topk(["brown rice"], 1)[0].tolist() == [["rice"]]
    expected = lt.LabelTreeClassifier(vectorizer=lt.data.tfidf.preset_vectorizer(preset))
    texts, labels = zip(*POINTS, strict=True)
    assert model.n_features_in_ == expected.fit(list(texts), list(labels)).n_features_in_


def test_a_preset_goes_with_other_options(run, texts_file, tmp_path):
    result = run("fit", texts_file, "-o", tmp_path / "model", "--features", "words+chars", *sets(min_df=4))
    assert result.exit_code == 0, result.output
    names = lt.load(tmp_path / "model").vectorizer_.get_feature_names_out().tolist()
    assert "word__rice" in names
    assert "word__brown" not in names


def test_a_preset_says_which_terms_to_use(run, texts_file, tmp_path):
    result = run("fit", texts_file, "-o", tmp_path / "model", "--features", "chars", *sets(ngram_range="1,2"))
    assert result.exit_code == 2
    assert "--set ngram_range cannot be combined with --features" in result.stderr


def test_texts_of_labels(run, texts_file, tmp_path):
    (tmp_path / "labels.tsv").write_text("rice\tRice and grains\ncocoa\tblack cocoa\n")
    options = (
        "--label-texts",
        tmp_path / "labels.tsv",
        *sets(label_text_points="all", label_text_weight=0.5),
    )
    result = run("fit", texts_file, "-o", tmp_path / "model", *options)
    assert result.exit_code == 0, result.output
    model = lt.load(tmp_path / "model")
    assert model.classes_.tolist() == ["rice", "tea", "cocoa"]
    assert model.label_texts_.lists() == [["Rice and grains"], [], ["black cocoa"]]
    assert model.label_texts == {"points": "all", "weight": 0.5}


def test_texts_of_labels_need_names(run, tmp_path):
    (tmp_path / "labels.tsv").write_text("rice\tRice and grains\n")
    (tmp_path / "points.txt").write_text("2 2 2\n0 0:1\n1 1:1\n")
    result = run("fit", tmp_path / "points.txt", "-o", tmp_path / "model", "--label-texts", tmp_path / "labels.tsv")
    assert result.exit_code == 2
    assert "give --label-names" in result.stderr
