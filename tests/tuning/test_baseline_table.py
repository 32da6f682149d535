"""Baselines beside the models of a sweep, and how far a model is above them in words."""

import numpy as np
import pytest

import labeltrees as lt
from labeltrees.metrics.hits import Hits
from labeltrees.metrics.table import values_of_points
from labeltrees.tuning import baseline_table
from labeltrees.tuning.baseline_table import BaselineTable, measure_baselines
from labeltrees.tuning.data import TuningData, as_tuning_data
from labeltrees.tuning.result import SweepResult
from tests.tuning.conftest import make_data

NAMES = ["popularity", "co-occurrence", "neighbours"]


def tuning_data(dataset):
    return as_tuning_data(dataset, "train", lt.LabelTreeClassifier())


def test_the_baselines_are_those_of_the_public_functions(train, validation):
    table = measure_baselines(tuning_data(train), tuning_data(validation), (1, 3))
    assert [record["baseline"] for record in table.records] == NAMES
    makers = (lt.baselines.popularity, lt.baselines.co_occurrence, lt.baselines.neighbours)
    for record, make in zip(table.records, makers, strict=True):
        labels, _ = make(train).rank(validation.X, 3)
        for k in (1, 3):
            assert record[f"p{k}"] == lt.metrics.precision_at_k(validation.Y, labels, k)
            assert record[f"recall{k}"] == lt.metrics.recall_at_k(validation.Y, labels, k)
            assert record[f"coverage{k}"] == lt.metrics.coverage_at_k(validation.Y, labels, k)
            low, high = record["intervals"][f"p{k}"]
            assert low < record[f"p{k}"] < high
        assert values_of_points(table.hits[record["baseline"]], "p3").mean() == pytest.approx(record["p3"])
        assert "weighted_p1" not in record


def test_every_sweep_and_choice_has_them(result, train):
    assert [record["baseline"] for record in result.baselines] == NAMES
    assert result.facts["measured"]["baseline_points"] == 120
    choice = lt.choose(train, max_precision_loss=0.5, tune={"tradeoff": [0, 1]})
    assert [record["baseline"] for record in choice.result.baselines] == NAMES
    assert choice.result.comparison.startswith("The best baseline is ")


def test_weighted_points_give_weighted_values(train):
    data = make_data(80, seed=2)
    weights = np.random.default_rng(0).random(80)
    weighted = tuning_data(lt.Dataset(data.X, data.Y, sample_weight=weights))
    record = measure_baselines(tuning_data(train), weighted, (1,)).records[2]
    labels, _ = lt.baselines.neighbours(train).rank(data.X, 1)
    assert record["weighted_p1"] == lt.metrics.precision_at_k(data.Y, labels, 1, sample_weight=weights)
    assert "weighted_p1" in record["intervals"]


def test_a_sweep_on_weighted_points_has_weighted_columns(train, tmp_path):
    data = make_data(80, seed=2)
    weights = np.random.default_rng(0).random(80)
    validation = lt.Dataset(data.X, data.Y, sample_weight=weights)
    found = lt.sweep(train, validation, tradeoffs=[1], k=(1,), folder=tmp_path / "sweep")
    record = found.table[0]
    labels, _ = lt.load(tmp_path / "sweep" / "models" / record["setting"]).predict_topk(data.X, 1)
    assert record["weighted_p1"] == lt.metrics.precision_at_k(data.Y, labels, 1, sample_weight=weights)
    assert record["p1"] == lt.metrics.precision_at_k(data.Y, labels, 1)
    found.save(tmp_path / "result.json")
    assert SweepResult.load(tmp_path / "result.json").table == found.table


def test_the_number_of_points_is_bounded(train, validation, monkeypatch):
    monkeypatch.setattr(baseline_table, "MIN_POINTS", 10)
    monkeypatch.setattr(baseline_table, "_MAX_COMPARISONS", 300 * 50)
    table = measure_baselines(tuning_data(train), tuning_data(validation), (1,))
    assert len(table.rows) == 50
    assert len(measure_baselines(tuning_data(train), tuning_data(validation), (1,), max_points=None).rows) == 120
    expected = lt.metrics.precision_at_k(
        validation.Y[table.rows], lt.baselines.popularity(train).rank(validation.X[table.rows])[0], 1
    )
    assert table.records[0]["p1"] == expected


