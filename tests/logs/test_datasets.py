"""A log prepared in parts has the points of one prepared in memory."""

import json

import numpy as np
import polars as pl
import pytest

import labeltrees as lt
from labeltrees.logs import PreparedLogs, datasets, shards
from tests.logs.helpers import prepare

N_EVENTS = 3000


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    rng = np.random.default_rng(0)
    query = rng.integers(0, 150, N_EVENTS)
    words = np.array(["red", "blue", "wool", "silk", "hat", "scarf", "new"])
    texts = [f"{words[q % 7]} {words[q // 7 % 7]} {words[q // 49]}" for q in range(150)]
    frame = pl.DataFrame(
        {
            "context": np.array(texts)[query],
            "basket": rng.integers(0, 500, N_EVENTS),
            "item": (query + rng.integers(0, 20, N_EVENTS)) % 60,
            "weight": rng.integers(1, 4, N_EVENTS).astype(float),
            "time": np.datetime64("2024-01-01", "ms") + rng.integers(0, 10**10, N_EVENTS).astype("timedelta64[ms]"),
            "tags": [[texts[q].split()[0], f"t{q % 9}"] for q in query],
        }
    )
    path = tmp_path_factory.mktemp("log") / "events.parquet"
    frame.write_parquet(path)
    return path


SETTINGS = {
    "words": {},
    "words, weighted": {"point_weights": "events", "test_since": "2024-03-01"},
    "history": {"history_before": "2024-02-15", "test_share": 0.2},
    "basket": {"context": "basket", "features": "basket", "min_item_contexts": 3, "test_share": 0.1},
    "list column": {"context": "basket", "feature_column": "tags", "min_engagement": 0},
    "text column": {"context": "basket", "feature_column": "context", "min_engagement": 0},
    "without test points": {"test_share": 0.0},
}


def assert_same(found, expected):
    for part, whole in zip(found, expected, strict=True):
        assert (part.n_points, part.n_features, part.n_labels) == (whole.n_points, whole.n_features, whole.n_labels)
        for matrix in ("X", "Y"):
            one, two = getattr(part, matrix), getattr(whole, matrix)
            assert one.nnz == two.nnz
            assert (one != two).nnz == 0
        for name in ("label_names", "feature_names", "sample_weight", "times", "groups"):
            np.testing.assert_array_equal(getattr(part, name), getattr(whole, name))
    assert found.summary.to_json() == expected.summary.to_json()
    assert repr(found.encoder) == repr(expected.encoder)


@pytest.mark.parametrize("case", SETTINGS)
def test_parts_have_the_points_of_a_log_in_memory(log, tmp_path, monkeypatch, case):
    expected = prepare(log, **SETTINGS[case])
    monkeypatch.setattr(shards, "MAX_EVENTS_PER_SHARD", 700)
    found = prepare(log, **SETTINGS[case], parts=(tmp_path / "parts", 37))
    assert len(found.train.parts) == -(-found.train.n_points // 37) > 1
    assert_same(found, expected)
    assert_same(PreparedLogs.load(tmp_path / "parts"), expected)
    assert (tmp_path / "parts" / "test.parts").exists() == (expected.test.n_points > 0)


def test_the_model_is_that_of_a_log_in_memory(log, tmp_path):
    settings = SETTINGS["basket"]
    found = prepare(log, **settings, parts=(tmp_path / "parts", 50))
    models = {}
    for name, train in {"parts": found.train, "memory": prepare(log, **settings).train}.items():
        lt.LabelTreeClassifier(C=1.0, fanout=4).fit(train).save(tmp_path / f"{name}.model")
        models[name] = {path.name: path.read_bytes() for path in (tmp_path / f"{name}.model").iterdir()}
    assert models["parts"] == models["memory"]
    names, _ = lt.load(tmp_path / "parts.model").predictor(3, names=True)(["3", 4])
    assert len(names) == 3


def test_commands_take_a_log_in_parts(run, log, tmp_path):
    options = "--context basket --features basket --test-share 0.2 --parts --points-per-part 60".split()
    result = run("logs", "prepare", log, "-o", tmp_path / "data", *options)
    assert result.exit_code == 0, result.output
    assert {path.name for path in (tmp_path / "data").iterdir()} == {"train.parts", "test.parts", "summary.json"}
    assert run("fit", tmp_path / "data", "-o", tmp_path / "model").exit_code == 0
    result = run("evaluate", tmp_path / "model", tmp_path / "data", "--json")
    assert result.exit_code == 0, result.output
    n_test = json.loads((tmp_path / "data" / "summary.json").read_text())["test"]["n_points"]
    assert json.loads(result.stdout)["n_points"] == n_test
    assert len(run("predict", tmp_path / "model", tmp_path / "data").stdout.splitlines()) == n_test
    assert run("baselines", tmp_path / "data").exit_code == 0
    result = run("logs", "prepare", log, "-o", tmp_path / "data", *options[:6])  # replaced by a folder of files
    assert result.exit_code == 0, result.output
    assert (tmp_path / "data" / "train.txt").exists()


def test_an_interrupted_run_leaves_the_old_folder_and_can_continue(log, tmp_path, monkeypatch):
    settings = {**SETTINGS["history"], "work_folder": tmp_path / "work"}
    expected = prepare(log, **settings, parts=(tmp_path / "parts", 40))
    monkeypatch.setattr(shards, "MAX_EVENTS_PER_SHARD", 700)

    def fail(*others):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(datasets.PartsWriter, "_finish", fail)
        with pytest.raises(KeyboardInterrupt):
            prepare(log, **settings, parts=(tmp_path / "parts", 25))
    assert (tmp_path / "work").exists()
    assert_same(PreparedLogs.load(tmp_path / "parts"), expected)
    assert_same(prepare(log, **settings, parts=(tmp_path / "parts", 30)), expected)
    assert [path.name for path in tmp_path.iterdir()] == ["parts"]


def test_the_size_of_parts_needs_parts(run, log, tmp_path):
    with pytest.raises(lt.errors.InputError, match="points_per_part must be an integer of at least 1"):
        prepare(log, parts=(tmp_path / "parts", 0))
    assert (
        "--points-per-part needs --parts"
        in run("logs", "prepare", log, "-o", tmp_path / "x", "--points-per-part", "5").stderr
    )


def test_a_folder_that_is_not_a_prepared_log_is_not_replaced(log, tmp_path):
    (tmp_path / "letters.txt").write_text("dear")
    with pytest.raises(lt.errors.InputError, match="is not a prepared log"):
        prepare(log, parts=tmp_path)
