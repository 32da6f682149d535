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
