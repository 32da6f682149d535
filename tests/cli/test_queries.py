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
    encoder = lt.encoders.ItemEncoder(["milk", "bread", "jam"], ids=[1, 2, 3])
    lt.LabelTreeClassifier().fit(lt.Dataset(HISTORIES, LABELS, encoder=encoder)).save(path)
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
    assert f"{path}: point 1 must be a list of items" in " ".join(result.stderr.split())


def ask(run, model, *arguments):
    result = run("predict", model, *arguments, "--format", "jsonl")
    assert result.exit_code == 0, result.stderr
    return [json.loads(line)["labels"] for line in result.stdout.splitlines()], result.stderr


def test_questions_can_be_typed(run, shop):
    answer = lt.load(shop).predictor(2, names=True)
    typed = ["--ask", "milk", "--ask", '["milk", 3, "tea"]', "--ask", '{"bread": 2}', "-k", "2"]
    found, warnings = ask(run, shop, *typed)
    assert found == [answer(context)[0] for context in (["milk"], ["milk", 3], {"bread": 2})]
    assert "--ask: the model does not know 1 item, which was left out" in warnings


def test_seen_and_excluded_items_are_left_out(run, shop, tmp_path):
    (tmp_path / "sold out.txt").write_text("jam\n")
    sold_out = "--exclude", tmp_path / "sold out.txt"
    assert ask(run, shop, "--ask", '["milk"]', "--exclude-seen", *sold_out)[0] == [["bread"]]
    assert "jam" not in ask(run, shop, "--ask", '["milk"]', *sold_out)[0][0]
    (tmp_path / "in stock.txt").write_text("jam\nmilk\n")
    in_stock = "--candidates", tmp_path / "in stock.txt"
    assert ask(run, shop, "--ask", '["milk"]', "--exclude-seen", *in_stock)[0] == [["jam"]]


def test_either_data_or_a_question_is_needed(run, shop, lines):
    for arguments in ((), (lines, "--ask", "milk")):
        result = run("predict", shop, *arguments)
        assert result.exit_code == 2
        assert "either DATA or --ask" in result.stderr


@pytest.fixture(scope="module")
def colours(tmp_path_factory):
    """A model of a column of names with a separator."""
    path = tmp_path_factory.mktemp("colours") / "model"
    encoder = lt.encoders.ColumnEncoder(["red", "blue", "wool"], separator="|")
    tags = ["red|wool", "blue", "red", "blue|wool"] * 5
    lt.LabelTreeClassifier().fit(lt.Dataset(tags, [["a"], ["b"], ["a"], ["c"]] * 5, encoder=encoder)).save(path)
    return path


def test_predict_takes_the_feature_column_of_a_table(run, colours, tmp_path):
    polars = pytest.importorskip("polars")
    lists = [["red", "wool"], ["blue"], ["green"]]
    frame = polars.DataFrame({"tags": ["|".join(own) for own in lists], "id": [1, 2, 3]})
    frame.write_csv(tmp_path / "new.csv")
    frame.with_columns(polars.Series("tags", lists)).write_parquet(tmp_path / "new.parquet")
    expected = lt.load(colours).predict_topk(lists, 3)[0].tolist()
    for name in ("new.csv", "new.parquet"):
        found, warnings = ask(run, colours, tmp_path / name, "--text", "tags")
        assert found == expected
        assert "does not know 1 item, which was left out" in " ".join(warnings.split())
        assert "1 point has no known item" in " ".join(warnings.split())
    assert ask(run, colours, "--ask", "red|wool")[0] == expected[:1]


def test_evaluate_takes_the_feature_column_of_a_table(run, colours, tmp_path):
    path = tmp_path / "test.csv"
    path.write_text("tags,bought\nred|wool,a\nblue,c\n")
    result = run("evaluate", colours, path, "--text", "tags", "--labels", "bought", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["precision"]["1"] == 0.5


def test_a_table_for_a_model_of_items_says_what_to_do(run, shop, tmp_path):
    (tmp_path / "new.csv").write_text("items\nmilk\n")
    result = run("predict", shop, tmp_path / "new.csv", "--text", "items")
    assert result.exit_code == 2
    assert "use a .jsonl file with one list per line" in " ".join(result.stderr.split())
    (tmp_path / "new.txt").write_text("milk\n")
    result = run("predict", shop, tmp_path / "new.txt")
    assert "use a .jsonl file with one list per line" in " ".join(result.stderr.split())


def test_a_model_of_features_cannot_be_asked(run, tmp_path):
    lt.LabelTreeClassifier().fit([[1.0, 0.0], [0.0, 1.0]], [["a"], ["b"]]).save(tmp_path / "model")
    result = run("predict", tmp_path / "model", "--ask", "milk")
    assert result.exit_code == 2
    assert "--ask needs a model that takes texts or items" in " ".join(result.stderr.split())


def test_label_files_take_names_and_ids_of_items_and_count_others(run, shop, tmp_path):
    files = {"names": "milk\ntea\n", "ids": "1\n17\n"}  # 1 is the id of milk; nobody has bought 17
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    for name, unknown in (("names", "tea"), ("ids", "17")):
        result = run("predict", shop, "--ask", "bread", "--candidates", tmp_path / name)
        assert result.stdout.split("\t")[0] == "milk"
        assert f"{name}: the model does not know 1 label, such as '{unknown}'" in result.stderr
        assert "milk" not in run("predict", shop, "--ask", "bread", "--exclude", tmp_path / name).stdout
    (tmp_path / "none").write_text("tea\n")
    result = run("predict", shop, "--ask", "bread", "--candidates", tmp_path / "none")
    assert result.exit_code == 3
    assert "the model has no label 'tea'" in result.stderr


def test_items_typed_with_commas_get_advice(run, shop):
    assert 'written as \'["bread", "milk"]\'' in run("predict", shop, "--ask", "bread, milk").stderr
    assert "written as" not in run("predict", shop, "--ask", "tea").stderr
