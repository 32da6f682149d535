"""labeltrees baselines."""

import json

import numpy as np
import pytest

import labeltrees as lt
from labeltrees.cli import output
from labeltrees.tuning.data import hold_out

NAMES = ["popularity", "co-occurrence", "neighbours"]


@pytest.fixture
def weighted_file(data_folder, tmp_path):
    """One file of points with weights."""
    train = lt.read_xmc(data_folder / "train.txt.xz")
    lt.write_xmc(train, tmp_path / "train.txt")
    weights = np.random.default_rng(0).integers(1, 9, train.n_points)
    (tmp_path / "train.weights.txt").write_text("".join(f"{weight}\n" for weight in weights))
    return tmp_path / "train.txt"


def test_a_folder_is_measured_on_its_test_part(run, data_folder):
    train, test = (lt.read_xmc(data_folder / name) for name in ("train.txt.xz", "test.txt"))
    found = json.loads(run("baselines", data_folder, "--json").stdout)
    assert (found["n_train"], found["n_points"], found["held_out"]) == (train.n_points, test.n_points, False)
    assert [record["baseline"] for record in found["baselines"]] == NAMES
    labels, _ = lt.baselines.neighbours(train).rank(test.X, 5)
    record = found["baselines"][2]
    assert record["p3"] == lt.metrics.precision_at_k(test.Y, labels, 3)
    assert record["recall5"] == lt.metrics.recall_at_k(test.Y, labels, 5)
    assert record["intervals"]["ndcg5"][0] < record["ndcg5"] < record["intervals"]["ndcg5"][1]


def test_the_table_has_every_metric_with_its_interval(run, data_folder):
    shown = run("baselines", data_folder).stdout
    rows = {line.split()[0]: line for line in shown.splitlines() if line}
    for name in ("P@1", "P@3", "P@5", "recall@5", "F1@5", "nDCG@5", "coverage@5"):
        assert rows[name].count("\N{PLUS-MINUS SIGN}") == 3
    assert "recent popularity: not measured, because the points have no times" in shown
    assert "held out" not in shown


def test_one_file_is_split_and_the_output_says_so(run, data_folder):
    path = data_folder / "train.txt.xz"
    assert (
        f"Measured on 40 points of {path}, held out from training at random (seed 0)." in run("baselines", path).stdout
    )
    data = lt.read_xmc(path)
    rows, held_out = hold_out(data.n_points, 0.2, 0)
    labels, _ = lt.baselines.popularity(data[rows]).rank(data.X[held_out], 1)
    found = json.loads(run("baselines", path, "-k", "1", "--json").stdout)
    assert found["baselines"][0]["p1"] == lt.metrics.precision_at_k(data.Y[held_out], labels, 1)


def test_other_data_or_another_share(run, data_folder):
    found = json.loads(run("baselines", data_folder / "train.txt.xz", "--test-share", "0.5", "--json").stdout)
    assert (found["n_train"], found["n_points"]) == (100, 100)
    options = ("--validation", data_folder / "test.txt", "--json")
    found = json.loads(run("baselines", data_folder / "train.txt.xz", *options).stdout)
    assert (found["n_train"], found["n_points"], found["held_out"]) == (200, 200, False)


def test_weighted_points_and_times(run, weighted_file, tmp_path, monkeypatch):
    monkeypatch.setattr(output, "_WIDTH_WITHOUT_TERMINAL", 80)
    (tmp_path / "times").write_text("".join(f"2024-01-01T{hour // 60:02}:{hour % 60:02}\n" for hour in range(200)))
    shown = run("baselines", weighted_file, "--times", tmp_path / "times").stdout
    assert "weighted P@5" in shown
    heads = [line.split() for line in shown.splitlines() if line.startswith("%")]
    assert heads == [["%", "popularity", "popularity", "co-occurrence", "neighbours"]]  # "recent" is above the second
    assert "\N{HORIZONTAL ELLIPSIS}" not in shown
    assert max(map(len, shown[: shown.index("Measured on")].splitlines()[1:])) <= 80
    numbers = tmp_path / "numbers"
    numbers.write_text("".join(f"{number}\n" for number in range(200)))
    first, second = (
        json.loads(run("baselines", weighted_file, "--times", path, "--json").stdout)["baselines"]
        for path in (tmp_path / "times", numbers)
    )
    assert first == second
    assert "weighted_p1" in first[0]


def test_rules_are_those_of_evaluate(run, data_folder):
    train, test = (lt.read_xmc(data_folder / name) for name in ("train.txt.xz", "test.txt"))
    best = lt.baselines.popularity(train).rank(test.X, 6)[0]
    options = ("--exclude", f"name-{best[0, 0]}")
    found = json.loads(run("baselines", data_folder, *options, "--json").stdout)
    assert found["rules"] == {"exclude": [options[1]]}
    assert found["baselines"][0]["p5"] == lt.metrics.precision_at_k(test.Y, best[:, 1:], 5)
    assert "with the rules: exclude (1)" in run("baselines", data_folder, *options).stdout


def test_points_can_be_limited(run, data_folder):
    assert json.loads(run("baselines", data_folder, "--max-points", "50", "--json").stdout)["n_points"] == 50
    assert "measured on 50 of 200 points" in run("baselines", data_folder, "--max-points", "50").stdout
    assert json.loads(run("baselines", data_folder, "--max-points", "0", "--json").stdout)["n_points"] == 200


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-k", "a"), "is not a list of numbers"),
        (("-k", "0"), "k must be"),
        (("--max-points", "-1"), "must be an integer of at least 0"),
    ],
)
def test_bad_options_exit_with_2(run, data_folder, arguments, message):
    result = run("baselines", data_folder, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_wrong_number_of_times_is_refused(run, data_folder, tmp_path):
    (tmp_path / "times").write_text("1\n2\n")
    result = run("baselines", data_folder, "--times", tmp_path / "times")
    assert "2 times for 200 training points" in result.stderr