def test_times_add_the_popularity_of_the_last_period(train, validation):
    data = tuning_data(train)
    timed = TuningData(data.points, data.Y, times=np.arange(data.n_points))
    table = measure_baselines(timed, tuning_data(validation), (1,))
    assert [record["baseline"] for record in table.records] == ["popularity", "recent popularity", *NAMES[1:]]
    labels, _ = lt.baselines.recent_popularity(train, np.arange(300)).rank(validation.X, 1)
    assert table.records[1]["p1"] == lt.metrics.precision_at_k(validation.Y, labels, 1)


def test_texts_are_compared_by_their_words():
    texts = np.array(["red cat", "red dog", "blue bird", "blue fish"] * 5, dtype=object)
    data = TuningData(texts, lt.Dataset(np.zeros((20, 0)), np.tile(np.eye(4), (5, 1))).Y, texts=texts)
    table = measure_baselines(data, data, (1,))
    assert [record["baseline"] for record in table.records] == NAMES
    assert table.records[2]["p1"] == 1.0


def test_texts_without_words_have_popularity_only():
    texts = np.array(["!", "?"], dtype=object)
    data = TuningData(texts, lt.Dataset(np.zeros((2, 0)), np.eye(2)).Y, texts=texts)
    assert [record["baseline"] for record in measure_baselines(data, data, (1,)).records] == ["popularity"]


def hits_of(found):
    return Hits(np.array(found, dtype=bool)[:, None], np.ones(len(found), dtype=np.int64), 1)


def words(model, rows=None, sample="", **baselines):
    """The words about a model and some baselines, from one hit or miss per point."""
    rows = np.arange(len(model)) if rows is None else rows
    table = BaselineTable([], rows, {name: hits_of(found) for name, found in baselines.items()})
    return table.compare(hits_of(model), "p1", "The chosen model", sample)


def test_a_better_model_is_above_the_best_baseline():
    text = words([1] * 80 + [0] * 20, popularity=[1] * 10 + [0] * 90, neighbours=[1] * 50 + [0] * 50)
    assert text.startswith(
        "The best baseline is neighbours (labels of the 50 most similar training points), with P@1 50.00 %."
    )
    assert "The chosen model is 30.00 percentage points above it (95 % confidence interval +20." in text


def test_a_worse_model_does_not_beat_the_baseline():
    text = words([1] * 20 + [0] * 80, popularity=[1] * 50 + [0] * 50)
    assert "The chosen model does not beat it: it is 30.00 percentage points below it" in text
    assert "use the baseline" in text


def test_a_loss_of_a_model_trained_on_a_sample_gives_no_advice():
    sample = "It was trained on 10 of the 90 points for this, the baseline on all of them."
    for model in ([1] * 20 + [0] * 80, [1] * 50 + [0] * 50):
        text = words(model, sample=sample, popularity=[1] * 50 + [0] * 50)
        assert text.endswith(sample)
        assert "use the baseline" not in text
    assert sample not in words([1] * 100, sample=sample, popularity=[1] * 50 + [0] * 50)


@pytest.mark.parametrize(("model", "direction"), [([1, 1, 1, 0], "above"), ([0, 0, 1, 0], "below")])
def test_a_small_difference_is_within_the_noise(model, direction):
    text = words(model, popularity=[1, 0, 1, 0])
    assert f"does not clearly beat it: it is 25.00 percentage points {direction} it, which is within the noise" in text


def test_equal_answers_do_not_beat_the_baseline():
    assert "does not clearly beat it: it is 0.00 percentage points above it" in words([1, 0], popularity=[1, 0])


def test_a_model_is_compared_on_the_points_of_the_baselines():
    text = words([0] * 90 + [1] * 10, rows=np.arange(90, 100), popularity=[0, 1] * 5)
    assert "P@1 50.00 % on 10 of the 100 validation points" in text
    assert "The chosen model is 50.00 percentage points above it" in text
