"""labeltrees predict --explain."""

import json

import pytest

import labeltrees as lt

TEXTS = ["red apple pie", "green pear tart", "red wine", "green tea and pear"] * 10
LABELS = [["apple"], ["pear"], ["wine"], ["pear", "tea"]] * 10


@pytest.fixture(scope="module", params=[lt.LabelTreeClassifier(), lt.TextLabelTreeClassifier(epochs=20, dim=8)])
def folder(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("explained") / "fruit.model"
    request.param.fit(TEXTS, LABELS).save(path)
    return path


def test_the_words_are_printed_below_each_line(run, folder):
    found = run("predict", folder, "--ask", "red wine", "-k", 1, "--explain").stdout.splitlines()
    assert found[0].startswith("wine\t")
    assert any(line.split()[-1] == "wine" and float(line.split()[0]) > 0 for line in found[2:])


def test_json_has_the_explanation_of_each_label(run, folder):
    line = run("predict", folder, "--ask", "red wine", "-k", 2, "--explain", "--format", "jsonl").stdout
    record = json.loads(line)
    assert [own["label"] for own in record["explanation"]] == record["labels"]
    for own in record["explanation"]:
        assert sum(part["amount"] for part in own["contributions"]) == pytest.approx(own["log_score"], abs=1e-6)


def test_pieces_of_words_are_shown_as_their_words(run, tmp_path):
    model = lt.LabelTreeClassifier(vectorizer="words+pieces").fit(TEXTS, LABELS)
    model.save(tmp_path / "pieces.model")
    found = run("predict", tmp_path / "pieces.model", "--ask", "Red wine", "-k", 1, "--explain").stdout.splitlines()
    names = [line.split(maxsplit=1)[1] for line in found[2:]]
    assert {"red", "wine"} < set(names)
    assert not any("__" in name for name in names)
    shown = sum(float(line.split()[0]) for line in found[2:])
    assert shown == pytest.approx(model.explain("Red wine", "wine").log_score, abs=0.003)
