"""labeltrees inspect: models, labels, searches."""

import csv
import gzip
import io
import json

import numpy as np
import pytest

import labeltrees as lt
from labeltrees.data.read_data import load_data
from labeltrees.profiling import measure_work
from labeltrees.search import SearchRequest


def test_parameters_tree_and_sizes(run, model_folder):
    output = run("inspect", model_folder).stdout
    assert "40 labels and 30 features, trained on 200 points, with label and feature names" in output
    words = [line.split() for line in output.splitlines()]
    assert ["fanout", "4"] in words
    assert ["beam", "10"] in words
    assert ["labels", "in", "the", "tree", "39"] in words
    assert any(line and line[0] == "tree0.chunks.npy" for line in words)


def test_the_same_as_json(run, model_folder):
    record = json.loads(run("inspect", model_folder, "--json").stdout)
    assert record["parameters"]["loss__prune_below"] == 0.0
    assert record["files"] == {path.name: path.stat().st_size for path in model_folder.iterdir()}
    assert record["disk_bytes"] == sum(record["files"].values())
    assert record["n_weights"] == lt.load(model_folder).stats_["n_weights"]
    assert record["trees"][0]["height"] == lt.load(model_folder).tree_.height


@pytest.mark.parametrize("asked", ["name-17", "17"])
def test_the_path_to_a_label(run, model_folder, data_folder, asked):
    model = lt.load(model_folder)
    record = json.loads(run("inspect", model_folder, "--label", asked, "--json", "--features", 3).stdout)
    assert (record["label"], record["name"]) == (17, "name-17")
    assert record["n_points"] == load_data(str(data_folder)).Y[:, [17]].nnz
    (tree,) = record["trees"]
    assert [step["node"] for step in tree["path"]] == model.tree_.path(17).tolist()
    assert tree["path"][-1]["to"] == "label"
    for step in tree["path"]:
        weights = [abs(feature["weight"]) for feature in step["features"]]
        assert len(weights) == 3
        assert weights == sorted(weights, reverse=True)
        assert all(feature["name"] == f"word-{feature['feature']}" for feature in step["features"])


def test_the_weights_on_the_path_give_the_score_of_the_label(run, model_folder, data_folder):
    """The classifiers shown, applied by hand, score as the model does."""
    model, queries = lt.load(model_folder), load_data(str(data_folder), part="test").X
    X = queries.toarray() / np.linalg.norm(queries.toarray(), axis=1, keepdims=True)
    way = json.loads(run("inspect", model_folder, "--label", "name-5", "--json", "--features", 30).stdout)["trees"][0]
    score = np.ones(len(X))
    for step in way["path"]:
        w = np.zeros(30)
        w[[feature["feature"] for feature in step["features"]]] = [feature["weight"] for feature in step["features"]]
        score *= np.exp(-(np.maximum(0, 1 - X @ w - step["bias"]) ** model.loss.score_power))
    expected = model.predict_topk(queries, k=1, candidates=["name-5"], beam=None)[1][:, 0]
    np.testing.assert_allclose(score, expected, rtol=1e-4)


def test_the_path_as_text(run, model_folder):
    record = json.loads(run("inspect", model_folder, "--label", "name-5", "--json").stdout)
    lines = run("inspect", model_folder, "--label", "name-5").stdout.splitlines()
    path = record["trees"][0]["path"]
    assert lines[0] == f"name-5  label 5, {record['n_points']} training points"
    assert len(lines) == 2 + 2 * len(path)
    assert lines[2].startswith(f"root -> node {path[0]['to']} (")
    strongest = path[-1]["features"][0]
    assert lines[-1].startswith(f"    {strongest['name']} {strongest['weight']:+.2f}, ")
    assert "-> name-5  bias" in lines[-2]


def test_retired_labels_are_shown(run, model_folder, tmp_path):
    model = lt.load(model_folder)
    model.retire(["name-5", "name-7"]).save(tmp_path / "model")
    assert "2 labels retired: name-5, name-7" in run("inspect", tmp_path / "model").stdout
    assert json.loads(run("inspect", tmp_path / "model", "--json").stdout)["retired"] == ["name-5", "name-7"]
    assert "retired" not in run("inspect", model_folder).stdout
    for label, is_retired in (("name-5", True), ("name-6", False)):
        record = json.loads(run("inspect", tmp_path / "model", "--label", label, "--json").stdout)
        assert record["retired"] is is_retired
        line = run("inspect", tmp_path / "model", "--label", label).stdout.splitlines()[0]
        assert line.endswith(", retired") is is_retired


