"""The four commands about models, one after the other, on the bundled set."""

import functools
import json

import pytest

from labeltrees import datasets

pytestmark = pytest.mark.smoke


def test_fit_predict_evaluate_inspect(run, tmp_path, monkeypatch):
    load_debian = functools.cache(datasets.load_debian)  # reading it takes longer than all the rest
    monkeypatch.setattr(datasets, "load_debian", load_debian)
    model = tmp_path / "debian.model"
    fitted = json.loads(run("fit", "debian", "-o", model, "--json").stdout)
    _, test = load_debian()
    assert fitted["n_labels"] == test.n_labels
    answers = run("predict", model, "debian", "-k", 1, "--format", "jsonl").stdout.splitlines()
    assert len(answers) == test.n_points
    labels = {name: label for label, name in enumerate(test.label_names)}
    hits = [test.Y[point, labels[json.loads(line)["labels"][0]]] for point, line in enumerate(answers)]
    measured = json.loads(run("evaluate", model, "debian", "--json").stdout)
    assert measured["precision"]["1"] == sum(hits) / len(hits)
    assert measured["precision"]["1"] > 0.75
    way = json.loads(run("inspect", model, "--label", "python3-numpy", "--json").stdout)
    first = [feature["name"] for feature in way["trees"][0]["path"][0]["features"]]
    assert {"python", "python3"} & set(first)
