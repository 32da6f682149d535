"""labeltrees calibrate, and --agreement of the commands that search."""

import json
import shutil

import pytest

import labeltrees as lt
from labeltrees.cli.data_argument import load_data


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
    assert model.calibration_ is None
    test = load_data(str(data_folder), part="test")
    alone = lt.load(copied).calibrate(test.X, k=(1, 5))
    assert alone.early_stop_.discounts.tobytes() == model.early_stop_.discounts.tobytes()


def test_another_folder_probabilities_and_a_table(run, model_folder, data_folder, tmp_path):
    result = run("calibrate", model_folder, data_folder, "--probabilities", "-o", tmp_path / "new")
    assert result.exit_code == 0
    model = lt.load(tmp_path / "new")
    assert model.calibration_ is not None
    assert model.n_jobs == lt.load(model_folder).n_jobs
    assert lt.load(model_folder).early_stop_ is None
    lines = result.stdout.splitlines()
    assert lines[0].endswith(f"checked on 134 points of {data_folder}")
    assert len(lines) == 3 + 4 * 4
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


def test_what_cannot_be_done_is_refused(run, copied, data_folder, tmp_path):
    refused = run("predict", copied, data_folder, "--agreement", 0.9)
    assert refused.exit_code == 2
    assert "run labeltrees calibrate MODEL DATA on points that the model has not seen" in refused.stderr
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
    fitted = run("fit-text", tmp_path / "train.txt", "-o", tmp_path / "model", "--dim", 8, "--epochs", 3, *options)
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
