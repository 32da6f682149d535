"""labeltrees evaluate."""

import json

import numpy as np
import pytest

import labeltrees as lt
from labeltrees.cli import evaluate
from labeltrees.data.read_data import load_data
from labeltrees.search import SearchRequest


@pytest.fixture(scope="module")
def truth(model_folder, data_folder):
    """The model, the test points and the ids it returns for them."""
    model, test = lt.load(model_folder), load_data(str(data_folder), part="test")
    return model, test, model.searcher_.topk(test.X, SearchRequest(5, beam=model.beam), stats=True)


def test_json_has_the_values_of_the_metrics(run, model_folder, data_folder, truth):
    model, test, result = truth
    train = load_data(str(data_folder))
    record = json.loads(run("evaluate", model_folder, data_folder, "--json").stdout)
    for k in (1, 3, 5):
        at = str(k)
        assert record["precision"][at] == lt.metrics.precision_at_k(test.Y, result.labels, k)
        assert record["recall"][at] == lt.metrics.recall_at_k(test.Y, result.labels, k)
        assert record["f1"][at] == lt.metrics.f1_at_k(test.Y, result.labels, k)
        assert record["coverage"][at] == lt.metrics.coverage_at_k(test.Y, result.labels, k)
        low, high = record["intervals"]["recall"][at]
        assert low < record["recall"][at] < high
        assert record["ndcg"][at] == lt.metrics.ndcg_at_k(test.Y, result.labels, k)
        assert record["psp"][at] == lt.metrics.psp_at_k(test.Y, result.labels, k, Y_train=train.Y)
        assert record["expected_depth"][at] == lt.metrics.expected_depth_at_k(model.tree_, result.labels, k)
    assert record["weighted"] is None
    assert record["chunks"] == result.stats.chunks.mean()
    assert record["classifiers"] == result.stats.classifiers.mean()
    assert record["single_calls"] == record["n_points"] == 200
    assert 0 < record["microseconds"]["p50"] <= record["microseconds"]["p99"]
    assert record["disk_bytes"] == sum(path.stat().st_size for path in model_folder.iterdir())
    assert record["precision"]["1"] == model.score(test.X, test.Y)


def test_the_table(run, model_folder, data_folder, truth):
    _, test, result = truth
    lines = run("evaluate", model_folder, data_folder).stdout.splitlines()
    rows = {line.split()[0]: line.split() for line in lines if line}
    assert rows["@1"] == ["@1", "@3", "@5"]
    expected = [f"{100 * lt.metrics.precision_at_k(test.Y, result.labels, k):.2f}" for k in (1, 3, 5)]
    assert rows["P"][2::3] == expected
    margins = [lt.metrics.estimate_at_k(test.Y, result.labels, k)["precision"] for k in (1, 3, 5)]
    assert rows["P"][4::3] == [f"{50 * (found.high - found.low):.1f}" for found in margins]
    assert "weighted" not in rows
    for name in ("recall", "F1", "coverage", "nDCG", "PSP", "expected", "nodes", "classifiers", "us", "size"):
        assert name in rows


def test_weighted_results_are_shown_beside_the_unweighted_ones(run, model_folder, truth, tmp_path):
    _, test, result = truth
    weights = np.random.default_rng(0).integers(1, 50, test.n_points)
    lt.write_xmc(test, tmp_path / "test.txt")
    (tmp_path / "test.weights.txt").write_text("".join(f"{weight}\n" for weight in weights))
    record = json.loads(run("evaluate", model_folder, tmp_path / "test.txt", "--json").stdout)
    for k in (1, 3, 5):
        assert record["precision"][str(k)] == lt.metrics.precision_at_k(test.Y, result.labels, k)
        expected = lt.metrics.recall_at_k(test.Y, result.labels, k, sample_weight=weights)
        assert record["weighted"]["recall"][str(k)] == pytest.approx(expected)
    lines = run("evaluate", model_folder, tmp_path / "test.txt").stdout.splitlines()
    assert any(line.startswith("weighted P (%)") for line in lines)
    assert any("each point counts with its weight" in line for line in lines)


def test_another_beam_and_other_propensities(run, model_folder, data_folder, truth):
    model, test, _ = truth
    options = ("--beam", 1, "--propensity", 0.6, 2.6)
    record = json.loads(run("evaluate", model_folder, data_folder, "--json", *options).stdout)
    labels = model.searcher_.topk(test.X, SearchRequest(5, beam=1)).labels
    propensities = lt.metrics.propensities_of_counts(model.label_counts_, model.n_points_, 0.6, 2.6)
    assert record["beam"] == 1
    assert record["psp"]["5"] == lt.metrics.psp_at_k(test.Y, labels, 5, propensities=propensities)


def test_several_trees_share_their_depths(run, data_folder, tmp_path):
    run("fit", data_folder, "-o", tmp_path / "model", "--n-trees", 2)
    model, test = lt.load(tmp_path / "model"), load_data(str(data_folder), part="test")
    labels = model.searcher_.topk(test.X, SearchRequest(5, beam=model.beam)).labels
    record = json.loads(run("evaluate", tmp_path / "model", data_folder, "--json").stdout)
    depths = [lt.metrics.expected_depth_at_k(tree, labels, 3) for tree in model.trees_]
    assert record["expected_depth"]["3"] == pytest.approx(np.mean(depths))


