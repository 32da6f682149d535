"""Annif's corpora and vocabularies on the command line: URIs as labels, names to show."""

import csv
import json

import pytest

import labeltrees as lt

TEA, MILK = "http://x.example/tea", "http://x.example/milk"
TEXTS = ["black tea in a cup", "green tea", "milk of cows", "fresh milk", "tea with milk"] * 4
LABELS = [[TEA], [TEA], [MILK], [MILK], [TEA, MILK]] * 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("annif")
    lines = [f"{text}\t{' '.join(f'<{uri}>' for uri in uris)}\n" for text, uris in zip(TEXTS, LABELS, strict=True)]
    (folder / "corpus.tsv").write_text("".join(lines))
    (folder / "names.csv").write_text(f"uri,label_en,label_fi\n{TEA},tea,tee\n{MILK},milk,maito\n")
    documents = folder / "documents"
    for part in ("train", "test"):
        (documents / part).mkdir(parents=True)
        for number, (text, uris) in enumerate(zip(TEXTS, LABELS, strict=True)):
            (documents / part / f"{number:02}.txt").write_text(text)
            (documents / part / f"{number:02}.tsv").write_text("".join(f"<{uri}>\tname\n" for uri in uris))
    return folder


@pytest.fixture(scope="module")
def model(folder):
    lt.LabelTreeClassifier().fit(TEXTS, LABELS).save(folder / "plain.model")
    return folder / "plain.model"


def test_fit_keeps_uris_as_labels_and_names_as_texts(run, folder):
    run(
        "fit", folder / "corpus.tsv", "-o", folder / "a.model", "--vocabulary", folder / "names.csv", "--language", "fi"
    )
    model = lt.load(folder / "a.model")
    assert model.classes_.tolist() == [MILK, TEA]
    assert model.label_texts_.lists() == [["maito"], ["tee"]]
    shown = run("predict", folder / "a.model", "--ask", "green tea", "-k", "1", "--with-texts").stdout
    assert shown.split("\t")[:2] == [TEA, "tee"]


def test_predict_shows_names_of_a_vocabulary(run, folder, model):
    options = ("--vocabulary", folder / "names.csv", "--language", "en")
    shown = run("predict", model, "--ask", "fresh milk", "-k", "2", *options, "--format", "jsonl").stdout
    record = json.loads(shown)
    assert record["labels"] == [MILK, TEA]
    assert record["texts"] == ["milk", "tea"]
    plain = json.loads(run("predict", model, "--ask", "fresh milk", "-k", "2", "--format", "jsonl").stdout)
    assert plain == {name: record[name] for name in ("labels", "scores")}


def test_what_is_missing_is_named(run, folder, model):
    failed = run("predict", model, "--ask", "tea", "--with-texts")
    assert "give them with --vocabulary FILE" in failed.stderr
    failed = run("predict", model, "--ask", "tea", "--vocabulary", folder / "names.csv")
    assert "has labels in en, fi; choose one, such as --language en" in failed.stderr


def test_a_folder_of_documents_has_a_train_and_a_test_part(run, folder):
    run("fit", folder / "documents", "-o", folder / "b.model")
    assert lt.load(folder / "b.model").n_points_ == len(TEXTS)
    record = json.loads(run("evaluate", folder / "b.model", folder / "documents", "--json").stdout)
    assert record["n_points"] == len(TEXTS)
    one = folder / "documents" / "train"
    run("fit", one, "-o", folder / "c.model", "--test-share", "0.25")
    assert lt.load(folder / "c.model").n_points_ == 15


def test_evaluate_writes_a_row_per_label(run, folder, model):
    options = ("--vocabulary", folder / "names.csv", "--language", "en", "--label-results", folder / "labels.tsv")
    run("evaluate", model, folder / "corpus.tsv", *options)
    with open(folder / "labels.tsv", newline="") as file:
        rows = {row["label"]: row for row in csv.DictReader(file, delimiter="\t")}
    # Both labels are returned for each of the 20 points, and each is true for 12 of them.
    for uri, text in ((TEA, "tea"), (MILK, "milk")):
        assert rows[uri] == {
            "label": uri,
            "text": text,
            "true": "12",
            "returned": "20",
            "correct": "12",
            "precision": "0.6000",
            "recall": "1.0000",
            "f1": "0.7500",
        }
