"""The table of metrics: each entry serves the library, sweeps, choices, reports and the command line."""

import math

import numpy as np
import pytest

import labeltrees as lt
from labeltrees.cli import evaluate as evaluate_command
from labeltrees.metrics import table
from labeltrees.metrics.hits import compare_lists
from labeltrees.metrics.table import METRICS, Metric, check_metric, find_metric, measure_lists, values_of_points
from labeltrees.report.tables import column_title, setting_groups
from labeltrees.search import SearchRequest
from labeltrees.tuning.result import SweepResult
from tests.tuning.conftest import make_data

Y = np.array([[1, 1, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0]])
LABELS = np.array([[0, 2], [3, 2], [0, 3]])


# The whole diff of a new metric: a function of the hits of each point, a function of the library, and an entry.


def hit_rate_of_points(hits):
    return hits.hit.any(axis=1).astype(np.float64)


def hit_rate_at_k(Y_true, labels, k):
    return float(hit_rate_of_points(compare_lists(Y_true, labels, k).hits).mean())


HIT_RATE = Metric("hit", "hit_rate", "hit rate", "hit rate", hit_rate_at_k, of_points=hit_rate_of_points)


@pytest.fixture
def hit_rate(monkeypatch):
    for module in (table, evaluate_command):
        monkeypatch.setattr(module, "METRICS", [*METRICS, HIT_RATE])
    monkeypatch.setattr("labeltrees.report.tables.METRICS", [*METRICS, HIT_RATE])


@pytest.mark.usefixtures("hit_rate")
def test_one_entry_reaches_the_library_sweeps_choices_and_reports(tmp_path):
    assert lt.metrics.estimate_at_k(Y, LABELS, 2)["hit_rate"].value == pytest.approx(2 / 3)
    data = make_data()
    choice = lt.choose(data, metric="hit3", tune={"tradeoff": [0, 1]}, max_precision_loss=0.1)
    assert choice.record["hit3"] >= choice.record["hit1"] == choice.record["p1"]
    assert "hit rate@3" in choice.explanation
    choice.result.save(tmp_path / "result.json")
    loaded = SweepResult.load(tmp_path / "result.json")
    assert ["hit rate", ["hit1", "hit3", "hit5"]] in setting_groups(loaded)[0]["rows"]
    assert column_title("hit5") == "hit rate@5 (%)"
    assert loaded.frontier(y="hit5")


@pytest.mark.usefixtures("hit_rate")
def test_one_entry_reaches_the_command_line():
    data = make_data()
    model = lt.LabelTreeClassifier(C=1.0).fit(data.X, data.Y)
    request = model.complete_request(SearchRequest(5))
    found = evaluate_command.search_all(model, data, request, 1)
    record = evaluate_command.measure(model, data, request, (0.55, 1.5), found)
    assert record["hit_rate"][1] == pytest.approx(hit_rate_at_k(data.Y, found.labels, 1))
    low, high = record["intervals"]["hit_rate"][1]
    assert low < record["hit_rate"][1] < high


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_values_are_those_of_the_function(metric):
    tree, propensities = lt.flat_tree(4), np.array([0.5, 0.25, 1.0, 0.5])
    needed = {"propensities": propensities, "label_counts": np.array([5, 2, 1, 1])}
    measured = measure_lists(Y, LABELS, (1, 2), given={**needed, "trees": [tree]})
    if not metric.measured:
        assert f"{metric.column}1" not in measured.values
        return
    for k in (1, 2):
        extra = {metric.needs: needed[metric.needs]} if metric.needs in needed else {}
        expected = metric.function(tree if metric.needs == "trees" else Y, LABELS, k, **extra)
        assert measured.values[f"{metric.column}{k}"] == pytest.approx(expected)
        if metric.of_points is not None:
            assert values_of_points(measured.hits, f"{metric.column}{k}").mean() == pytest.approx(expected)


def test_weighted_points_give_weighted_columns():
    weights = np.array([1.0, 0.0, 3.0])
    measured = measure_lists(Y, LABELS, (2,), sample_weight=weights)
    assert measured.values["weighted_p2"] == lt.metrics.precision_at_k(Y, LABELS, 2, sample_weight=weights)
    assert measured.by_name((2,), weighted=True)["recall"] == {2: measured.values["weighted_recall2"]}
    assert not any(name.startswith(("weighted_coverage", "weighted_catalogue")) for name in measured.values)


def test_unknown_propensities_give_nan_and_missing_needs_no_column():
    assert math.isnan(measure_lists(Y, LABELS, (1,), given={"propensities": None}).values["psp1"])
    assert "psp1" not in measure_lists(Y, LABELS, (1,)).values


def test_every_metric_is_public_and_named_without_a_digit_at_its_end():
    assert {metric.function.__name__ for metric in METRICS} <= set(lt.metrics.__all__)
    assert not any(metric.column[-1].isdigit() for metric in METRICS)
    assert len({metric.column for metric in METRICS}) == len({metric.name for metric in METRICS}) == len(METRICS)


@pytest.mark.parametrize("column", ["p", "p0", "model_bytes", "weighted_psp1", "top5_p50_us", 3, ""])
def test_other_columns_are_not_metrics(column):
    assert find_metric(column) is None


@pytest.mark.parametrize("column", ["p9", "psp1", "depth1", "coverage1", "weighted_p1", "precision"])
def test_models_are_compared_by_means_over_points_only(column):
    with pytest.raises(
        lt.errors.InputError, match="metric must be p, recall, hit, fscore or ndcg followed by a number"
    ):
        check_metric(column, 5)