def test_every_tree_of_several(run, data_folder, tmp_path):
    run("fit", data_folder / "train.txt.xz", "-o", tmp_path / "model", "--n-trees", 2, "--fanout", 3)
    model = lt.load(tmp_path / "model")
    record = json.loads(run("inspect", tmp_path / "model", "--label", "7", "--json").stdout)
    assert record["name"] == "label 7"
    assert [[step["node"] for step in tree["path"]] for tree in record["trees"]] == [
        tree.path(7).tolist() for tree in model.trees_
    ]
    assert record["trees"][0]["path"][0]["features"][0]["name"].startswith("feature ")
    text = run("inspect", tmp_path / "model", "--label", "7").stdout
    assert "tree 0, depth" in text
    assert "tree 1, depth" in text
    assert "tree 1\n" in run("inspect", tmp_path / "model").stdout


def test_an_unknown_label_is_refused_with_near_names(run, model_folder):
    result = run("inspect", model_folder, "--label", "nmae-17")
    assert result.exit_code == 2
    assert "no label 'nmae-17'; did you mean 'name-17'" in result.stderr


def test_a_label_outside_the_tree_is_refused(run, model_folder):
    result = run("inspect", model_folder, "--label", "name-39")
    assert result.exit_code == 2
    assert "label 'name-39' has no training points and no place in the tree: no search returns it" in result.stderr


def test_a_label_that_only_its_texts_find_is_refused_in_these_words(run, tmp_path):
    texts = [f"{word} sauce number{number}" for number in range(200) for word in ("tomato", "basil", "onion")]
    labels = [["tomato"], ["basil"], ["onion"]] * 200
    model = lt.LabelTreeClassifier(n_jobs=1).fit(texts, labels, label_texts={"pepper": "red pepper sauce"})
    model.save(tmp_path / "model")
    result = run("inspect", tmp_path / "model", "--label", "pepper")
    assert result.exit_code == 2
    assert "label 'pepper' has no training points" in result.stderr
    assert "only words of its texts find it" in result.stderr


def damage(folder, name, place):
    path = folder / name
    content = bytearray(path.read_bytes())
    content[place] ^= 0xFF
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("name", "place", "options", "message"),
    [
        ("manifest.json", 30, (), "manifest.json: "),
        ("tree0.chunks.npy", -200, ("--verify",), "tree0.chunks.npy: its checksum is wrong"),
        ("tree0.chunks.npy", 128 + 4, ("--label", "name-0"), "the chunk of node 0 is damaged"),
        ("tree0.children.npy", 128 + 3, (), "children"),
    ],
)
def test_a_damaged_model_is_one_line(run, data_folder, tmp_path, name, place, options, message):
    run("fit", data_folder, "-o", tmp_path / "model")
    damage(tmp_path / "model", name, place)
    result = run("inspect", tmp_path / "model", *options)
    assert result.exit_code == 3
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


TEXTS = [(f"word{i % 7} other{i % 5} word{(i * i) % 7} of text", [f"tag{i % 7}", f"also{i % 5}"]) for i in range(50)]


@pytest.fixture(scope="module")
def text_data(tmp_path_factory):
    path = tmp_path_factory.mktemp("texts") / "some.jsonl"
    path.write_text("".join(json.dumps({"text": text, "labels": tags}) + "\n" for text, tags in TEXTS))
    return path


@pytest.fixture(scope="module")
def text_model(text_data):
    path = text_data.with_name("text.model")
    texts, tags = zip(*TEXTS, strict=True)
    lt.TextLabelTreeClassifier(dim=8, epochs=3, n_jobs=1).fit(list(texts), list(tags)).save(path)
    return path


@pytest.fixture(scope="module", params=["linear", "text"])
def both(request, model_folder, data_folder, text_model, text_data):
    """A model of each kind, and data for it."""
    return (model_folder, data_folder) if request.param == "linear" else (text_model, text_data)


def test_the_table(run, both):
    model, data = both
    lines = run("-q", "inspect", model, "--searches", data, "-k", 2).stdout.splitlines()
    n = 200 if data.is_dir() else 50
    assert lines[0].startswith(f"{model} on {n} of {n} points of {data}: top 2, ")
    first = {line.split("  ")[0].strip() for line in lines if line}
    own = {"lookups", "hits", "weights", "vectors", "children"} if data.is_dir() else {"bytes", "rows"}
    assert {"features", "nodes opened", "nodes that every search opens", "microseconds", "heap steps", *own} <= first


