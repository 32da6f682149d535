"""labeltrees inspect --searches."""

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


def test_a_record_a_query_in_both_forms(run, both, tmp_path):
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
def test_what_cannot_be_is_refused(run, model_folder, data_folder, options, message):
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
