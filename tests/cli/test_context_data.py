"""Commands that are given lists of items."""

import gzip
import json

import pytest

import labeltrees as lt

HISTORIES = [["milk", "bread"], ["bread", "jam"], ["milk"], ["jam"]] * 10
LABELS = [["jam"], ["milk"], ["bread"], ["milk"]] * 10


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    path = tmp_path_factory.mktemp("shop") / "model"
    encoder = lt.ItemEncoder(["milk", "bread", "jam"], ids=[1, 2, 3])
    lt.LabelTreeClassifier().fit(HISTORIES, LABELS, encoder=encoder).save(path)
    return path


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "new.jsonl.gz"
    records = [["milk", "bread"], [["bread", 2], 3], {"items": {"milk": 2}, "labels": ["bread"]}, ["tea", "jam"]]
    path.write_bytes(gzip.compress("".join(json.dumps(record) + "\n" for record in records).encode()))
    return path


def test_predict_takes_lists_of_items(run, shop, lines):
    result = run("predict", shop, lines, "-k", "1", "--format", "jsonl")
    assert result.exit_code == 0
    model = lt.load(shop)
    expected = model.predict_topk([["milk", "bread"], [("bread", 2), 3], {"milk": 2}, ["jam"]], 1)[0][:, 0].tolist()
    assert [json.loads(line)["labels"][0] for line in result.stdout.splitlines()] == expected
    assert "the model does not know 1 item" in result.stderr


def test_evaluate_takes_items_with_labels(run, shop, tmp_path):
    path = tmp_path / "test.jsonl"
    records = [{"items": own, "labels": labels} for own, labels in zip(HISTORIES[:4], LABELS[:4], strict=True)]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    result = run("evaluate", shop, path, "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["precision"]["1"] == lt.load(shop).score(HISTORIES[:4], LABELS[:4])
    path.write_text('["milk"]\n')
    result = run("evaluate", shop, path)
    assert result.exit_code == 2
    assert 'a line must be {"items": [...], "labels": [...]}' in result.stderr


def test_inspect_says_what_the_model_takes(run, shop):
    assert "takes a list of items" in " ".join(run("inspect", shop).stdout.split())


def test_lines_that_are_not_contexts_are_named(run, shop, tmp_path):
    path = tmp_path / "new.jsonl"
    path.write_text('["milk"]\n{nonsense\n')
    result = run("predict", shop, path)
    assert result.exit_code == 3
    assert "line 2: not JSON" in result.stderr
    path.write_text('["milk"]\n"milk"\n')
    result = run("predict", shop, path)
    assert result.exit_code == 2
    assert "contexts[1] must be a list of items" in result.stderr
