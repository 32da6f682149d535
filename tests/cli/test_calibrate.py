"""labeltrees calibrate, and --agreement of the commands that search."""

import json
import shutil

import pytest

import labeltrees as lt
from labeltrees.data.read_data import load_data
from tests.cli.conftest import sets


@pytest.fixture
def copied(model_folder, tmp_path):
    return shutil.copytree(model_folder, tmp_path / "model")


def test_the_model_is_calibrated_in_place(run, copied, data_folder):
    result = run("calibrate", copied, data_folder, "--k", "5,1", "--json")
    record = json.loads(result.stdout)
    model = lt.load(copied, verify=True)
    assert record["n_checked"] == model.early_stop_.n_checked == 134
    assert model.early_stop_.k.tolist() == [1, 5]
    assert [entry["k"] for entry in record["promises"]] == [1] * 4 + [5] * 4
    for entry in record["promises"]:
        assert entry["unchanged"] >= entry["agreement"]
        assert 0 < entry["chunks"] <= 1
    assert model.calibration_ is not None
    test = load_data(str(data_folder), part="test")
    alone = lt.load(copied).calibrate(test.X, k=(1, 5))
    assert alone.early_stop_.discounts.tobytes() == model.early_stop_.discounts.tobytes()


def test_another_folder_probabilities_and_a_table(run, model_folder, data_folder, tmp_path):
    result = run("calibrate", model_folder, data_folder, "--no-probabilities", "-o", tmp_path / "new")
    assert result.exit_code == 0
    model = lt.load(tmp_path / "new")
    assert model.calibration_ is None
    assert model.n_jobs == lt.load(model_folder).n_jobs
    assert lt.load(model_folder).early_stop_ is None
    lines = result.stdout.splitlines()
    assert lines[0].endswith(f"checked on 134 points of {data_folder}")
    assert len(lines) == 3 + 4 * 4 + 2
    assert f"labeltrees predict {tmp_path / 'new'} DATA --agreement 0.99" in lines[-1]
    assert lines[2].split()[:2] == ["k", "agreement"]


def test_searches_with_agreement(run, copied, data_folder, tmp_path):
    run("calibrate", copied, data_folder, "--k", "5")
    model, test = lt.load(copied), load_data(str(data_folder), part="test")
    labels, _, stats = model.predict_topk(test.X, 5, agreement=0.6, return_stats=True)
    record = json.loads(run("evaluate", copied, data_folder, "--agreement", 0.6, "--json").stdout)
    assert record["agreement"] == 0.6
    assert record["chunks"] == stats.chunks.mean()
    assert "agreement 0.6" in run("evaluate", copied, data_folder, "--agreement", 0.6).stdout
    lines = run("predict", copied, data_folder, "-k", 3, "--agreement", 0.6).stdout.splitlines()
    assert [line.split("\t")[::2] for line in lines] == labels[:, :3].tolist()
    allowed = tmp_path / "allowed.txt"
    allowed.write_text("name-1\n")
    lines = run("predict", copied, data_folder, "--agreement", 0.6, "--candidates", allowed).stdout.splitlines()
    assert {line.split("\t")[0] for line in lines} == {"name-1"}
    assert "k must be at most 5" in run("predict", copied, data_folder, "-k", 6, "--agreement", 0.6).stderr


def test_impossible_requests_are_refused(run, copied, data_folder, tmp_path):
    refused = run("predict", copied, data_folder, "--agreement", 0.9)
    assert refused.exit_code == 2
    assert f"run labeltrees calibrate {copied} DATA on points that the model has not seen" in refused.stderr
    assert "not a list of whole numbers" in run("calibrate", copied, data_folder, "--k", "1;5").stderr
    assert "k must be" in run("calibrate", copied, data_folder, "--k", "0").stderr
    occupied = tmp_path / "notes"
    occupied.mkdir()
    (occupied / "a.txt").write_text("mine")
    assert "not a saved model" in run("calibrate", copied, data_folder, "-o", occupied).stderr
    assert lt.load(copied).early_stop_ is None


def test_text_models_too(run, tmp_path):
    lines = [f"__label__l{i % 20} w{i % 20} n{i * 7 % 31} n{i * 5 % 17}" for i in range(600)]
    (tmp_path / "train.txt").write_text("\n".join(lines[:300]) + "\n")
    (tmp_path / "test.txt").write_text("\n".join(lines[300:]) + "\n")
    options = ("--data-format", "fasttext")
    fitted = run(
        "fit", "--model", "text", tmp_path / "train.txt", "-o", tmp_path / "model", *sets(dim=8, epochs=3), *options
    )
    assert fitted.exit_code == 0, fitted.stderr
    result = run("calibrate", tmp_path / "model", tmp_path / "test.txt", "--k", "1,3", "--json", *options)
    assert json.loads(result.stdout)["n_checked"] == 200
    record = json.loads(
        run("evaluate", tmp_path / "model", tmp_path / "test.txt", "--agreement", 0.9, "--json", *options).stdout
        or "{}"
    )
    assert record == {}  # 5 labels are asked for, 3 were learned
    answers = run("predict", tmp_path / "model", tmp_path / "test.txt", "-k", 2, "--agreement", 0.9, *options)
    assert len(answers.stdout.splitlines()) == 300


