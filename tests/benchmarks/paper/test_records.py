"""Records of runs: which are missing, what an interrupted run leaves, and which of them are analysed together."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from benchmarks.paper import records, train
from benchmarks.paper.curves import largest_block
from benchmarks.paper.datasets import parse_name, row_of_largest
from benchmarks.paper.page import BEGIN, END, with_section
from benchmarks.paper.records import READING, Run, runs_of, same_model


def test_equal_trees_are_trained_once():
    runs = list(runs_of("set", [0, 1, 1.5, 2], [0], ["marginal", "greedy", "direct", "direct, greedy"], ["test"]))
    assert len(runs) == 4 + 2 + 3 + 3
    assert len(set(runs)) == len(runs)
    assert same_model(Run("set", "test", "greedy", "direct", 0.0, 1)) == Run(
        "set", "test", "marginal", "weighted", 0.0, 1
    )
    assert same_model(Run("set", "test", "greedy", "weighted", 1.5, 1)).cover == "greedy"


def test_an_interrupted_run_continues(tmp_path, monkeypatch):
    path = tmp_path / "runs.jsonl"
    monkeypatch.setattr(train, "load_set", lambda *_: (None, None))
    trained = []

    def measure(run, *_):
        if len(trained) == 3:
            raise KeyboardInterrupt
        trained.append(run)
        return run._asdict() | {"reading": READING}

    monkeypatch.setattr(train, "measure", measure)
    runs = train.missing_runs(path, ["bibtex"], [0])
    with pytest.raises(KeyboardInterrupt):
        train.train_missing(path, runs, 1)
    with open(path, "a") as file:
        file.write('{"dataset": "bibtex", "par')  # the process was killed while it wrote
    assert train.missing_runs(path, ["bibtex"], [0]) == runs[3:]
    monkeypatch.setattr(train, "measure", lambda run, *_: run._asdict() | {"reading": READING})
    assert train.train_missing(path, runs[3:], 1)
    assert train.missing_runs(path, ["bibtex"], [0]) == []
    assert [train.key_of(record) for record in records.read(path)] == runs


def test_records_of_another_reading_are_trained_again(tmp_path):
    path = tmp_path / "runs.jsonl"
    runs = train.missing_runs(path, ["bibtex"], [0])
    records.write(path, [run._asdict() | {"reading": READING - 1} for run in runs])
    assert train.missing_runs(path, ["bibtex"], [0]) == runs


def test_a_damaged_line_is_an_error(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text('{"a": 1}\n{"b"\n{"c": 3}\n')
    with pytest.raises(SystemExit, match="line 2"):
        records.read(path)


@pytest.mark.parametrize("change", [{"weights": [3, 2]}, {"n_points": 6}, {"data": "b"}])
def test_a_record_of_other_points_does_not_belong(change):
    record = Run("set", "test", "marginal", "weighted", 0.0, 0)._asdict() | {"reading": READING, "n_points": 4}
    record |= {"weights": [2, 2]}
    same = [record, record | {"seed": 1, "data": "a"}, record | {"part": "validation", "weights": [1, 1]}]
    records.check_consistent(same)
    with pytest.raises(SystemExit, match="'seed': 2"):
        records.check_consistent([*same, record | {"seed": 2} | change])


def test_records_of_different_splits_have_different_points():
    record = Run("related items", "test", "marginal", "weighted", 0.0, 0)._asdict() | {
        "reading": READING,
        "n_points": 4,
    }
    records.check_consistent([record | {"split": 0, "data": "a"}, record | {"split": 1, "data": "b"}])
    with pytest.raises(SystemExit, match="related items"):
        records.check_consistent([record | {"split": 0, "data": "a"}, record | {"split": 0, "data": "b"}])


def test_names_of_sets_have_settings_of_the_model():
    assert parse_name("online-retail, weighted") == ("online-retail, weighted", "root", 10)
    assert parse_name("eurlex4k, 2 paths") == ("eurlex4k", "root", 2)
    assert parse_name("eurlex4k, weights per node") == ("eurlex4k", "node", 10)
    run = Run("eurlex4k, 2 paths", "test", "marginal", "weighted", 1.0, 0)
    assert train.model_of(run) == run._replace(dataset="eurlex4k") == train.model_of(run._replace(dataset="eurlex4k"))
    assert train.model_of(run._replace(dataset="eurlex4k, weights per node")) != train.model_of(run)


def test_related_items_are_the_most_frequent_and_frequent_enough():
    counts = sparse.csr_array(np.array([[0, 10, 9, 30, 12, 12, 12, 12, 12], [0] * 8 + [9]]))
    assert row_of_largest(counts, 0).tolist() == [3, 4, 5, 6, 7, 8]
    assert row_of_largest(counts, 1).tolist() == []


@pytest.mark.parametrize(
    ("complete", "block"),
    [
        ({}, ([], [])),
        ({0: {0.0, 1.0, 2.0}, 1: {0.0, 1.0, 2.0}}, ([0.0, 1.0, 2.0], [0, 1])),
        ({0: {0.0, 1.0, 2.0}, 1: {0.0, 1.0, 2.0}, 2: {0.0}}, ([0.0, 1.0, 2.0], [0, 1])),
        ({0: {0.0, 0.5, 1.0, 2.0}, 1: {0.0, 1.0, 2.0}, 2: {0.0, 1.0, 2.0}}, ([0.0, 1.0, 2.0], [0, 1, 2])),
        ({0: set(map(float, range(10))), 1: {0.0, 1.0, 2.0}, 2: {0.0, 1.0, 2.0}}, ([0.0, 1.0, 2.0], [0, 1, 2])),
        ({0: {1.0, 2.0}}, ([], [])),
    ],
)
def test_analysed_runs_form_a_complete_block(complete, block):
    assert largest_block(complete) == block


def test_the_generated_section_replaces_the_old_one():
    page = f"# Title\n\n{BEGIN}\nold\n{END}\n\nafter\n"
    assert with_section(page, "new") == f"# Title\n\n{BEGIN}\n\nnew\n\n{END}\n\nafter\n"
    assert with_section(with_section(page, "x"), "new") == with_section(page, "new")


@pytest.mark.parametrize("page", ["no marks", f"{END}{BEGIN}", f"{BEGIN}{BEGIN}{END}"])
def test_a_page_without_the_marks_is_an_error(page):
    with pytest.raises(SystemExit, match="must have the lines"):
        with_section(page, "new")
