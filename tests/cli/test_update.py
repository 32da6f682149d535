"""labeltrees update."""

import json

import pytest

import labeltrees as lt

TEXTS = ["red apple", "green apple", "ripe pear", "green pear"] * 5
LABELS = [["apple"], ["apple"], ["pear"], ["pear"]] * 5


def write(path, texts, labels):
    lines = [json.dumps({"text": text, "labels": own}) for text, own in zip(texts, labels, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.fixture
def folder(tmp_path):
    lt.LabelTreeClassifier(C=1.0).fit(TEXTS, LABELS).save(tmp_path / "fruit.model")
    return tmp_path / "fruit.model"


def test_new_data_brings_new_labels(run, folder, tmp_path):
    new = write(tmp_path / "new.jsonl", ["blue plum", "ripe plum"] * 3, [["plum"], ["plum", "pear"]] * 3)
    old = write(tmp_path / "old.jsonl", TEXTS, LABELS)
    said = run("update", folder, new, "--replay", old, "--jobs", 1).stdout
    assert "1 new label" in said
    assert "--back" in said
    model = lt.load(folder)
    assert model.classes_.tolist() == ["apple", "pear", "plum"]
    assert model.predict_topk(["a blue plum"], 1)[0].tolist() == [["plum"]]
    run("update", folder, "--back")
    assert lt.load(folder).classes_.tolist() == ["apple", "pear"]
    beside = tmp_path / "exact.model"
    facts = json.loads(run("update", folder, new, "--replay", old, "--exact", "-o", beside, "--json").stdout)
    assert facts["reports"][0]["exact"] is True
    assert lt.load(beside).classes_.tolist() == ["apple", "pear", "plum"]
    assert lt.load(folder).classes_.tolist() == ["apple", "pear"]


def test_labels_are_retired_restored_renamed_and_removed(run, folder, tmp_path):
    names = tmp_path / "gone.txt"
    names.write_text("apple\n")
    assert "1 of them retired" in run("update", folder, "--retire", names).stdout
    assert lt.load(folder).retired_.tolist() == ["apple"]
    run("update", folder, "--restore", "apple", "--rename", "pear=Birne", "--retire", "Birne")
    assert lt.load(folder).retired_.tolist() == ["Birne"]
    run("update", folder, "--compact")
    assert lt.load(folder).classes_.tolist() == ["apple"]


def test_points_are_forgotten(run, folder, tmp_path):
    old = write(tmp_path / "old.jsonl", TEXTS, LABELS)
    rows = tmp_path / "rows.txt"
    rows.write_text("0\n1\n")
    run("update", folder, "--forget", rows, "--replay", old)
    assert lt.load(folder).n_points_ == 18


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to do"),
        (["--back", "--compact"], "cannot be combined"),
        (["--back"], "no previous version"),
        (["--retire", "plum"], "plum"),
        (["--rename", "pear"], "OLD=NEW"),
        (["--forget", __file__], "--replay"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(run, folder, arguments, message):
    result = run("update", folder, *arguments)
    assert result.exit_code != 0
    assert message in result.stdout + result.stderr


def test_retire_is_the_short_form(run, folder, tmp_path):
    (tmp_path / "gone.txt").write_text("pear\n")
    assert json.loads(run("retire", folder, tmp_path / "gone.txt", "--json").stdout)["retired"] == ["pear"]
    assert lt.load(folder).predict_topk(["ripe pear"], 2)[0].tolist() == [["apple", None]]
    assert "0 of them retired" in run("retire", folder, "pear", "--restore").stdout
    assert lt.load(folder).predict_topk(["ripe pear"], 1)[0].tolist() == [["pear"]]
    missing = run("retire", folder, "plum")
    assert missing.exit_code != 0
    assert "plum" in missing.stderr
