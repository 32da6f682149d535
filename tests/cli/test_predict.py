"""labeltrees predict."""

import gzip
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import labeltrees as lt
from labeltrees.cli.predict import AnswerLines
from labeltrees.data import point_blocks
from labeltrees.data.read_data import load_data
from labeltrees.data.xmc import open_xmc_blocks


@pytest.fixture(scope="module")
def answers(model_folder, data_folder):
    """The answers of the library: 5 names per point, and their scores."""
    model = lt.load(model_folder)
    return model.predict_topk(load_data(str(data_folder), part="test").X, k=5)


@pytest.fixture(scope="module")
def nameless_model(data_folder, tmp_path_factory):
    data = load_data(str(data_folder))
    folder = tmp_path_factory.mktemp("model") / "nameless"
    lt.LabelTreeClassifier(loss=lt.Solver(prune_below=0)).fit(data.X, data.Y).save(folder)
    return folder


def rows_of(text):
    """Return the labels and scores of lines of tab-separated text."""
    rows = [line.split("\t") for line in text.splitlines()]
    return [row[::2] for row in rows], [list(map(float, row[1::2])) for row in rows]


def test_one_line_per_point_with_names_and_scores(run, model_folder, data_folder, answers):
    result = run("predict", model_folder, data_folder)
    assert result.exit_code == 0
    labels, scores = rows_of(result.stdout)
    assert labels == answers[0].tolist()
    np.testing.assert_allclose(scores, answers[1], rtol=1e-5)
    assert "Predicting" in result.stderr


def test_jsonl_says_the_same(run, model_folder, data_folder, answers):
    lines = run("predict", model_folder, data_folder, "--format", "jsonl").stdout.splitlines()
    records = [json.loads(line) for line in lines]
    assert [record["labels"] for record in records] == answers[0].tolist()
    np.testing.assert_allclose([record["scores"] for record in records], answers[1], rtol=1e-5)


@pytest.mark.parametrize("block_bytes", [500, 1 << 20])
def test_answers_do_not_depend_on_blocks_or_threads(run, model_folder, data_folder, monkeypatch, block_bytes):
    expected = run("predict", model_folder, data_folder).stdout
    monkeypatch.setattr(point_blocks, "open_xmc_blocks", lambda *given: open_xmc_blocks(*given, block_bytes))
    for jobs in (1, 2):
        assert run("predict", model_folder, data_folder / "test.txt", "--jobs", jobs).stdout == expected


@pytest.mark.parametrize("k", [1, 3, 100])
def test_k_labels_or_as_many_as_there_are(run, model_folder, data_folder, k):
    labels, scores = rows_of(run("predict", model_folder, data_folder, "-k", k, "--beam", "none").stdout)
    assert {len(row) for row in labels} == {min(k, 39)}  # label 39 never occurs
    assert all(row == sorted(row, reverse=True) for row in scores)


def test_a_beam_other_than_the_models(run, model_folder, data_folder):
    model, X = lt.load(model_folder), load_data(str(data_folder), part="test").X
    for beam, text in ((None, "none"), (1, "1")):
        labels, _ = rows_of(run("predict", model_folder, data_folder, "--beam", text).stdout)
        expected = model.predict_topk(X, k=5, beam=beam)[0].tolist()
        assert labels == [[name for name in row if name is not None] for row in expected]


def test_candidates_are_the_only_labels_returned(run, model_folder, data_folder, tmp_path):
    (tmp_path / "allowed.txt").write_text("name-3\nname-30\n\nname-17\n")
    labels, _ = rows_of(run("predict", model_folder, data_folder, "--candidates", tmp_path / "allowed.txt").stdout)
    assert {frozenset(row) for row in labels} == {frozenset(["name-3", "name-30", "name-17"])}


def test_weights_of_labels_come_from_a_file_or_from_propensities(run, model_folder, data_folder, tmp_path):
    (tmp_path / "weights.tsv").write_text("name-3\t1e20\n\nname-30\t0\n")
    labels, _ = rows_of(run("predict", model_folder, data_folder, "--label-weight", tmp_path / "weights.tsv").stdout)
    assert {row[0] for row in labels} == {"name-3"}
    assert not any("name-30" in row for row in labels)
    plain, rare = (
        run("predict", model_folder, data_folder, *options).stdout for options in ((), ("--label-weight", "propensity"))
    )
    assert plain != rare


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name-3\n", "weights.tsv, line 1: must be a label, a tab and a weight, got 'name-3'"),
        ("name-3\t1\nnobody\t2\n", "weights.tsv, line 2: the model has no label 'nobody'"),
        ("name-3\t-1\n", "weights.tsv, line 1: the weight must be a number of at least 0, got '-1'"),
    ],
)
def test_other_weights_are_refused(run, model_folder, data_folder, tmp_path, text, message):
    (tmp_path / "weights.tsv").write_text(text)
    result = run("-q", "predict", model_folder, data_folder, "--label-weight", tmp_path / "weights.tsv")
    assert result.exit_code == 3
    assert message in result.stderr


