"""labeltrees update."""

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse as sp

import labeltrees as lt
from labeltrees.storage.versions import version_of

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


def test_points_of_a_union_bring_new_words_and_items(run, tmp_path):
    def prepared(name, contexts, labels, words, items):
        query = lt.encoders.TextEncoder(lt.TfidfVectorizer().fit(words))
        encoder = lt.encoders.UnionEncoder({"query": query, "history": lt.encoders.ItemEncoder(items)})
        lt.write_parts(lt.Dataset(contexts, labels, encoder=encoder), tmp_path / name, 8)
        return tmp_path / name

    old = prepared("old", [(text, ["milk"]) for text in TEXTS], LABELS, TEXTS, ["milk", "bread"])
    new = prepared("new", [("blue plum", None), (None, ["tea"])] * 3, [["plum"], ["cup"]] * 3, ["blue plum"], ["tea"])
    lt.LabelTreeClassifier(C=1.0).fit(lt.open_parts(old)).save(tmp_path / "model")
    assert "2 new labels, 3 new features" in run("update", tmp_path / "model", new, "--replay", old).stdout
    for question, label in (('{"history": ["tea"]}', "cup"), ('{"query": "a plum"}', "plum")):
        assert run("predict", tmp_path / "model", "--ask", question).stdout.startswith(label)


def test_text_models_are_updated(run, tmp_path):
    folder, beside = tmp_path / "text.model", tmp_path / "new.model"
    lt.TextLabelTreeClassifier(dim=16).fit(TEXTS * 3, LABELS * 3).save(folder)
    new = write(tmp_path / "new.jsonl", ["blue plum", "a plum"] * 20, [["plum"]] * 40)
    old = write(tmp_path / "old.jsonl", TEXTS * 3, LABELS * 3)
    assert "1 new label" in run("update", folder, new, "--replay", old, "--jobs", 1, "-o", beside).stdout
    assert lt.load(folder).classes_.tolist() == ["apple", "pear"]
    found = lt.load(beside).predict_topk(["a blue plum", "red apple", "ripe pear"], 1)[0]
    assert found.tolist() == [["plum"], ["apple"], ["pear"]]
    refused = run("update", folder, new, "--replay", old, "--exact")
    assert refused.exit_code != 0
    assert "without --exact" in refused.stdout + refused.stderr


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


def test_an_update_does_not_bring_forgotten_points_back(run, tmp_path):
    texts, labels = [*TEXTS, "secret cherry", "secret cherry"], [*LABELS, ["cherry"], ["cherry"]]
    lt.LabelTreeClassifier(C=1.0).fit(texts, labels).save(tmp_path / "fruit.model")
    old = write(tmp_path / "old.jsonl", texts, labels)
    new = write(tmp_path / "new.jsonl", ["blue plum"] * 3, [["plum"]] * 3)
    (tmp_path / "rows.txt").write_text("20\n21\n")
    run("update", tmp_path / "fruit.model", new, "--replay", old, "--forget", tmp_path / "rows.txt", "--exact")
    model = lt.load(tmp_path / "fruit.model")
    assert model.retired_.tolist() == ["cherry"]
    assert model.n_points_ == 23
    assert dict(zip(model.classes_, model.label_counts_, strict=True)) == {
        "apple": 10,
        "cherry": 0,
        "pear": 10,
        "plum": 3,
    }


@pytest.mark.parametrize("in_parts", [False, True])
def test_old_points_may_have_the_old_names_of_labels(run, folder, tmp_path, in_parts):
    if in_parts:
        model = lt.load(folder)
        encoder = model.encoder_
        lt.write_parts(lt.Dataset(encoder.transform(TEXTS), LABELS, encoder=encoder), tmp_path / "old", 7)
        old = tmp_path / "old"
    else:
        old = write(tmp_path / "old.jsonl", TEXTS, LABELS)
    (tmp_path / "rows.txt").write_text("0\n")
    said = run("update", folder, "--rename", "apple=Apfel", "--forget", tmp_path / "rows.txt", "--replay", old).stdout
    assert "left out" not in said
    model = lt.load(folder)
    assert model.retired_.tolist() == []
    assert dict(zip(model.classes_, model.label_counts_, strict=True)) == {"Apfel": 9, "pear": 10}


