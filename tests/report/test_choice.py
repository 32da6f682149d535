"""The report of a choice without trees: the metric that was asked for, and one set of points."""

import json
import re

import numpy as np
import pytest

import labeltrees as lt
from labeltrees.report.tables import baseline_rows, decide, describe
from labeltrees.tuning import baseline_table
from tests.tuning.conftest import make_data

pytest.importorskip("altair")


@pytest.fixture(scope="module")
def choice():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(baseline_table, "MAX_POINTS", 100)
        patch.setattr("labeltrees.tuning.choose.MAX_POINTS", 100)
        return lt.choose(
            make_data(1000), metric="ndcg5", tune=["n_trees", "C"], estimator=lt.LabelTreeClassifier(C=0.1)
        )


def test_the_headline_has_the_metric_and_the_changes(choice):
    decision = decide(choice.result)
    assert "nDCG@5" in decision.sentence
    assert decision.columns[1] == "nDCG@5 (%)"
    assert describe(choice.result, choice.result.record(choice.result.chosen)) in decision.sentence


def test_the_chosen_model_and_the_baselines_are_measured_on_the_same_points(choice):
    rows = baseline_rows(choice.result)
    assert choice.result.facts["measured"]["baseline_points"] == 100
    assert "This table is measured on 100 of the 200 validation points." in rows["note"]
    data = make_data(1000)
    order = np.random.default_rng(0).permutation(1000)
    train, validation = data[np.sort(order[200:])], data[np.sort(order[:200])]
    kept = np.sort(np.random.default_rng(0).permutation(200)[:100])
    model = lt.LabelTreeClassifier(**choice.parameters).fit(train.X, train.Y)
    labels, _ = model.predict_topk(validation.X[kept], 5)
    expected = lt.metrics.ndcg_at_k(validation.Y[kept], labels, 5)
    assert rows["rows"][0][1][0] == f"{100 * expected:.2f}"
    assert f"has {100 * expected:.2f} %" in choice.result.comparison


def test_the_page_starts_with_the_metric_that_was_asked_for(choice, tmp_path):
    choice.result.save(tmp_path / "result.json")
    type(choice.result).load(tmp_path / "result.json").report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    data = json.loads(re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', page, re.DOTALL).group(1))
    assert data["metrics"][0]["name"] == "ndcg5"