def test_two_training_points_are_too_few_for_propensities(run, tmp_path):
    lt.write_xmc(lt.Dataset(np.eye(2), np.eye(2)), tmp_path / "train.txt")
    run("fit", tmp_path, "-o", tmp_path / "model")
    result = run("evaluate", tmp_path / "model", tmp_path / "train.txt", "--json")
    assert json.loads(result.stdout)["psp"] == {"1": None, "3": None, "5": None}


@pytest.mark.parametrize(
    ("text", "names", "message"),
    [
        ("1 30 41\n0 0:1\n", None, "41 labels, but the model was trained on 40"),
        ("1 29 40\n0 0:1\n", None, "has 29 features per point, but the model was trained on 30"),
        ("0 30 40\n", None, "no points to measure the model on"),
        ("1 30 40\n0 0:1\n", "other-", "label 0 is named 'other-0' here, but 'name-0' in the model"),
    ],
)
def test_data_of_another_kind_is_refused(run, model_folder, tmp_path, text, names, message):
    (tmp_path / "test.txt").write_text(text)
    if names is not None:
        (tmp_path / "labels.txt").write_text("".join(f"{names}{label}\n" for label in range(40)))
    result = run("-q", "evaluate", model_folder, tmp_path)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""


def test_the_rules_of_predict_are_measured(run, tmp_path, monkeypatch):
    timed = []
    measured = evaluate.single_call_microseconds
    monkeypatch.setattr(
        evaluate, "single_call_microseconds", lambda call, X, **own: timed.append(call) or measured(call, X, **own)
    )
    rng = np.random.default_rng(0)
    items = [f"item {i}" for i in range(12)]
    baskets = [[items[i] for i in rng.permutation(12)[:4]] for _ in range(60)]
    encoder = lt.encoders.ItemEncoder(items)
    X = encoder.transform([basket[:2] for basket in baskets])
    Y = np.array([[item in basket[1:] for item in items] for basket in baskets], float)
    model = lt.LabelTreeClassifier(C=1.0, fanout=3).fit(lt.Dataset(X, Y, label_names=items, encoder=encoder))
    model.save(tmp_path / "shop.model")
    lt.write_xmc(lt.Dataset(X, Y), tmp_path / "test.txt")
    (tmp_path / "labels.txt").write_text("\n".join(items) + "\n")
    (tmp_path / "stock.txt").write_text("\n".join(items[:9]) + "\n")
    (tmp_path / "out.txt").write_text("item 3\n")
    rules = ["--exclude-seen", "--exclude", tmp_path / "out.txt", "--candidates", tmp_path / "stock.txt"]
    arguments = [tmp_path / "shop.model", tmp_path / "test.txt", "--label-names", tmp_path / "labels.txt"]
    result = run("evaluate", *arguments, *rules, "--json")
    assert result.exit_code == 0, result.stderr
    record = json.loads(result.stdout)
    seen = [[*basket[:2], "item 3"] for basket in baskets]
    labels, _ = model.predict_topk(X, 5, exclude=seen, candidates=items[:9])
    ids = np.array([[-1 if label is None else items.index(label) for label in row] for row in labels])
    for row, expected in enumerate(ids):  # the timed calls return the same lists
        assert timed[0](X[[row]].indices, X[[row]].data)[0].tolist() == expected[expected >= 0].tolist()
    for name in ("hit_rate", "recall", "ndcg", "catalogue"):
        metric = getattr(lt.metrics, f"{name}_at_k")
        assert record[name]["5"] == pytest.approx(metric(Y, ids, 5))
    assert record["diversity"]["5"] == pytest.approx(lt.metrics.diversity_at_k(model.tree_, ids, 5))
    assert record["novelty"]["5"] > 0
    assert record["rules"]["exclude_seen"] is True
    predicted = [
        json.loads(line) for line in run("predict", *arguments[:2], *rules, "--format", "jsonl").stdout.splitlines()
    ]
    assert [point["labels"] for point in predicted] == [[label for label in row if label is not None] for row in labels]
    assert "hit rate (%)" in run("evaluate", *arguments, *rules).stdout
    refused = run("evaluate", *arguments[:1], "debian", "--exclude-seen")
    assert refused.exit_code != 0


def test_names_in_the_table_of_labels_do_not_become_formulas(run, tmp_path):
    lt.LabelTreeClassifier(n_jobs=1).fit(["red", "blue"] * 10, [["=1+1"], ["plain"]] * 10).save(tmp_path / "model")
    rows = [{"text": "red", "labels": ["=1+1"]}, {"text": "blue", "labels": ["plain"]}]
    (tmp_path / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run("evaluate", tmp_path / "model", tmp_path / "test.jsonl", "--label-results", tmp_path / "labels.tsv")
    names = [line.split("\t")[0] for line in (tmp_path / "labels.tsv").read_text().splitlines()]
    assert sorted(names) == ["\\=1+1", "label", "plain"]