@pytest.mark.parametrize(
    ("rows", "message"),
    [("", "no row numbers"), ("0\nabc\n", "line 2"), ("20\n", "from 0 to 19"), ("-1\n", "line 1")],
)
def test_rows_that_cannot_be_forgotten_are_named(run, folder, tmp_path, rows, message):
    old = write(tmp_path / "old.jsonl", TEXTS, LABELS)
    (tmp_path / "rows.txt").write_text(rows)
    result = run("update", folder, "--forget", tmp_path / "rows.txt", "--replay", old)
    assert result.exit_code == 3
    assert "rows.txt" in result.stderr
    assert message in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to do"),
        (["--back", "--compact"], "cannot be combined"),
        (["--back"], "no previous version"),
        (["--retire", "aple"], "--retire: 'aple' is neither a file nor a label of the model; did you mean 'apple'?"),
        (["--restore", "plum"], "--restore: 'plum' is neither"),
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
    said = run("retire", folder, "pear", "-o", tmp_path / "without").stdout
    assert "1 of them retired" in said
    assert "previous version" not in said
    assert lt.load(tmp_path / "without").retired_.tolist() == ["pear"]
    assert lt.load(folder).retired_.tolist() == []
    assert lt.load(folder).predict_topk(["ripe pear"], 1)[0].tolist() == [["pear"]]
    missing = run("retire", folder, "plum")
    assert missing.exit_code != 0
    assert "plum" in missing.stderr


def started(*arguments):
    """Start the command in a process of its own."""
    command = [
        sys.executable,
        "-c",
        "from labeltrees.cli.main import main; main()",
        "update",
        *map(str, arguments),
        "--jobs",
        "1",
    ]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def many_points(tmp_path):
    """Return files of old and new data whose update takes some tenths of a second."""
    texts = [f"word{i % 97} word{i % 89} word{i % 13}" for i in range(3000)]
    labels = [[f"label{i % 97}", f"label{i % 89}"] for i in range(3000)]
    old = write(tmp_path / "old.jsonl", texts, labels)
    new = write(tmp_path / "new.jsonl", [f"new{i % 7} {text}" for i, text in enumerate(texts[:300])], [["new"]] * 300)
    folder = tmp_path / "words.model"
    lt.LabelTreeClassifier(C=1.0, n_jobs=1).fit(texts, labels).save(folder)
    return folder, old, new


def test_a_killed_update_leaves_the_old_version(tmp_path):
    folder, old, new = many_points(tmp_path)
    before = version_of(folder)
    begun = time.monotonic()
    whole = started(folder, new, "--replay", old, "-o", tmp_path / "whole.model")
    assert whole.wait() == 0
    whole.communicate()
    needed = time.monotonic() - begun
    n_killed = 0
    for share in (0.5, 0.7, 0.8, 0.9, 0.97):
        process = started(folder, new, "--replay", old)
        time.sleep(share * needed)
        process.send_signal(signal.SIGKILL)
        n_killed += process.wait() == -signal.SIGKILL
        process.communicate()
        has_new = "new" in lt.load(folder, verify=True).classes_
        assert has_new or version_of(folder) == before
    assert n_killed > 0


def test_of_two_updates_at_once_one_wins_and_the_other_says_so(tmp_path):
    folder, old, new = many_points(tmp_path)
    first, second = (started(folder, new, "--replay", old) for _ in range(2))
    said = [process.communicate() for process in (first, second)]
    codes = sorted(process.returncode for process in (first, second))
    assert "new" in lt.load(folder, verify=True).classes_
    if codes != [0, 0]:  # both are 0 if one of them had ended before the other began to load
        assert codes[0] == 0
        assert any("changed by another update" in errors for _, errors in said)


def test_new_and_old_points_may_be_in_parts(run, tmp_path):
    rng = np.random.default_rng(0)
    labels = np.arange(400) % 8
    X = sp.csr_array((np.eye(8)[labels] + 0.1 * rng.random((400, 8))).astype(np.float32))
    Y = sp.csr_array(np.eye(8, dtype=np.float32)[labels])
    old, new = np.flatnonzero(labels < 7), np.flatnonzero(labels == 7)
    folders = [tmp_path / name for name in ("memory.model", "parts.model")]
    for folder in folders:
        lt.LabelTreeClassifier(C=1.0).fit(X[old], Y[old][:, :7]).save(folder)
    lt.write_parts(lt.Dataset(X[old], Y[old][:, :7]), tmp_path / "old", 100)
    lt.write_parts(lt.Dataset(X[new], Y[new]), tmp_path / "new", 20)
    run("update", folders[1], tmp_path / "new", "--replay", tmp_path / "old")
    model = lt.load(folders[0])
    model.update(X[new], Y[new], replay=(X[old], Y[old][:, :7]))
    found = lt.load(folders[1]).predict_topk(X, 3)
    assert (found[0][:, 0] == labels).all()
    np.testing.assert_array_equal(found[1], model.predict_topk(X, 3)[1])