def test_labels_without_names_are_ids(run, nameless_model, data_folder, tmp_path):
    (tmp_path / "allowed.txt").write_text("3\n30\n")
    options = ("--candidates", tmp_path / "allowed.txt", "--format", "jsonl")
    lines = run("predict", nameless_model, data_folder, *options).stdout.splitlines()
    assert {frozenset(json.loads(line)["labels"]) for line in lines} == {frozenset([3, 30])}


@pytest.mark.parametrize(
    ("named", "text", "message"),
    [
        (True, "name-3\nnobody\n", "allowed.txt: the model has no label 'nobody'"),
        (False, "3\n40\n", "allowed.txt: the model has no label '40'"),
        (True, "\n", "allowed.txt: contains no labels"),
    ],
)
def test_other_candidates_are_refused(run, model_folder, nameless_model, data_folder, tmp_path, named, text, message):
    (tmp_path / "allowed.txt").write_text(text)
    model = model_folder if named else nameless_model
    result = run("-q", "predict", model, data_folder, "--candidates", tmp_path / "allowed.txt")
    assert result.exit_code == 3
    assert message in result.stderr
    assert result.stdout == ""


def test_the_output_file_is_whole_or_not_there(run, model_folder, data_folder, tmp_path):
    output = tmp_path / "answers.tsv.gz"
    result = run("predict", model_folder, data_folder, "-o", output)
    assert result.stdout == ""
    assert gzip.decompress(output.read_bytes()).decode() == run("predict", model_folder, data_folder).stdout
    broken = tmp_path / "broken.txt"
    broken.write_text("2 30 40\n0 0:1\n0 77:1\n")
    result = run("-q", "predict", model_folder, broken, "-o", tmp_path / "new.tsv", "--index-base", 0)
    assert result.exit_code == 3
    assert "broken.txt, line 3: feature id 77 is out of range" in result.stderr
    assert not (tmp_path / "new.tsv").exists()