def test_json_is_the_summary(run, both):
    model, data = both
    record = json.loads(run("-q", "inspect", model, "--searches", data, "--format", "json", "-k", 3).stdout)
    assert record["model"] == str(model)
    loaded = lt.load(model)
    X = load_data(str(data), part="test").X if data.is_dir() else [text for text, _ in TEXTS]
    points = loaded.check_queries(X)
    request = loaded.complete_request(SearchRequest(3))
    expected = measure_work(loaded, points, request, np.arange(points.shape[0])).summary()
    for name in ("n_queries", "k", "counts", "features", "nodes", "needed", "needed_share", "by_depth"):
        assert record[name] == expected[name]


def test_one_record_per_query_in_both_formats(run, both, tmp_path):
    model, data = both
    out = run("-q", "inspect", model, "--searches", data, "-k", 2, "--queries", 10, "--format", "jsonl").stdout
    records = [json.loads(line) for line in out.splitlines()]
    assert len(records) == 10
    run(
        "-q",
        "inspect",
        model,
        "--searches",
        data,
        "-k",
        2,
        "--queries",
        10,
        "--format",
        "csv",
        "-o",
        tmp_path / "all.csv.gz",
    )
    rows = list(csv.DictReader(io.StringIO(gzip.decompress((tmp_path / "all.csv.gz").read_bytes()).decode())))
    assert [int(row["query"]) for row in rows] == [record["query"] for record in records]
    for record, row in zip(records, rows, strict=True):
        visits = record["visits"]
        assert record["nodes"] == len(visits)
        assert record["needed"] == sum(visit["needed"] for visit in visits)
        assert len(record["labels"]) == 2
        assert isinstance(record["labels"][0], str)
        assert row["visited_node"].split() == [str(visit["node"]) for visit in visits]
        assert row["visited_needed"].split() == [str(int(visit["needed"])) for visit in visits]
        assert json.loads(row["labels"]) == record["labels"]


def test_one_query_is_shown_with_its_nodes(run, both):
    model, data = both
    options = ("-q", "inspect", model, "--searches", data, "-k", 2, "--queries", 5, "--query", 33)
    record = json.loads(run(*options, "--format", "json").stdout)
    assert record["query"] == 33
    lines = run(*options).stdout.splitlines()
    assert lines[0] == f"query 33: {', '.join(record['labels'])}"
    shown = [line.split() for line in lines[3 : 3 + record["nodes"]]]
    assert [(row[0], row[1], row[3]) for row in shown] == [
        (str(visit["node"]), str(visit["depth"]), "yes" if visit["needed"] else "no") for visit in record["visits"]
    ]
    (line,) = run(*options, "--format", "jsonl").stdout.splitlines()
    assert json.loads(line)["query"] == 33


def test_the_trees_of_an_ensemble_are_numbered(run, data_folder, tmp_path):
    run("-q", "fit", data_folder, "-o", tmp_path / "model", "--n-trees", 2, "--fanout", 4)
    shown = run("-q", "inspect", tmp_path / "model", "--searches", data_folder, "--queries", 20)
    assert "found in other trees" in shown.stdout
    shown = run("-q", "inspect", tmp_path / "model", "--searches", data_folder, "--queries", 20, "--query", 0)
    assert shown.stdout.splitlines()[2].split()[0] == "tree"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--query", 200), "has no point 200; its 200 points are numbered from 0"),
        (("--output", "all.csv"), "--output cannot be combined with --format table"),
        (("--format", "csv", "--output", "no/such/folder/all.csv"), "its folder does not exist"),
    ],
)
def test_invalid_options_of_searches_are_refused(run, model_folder, data_folder, options, message):
    result = run("-q", "inspect", model_folder, "--searches", data_folder, *options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [("1 29 40\n0 0:1\n", "has 29 features per point, but the model was trained on 30"), ("0 30 40\n", "no points")],
)
def test_data_of_another_kind_is_refused(run, model_folder, tmp_path, text, message):
    (tmp_path / "test.txt").write_text(text)
    result = run("-q", "inspect", model_folder, "--searches", tmp_path)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_text_model_has_no_beam(run, text_model, text_data):
    result = run("-q", "inspect", text_model, "--searches", text_data, "--beam", 3)
    assert result.exit_code == 2
    assert "its search is always exact" in result.stderr


def test_names_do_not_become_commands_of_a_terminal(run, tmp_path):
    name = "a\x1b[2J\x9b"
    model = lt.LabelTreeClassifier(n_jobs=1).fit(["red", "blue"] * 10, [[name], ["b"]] * 10)
    model.save(tmp_path / "model")
    shown = run("inspect", tmp_path / "model", "--label", name).stdout
    assert "a\N{REPLACEMENT CHARACTER}[2J\N{REPLACEMENT CHARACTER}" in shown
    assert not {"\x1b", "\x9b"} & set(shown)