def test_probabilities_are_learned_and_their_reliability_is_checked(run, copied, data_folder, tmp_path):
    shown = run("calibrate", copied, data_folder)
    assert "probabilities, checked on 2,000 returned labels of 200 points" in shown.stdout
    assert f"labeltrees predict {copied} DATA --threshold" in shown.stdout
    assert "best F1" in shown.stdout
    record = json.loads(run("calibrate", copied, data_folder, "--json").stdout)["probabilities"]
    assert sum(row["n_labels"] for row in record["probabilities"]["bins"]) == record["n_labels"] == 2000
    assert record["probabilities"]["error"] < record["scores"]["error"]
    model, test = lt.load(copied), load_data(str(data_folder), part="test")
    alone = lt.load(copied).calibrate(test.X, test.Y)
    assert alone.calibration_.probabilities.tobytes() == model.calibration_.probabilities.tobytes()


def test_the_picture_of_the_reliability(run, copied, data_folder, tmp_path):
    pytest.importorskip("altair")
    assert run("calibrate", copied, data_folder, "--plot", tmp_path / "picture.svg").exit_code == 0
    assert "Reliability of the probabilities" in (tmp_path / "picture.svg").read_text()
    assert "must end in one of .png" in run("calibrate", copied, data_folder, "--plot", "picture.doc").stderr


def test_points_without_labels_calibrate_early_stopping_only(run, copied, tmp_path):
    (tmp_path / "test.txt").write_text("30 30 40\n" + "".join(f" {i}:1\n" for i in range(30)))
    refused = run("calibrate", copied, tmp_path / "test.txt")
    assert refused.exit_code == 2
    assert "--no-probabilities" in refused.stderr
    assert run("calibrate", copied, tmp_path / "test.txt", "--no-probabilities").exit_code == 0


def test_predict_prints_probabilities_and_leaves_out_labels_below_the_threshold(run, copied, data_folder):
    refused = run("predict", copied, data_folder, "--proba")
    assert refused.exit_code == 2
    assert f"run labeltrees calibrate {copied} DATA" in refused.stderr
    run("calibrate", copied, data_folder)
    model, test = lt.load(copied), load_data(str(data_folder), part="test")
    expected = model.predict_proba(test.X, k=5).toarray()
    lines = run("predict", copied, data_folder, "--proba", "--threshold", 0.2, "--format", "jsonl").stdout.splitlines()
    for row, line in enumerate(lines):
        answer = json.loads(line)
        found = {int(name.removeprefix("name-")): p for name, p in zip(answer["labels"], answer["scores"], strict=True)}
        assert found == pytest.approx({i: p for i, p in enumerate(expected[row]) if p >= 0.2}, rel=1e-4)
    assert len(lines) == 200
    raw = run("predict", copied, data_folder, "--threshold", 0.2).stdout.splitlines()
    scores = model.predict_scores(test.X, 5)
    assert [len(line.split("\t")) // 2 for line in raw] == (scores.toarray() >= 0.2).sum(axis=1).tolist()


def test_evaluate_measures_sets_and_reliability(run, copied, data_folder):
    run("calibrate", copied, data_folder)
    options = ("--proba", "--threshold", 0.3, "--jobs", 1)
    record = json.loads(run("evaluate", copied, data_folder, *options, "--json").stdout)
    model, test = lt.load(copied), load_data(str(data_folder), part="test")
    predicted, true = model.predict_proba(test.X, k=40).toarray() >= 0.3, test.Y.toarray() > 0
    hits = (predicted & true).sum()
    assert record["sets"]["precision"] == pytest.approx(hits / predicted.sum())
    assert record["sets"]["recall"] == pytest.approx(hits / true.sum())
    assert record["sets"]["labels_per_point"] == pytest.approx(predicted.sum() / 200)
    assert record["sets"]["without_labels"] == pytest.approx((predicted.sum(axis=1) == 0).mean())
    assert sum(row["n_labels"] for row in record["reliability"]["bins"]) == 5 * 200
    shown = run("evaluate", copied, data_folder, *options).stdout
    assert "Sets of all labels with a probability of at least 0.3" in shown
    assert "mean error of a probability" in shown
    assert "--threshold must be a number in [0, 1]" in run("evaluate", copied, data_folder, "--threshold", 2).stderr
    assert json.loads(run("evaluate", copied, data_folder, "--threshold", 0, "--json").stdout)["sets"] is None


def test_probabilities_that_are_only_scores_are_named_so(run, data_folder, tmp_path):
    run("fit", data_folder, "-o", tmp_path / "m", "--loss", "logistic")
    result = run("predict", tmp_path / "m", data_folder, "--proba")
    assert result.exit_code == 0
    assert "not calibrated" in result.stderr
    assert f"labeltrees calibrate {tmp_path / 'm'} DATA" in result.stderr