@pytest.mark.parametrize(
    ("arguments", "exit_code", "message"),
    [
        (("MODEL", "missing.txt"), 2, "missing.txt: no such file or folder"),
        (("MODEL", "other.txt"), 2, "other.txt: has 5 features per point, but the model was trained on 30"),
        (("MODEL", "DATA", "-o", "missing/out.tsv"), 2, "missing/out.tsv: its folder does not exist"),
        (("EMPTY", "DATA"), 3, "not a saved model: the folder has no manifest.json"),
    ],
)
def test_impossible_questions_give_one_line(
    run, model_folder, data_folder, tmp_path, monkeypatch, arguments, exit_code, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.txt").write_text("1 5 40\n0 0:1\n")
    (tmp_path / "empty").mkdir()
    places = {"MODEL": model_folder, "DATA": data_folder, "EMPTY": "empty"}
    result = run("-q", "predict", *(places.get(argument, argument) for argument in arguments))
    assert result.exit_code == exit_code
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


PROGRAM = [sys.executable, "-c", "from labeltrees.cli.main import main; main()", "-q", "predict"]


def test_a_closed_pipe_prints_no_error(model_folder, data_folder):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as pipe:
        done = subprocess.run([*PROGRAM, model_folder, data_folder], stdout=pipe, stderr=subprocess.PIPE, check=False)
    assert done.stderr == b""
    assert done.returncode == 1


def test_points_may_come_through_a_pipe(run, model_folder, data_folder):
    with subprocess.Popen(["cat", data_folder / "test.txt"], stdout=subprocess.PIPE) as source:
        command = [*PROGRAM, model_folder, "/dev/stdin", "--index-base", "0"]
        done = subprocess.run(command, stdin=source.stdout, capture_output=True, check=True)
    assert done.stdout.decode() == run("predict", model_folder, data_folder).stdout


def test_names_cannot_break_lines_or_columns():
    names = np.array(["a\tb", "c\nd\r", "e\\t", 'ü"'], dtype=object)
    labels, scores = np.array([[0, 1, 2, 3]]), np.array([[0.5, 0.25, 0.125, 1e-7]], np.float32)
    tsv = AnswerLines(names, "tsv").encode(labels, scores).decode()
    assert tsv == 'a\\tb\t0.5\tc\\nd\\r\t0.25\te\\\\t\t0.125\tü"\t1e-07\n'
    record = json.loads(AnswerLines(names, "jsonl").encode(labels, scores))
    assert record == {"labels": names.tolist(), "scores": [0.5, 0.25, 0.125, 1e-7]}


@pytest.mark.parametrize("form", ["tsv", "jsonl"])
def test_places_that_are_empty_are_left_out(form):
    labels, scores = np.array([[7, -1], [-1, -1], [8, 9]]), np.array([[0.5, 0], [0, 0], [0.5, 0.25]], np.float32)
    text = AnswerLines(None, form).encode(labels, scores).decode()
    if form == "tsv":
        assert text == "7\t0.5\n\n8\t0.5\t9\t0.25\n"
    else:
        assert [json.loads(line)["labels"] for line in text.splitlines()] == [[7], [], [8, 9]]


@pytest.fixture
def shop_model(tmp_path):
    rng = np.random.default_rng(0)
    items = [f"item {i}" for i in range(12)]
    baskets = [[items[i] for i in rng.permutation(12)[:4]] for _ in range(60)]
    encoder = lt.encoders.ItemEncoder(items)
    Y = np.array([[item in basket[2:] for item in items] for basket in baskets], float)
    data = lt.Dataset(encoder.transform([basket[:2] for basket in baskets]), Y, label_names=items, encoder=encoder)
    model = lt.LabelTreeClassifier(C=1.0, fanout=3).fit(data)
    model.save(tmp_path / "shop.model")
    return tmp_path / "shop.model", model, items


def test_rules_of_a_shop(run, tmp_path, shop_model):
    folder, model, items = shop_model
    brands, stock, boosts = tmp_path / "brands.tsv", tmp_path / "stock.txt", tmp_path / "boosts.tsv"
    brands.write_text("".join(f"{item}\t{number % 3}\n" for number, item in enumerate(items)))
    stock.write_text("\n".join(items[:9]) + "\n")
    boosts.write_text("item 4\t3\n")
    question = [items[0], items[1]]
    rules = ["--limit-per", f"{brands}:1", "--candidates", stock, "--boost", boosts, "--exclude-seen"]
    out = run("predict", folder, "--ask", json.dumps(question), "--format", "jsonl", *rules).stdout
    labels, _ = model.predict_topk(
        [question],
        5,
        limits=({item: number % 3 for number, item in enumerate(items)}, 1),
        candidates=items[:9],
        exclude=question,
        label_weight={"item 4": 3},
    )
    assert json.loads(out)["labels"] == [label for label in labels[0] if label is not None]
    diverse = run("predict", folder, "--ask", json.dumps(question), "--format", "jsonl", "--diversity", "0.9").stdout
    assert json.loads(diverse)["labels"] == model.predict_topk([question], 5, diversity=0.9)[0][0].tolist()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("brands.tsv", "must be FILE:M, such as brands.tsv:2"),
        ("nothing.tsv:2", "there is no file nothing.tsv"),
        ("bad.tsv:2", "bad.tsv, line 1: must be a label, a tab and a group"),
        ("other.tsv:2", "other.tsv: the model knows none of the labels"),
    ],
)
def test_limits_that_cannot_be_read_are_explained(run, tmp_path, monkeypatch, shop_model, given, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.tsv").write_text("item 1 red\n")
    (tmp_path / "other.tsv").write_text("nothing\tred\n")
    result = run("predict", shop_model[0], "--ask", '["item 1"]', "--limit-per", given)
    assert message in result.stderr


def test_names_do_not_become_formulas_or_commands_of_a_terminal():
    names = np.array(["=1+1", "@sum", "-5", "+x", "a\x1b[2J\x9b", "plain"], dtype=object)
    labels, scores = np.arange(6)[np.newaxis], np.ones((1, 6), np.float32)
    cells = AnswerLines(names, "tsv").encode(labels, scores).decode().rstrip("\n").split("\t")[::2]
    assert cells == ["\\=1+1", "\\@sum", "-5", "\\+x", "a\x1b[2J\x9b", "plain"]
    for form in ("tsv", "jsonl"):
        shown = AnswerLines(names, form, terminal=True).encode(labels, scores).decode()
        assert not {"\x1b", "\x9b"} & set(shown)
    assert json.loads(shown)["labels"] == names.tolist()


def test_labels_can_be_given_by_name_instead_of_in_a_file(run, shop_model, tmp_path):
    folder, _, items = shop_model
    asked = ("predict", folder, "--ask", f'["{items[0]}"]', "-k", 3, "--format", "jsonl")
    best = json.loads(run(*asked).stdout)["labels"]
    assert best[0] not in json.loads(run(*asked, "--exclude", best[0]).stdout)["labels"]
    (tmp_path / "one.txt").write_text(best[2])
    given = run(*asked, "--candidates", best[1], "--candidates", tmp_path / "one.txt").stdout
    assert json.loads(given)["labels"] == [best[1], best[2]]


def test_an_unknown_label_is_refused_with_a_similar_name(run, shop_model):
    result = run("predict", shop_model[0], "--ask", '["item 1"]', "--exclude", "itm 11")
    assert result.exit_code == 2
    assert "--exclude: 'itm 11' is neither a file nor a label of the model" in result.stderr
    assert "item 11" in result.stderr
