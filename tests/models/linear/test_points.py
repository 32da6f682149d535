"""A model with a trend gives the lists of a plain model with the trend as weights of labels."""

import json
import pickle

import numpy as np
import pytest

import labeltrees as lt

HALF_LIFE = 60.0


@pytest.fixture(scope="module")
def data():
    train, test = lt.datasets.load_debian()
    dates = np.datetime64("2025-01-01", "us") + np.arange(3000) * np.timedelta64(3, "h")
    return lt.Dataset(train.X[:3000], train.Y[:3000], train.label_names, times=dates), test.X[:200]


@pytest.fixture(scope="module")
def plain(data):
    return lt.LabelTreeClassifier(n_jobs=1).fit(data[0])


@pytest.fixture(scope="module")
def model(data):
    return lt.LabelTreeClassifier(trend=HALF_LIFE, n_jobs=1).fit(data[0])


@pytest.fixture(scope="module")
def weights(data):
    return lt.trend_weights(data[0].Y, data[0].times, HALF_LIFE).astype(np.float32)


def same(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_lists_are_those_of_weights_of_labels(model, plain, data, weights):
    expected = plain.predict_topk(data[1], label_weight=weights)
    same(model.predict_topk(data[1]), expected)
    assert (expected[0] != plain.predict_topk(data[1])[0]).any()
    predict = model.predictor(names=True)
    rows = data[1].tocsr()
    for row in range(20):
        labels, scores = predict(*(getattr(rows[[row]], name) for name in ("indices", "data")))
        assert labels == expected[0][row].tolist()
        np.testing.assert_array_equal(scores, expected[1][row])


def test_given_weights_multiply_the_trend(model, plain, data, weights):
    others = np.random.default_rng(0).random(len(weights)).astype(np.float32)
    expected = plain.predict_topk(data[1], label_weight=others * weights)
    same(model.predict_topk(data[1], label_weight=others), expected)
    same(model.predict_topk(data[1], label_weight=model.label_weights(others)), expected)


def test_evidence_is_learned_without_the_trend(data, weights):
    parameters = {"evidence": "both", "n_jobs": 1}
    expected = lt.LabelTreeClassifier(**parameters).fit(data[0])
    found = lt.LabelTreeClassifier(**parameters, trend=HALF_LIFE).fit(data[0])
    assert found.stats_["evidence"] == expected.stats_["evidence"]
    same(found.predict_topk(data[1]), expected.predict_topk(data[1], label_weight=weights))


def test_agreement_is_exact_with_a_trend(model, data):
    same(model.predict_topk(data[1], agreement=1.0), model.predict_topk(data[1], beam=None))


def test_probabilities_need_a_calibration_which_is_saved(data, tmp_path):
    test = lt.datasets.load_debian()[1]
    model = lt.LabelTreeClassifier(trend=HALF_LIFE, loss="logistic", n_jobs=1).fit(data[0])
    with pytest.raises(lt.errors.InputError, match="without evidence and trend"):
        model.predict_proba(data[1])
    model.searcher_.set_trend(50 * model.trend_)  # so that some scores are above 1
    model.calibrate(test.X[:1000], test.Y[:1000]).save(tmp_path / "model")
    assert model.calibration_.scores[-1] > 1
    loaded = lt.load(tmp_path / "model")
    found, expected = loaded.predict_proba(data[1]), model.predict_proba(data[1])
    np.testing.assert_array_equal(found.data, expected.data)
    assert 0 <= found.data.min() <= found.data.max() <= 1


def test_saved_and_pickled_models_keep_it(model, data, weights, tmp_path):
    model.save(tmp_path / "model")
    expected = model.predict_topk(data[1])
    for other in (lt.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        same(other.predict_topk(data[1]), expected)
        np.testing.assert_array_equal(other.trend_, weights)
        assert other.trend == HALF_LIFE


@pytest.mark.parametrize("wrong", [np.ones(3, np.float32), np.full(9938, np.nan, np.float32), np.full(9938, -1.0)])
def test_a_damaged_trend_is_refused(model, tmp_path, wrong, monkeypatch):
    monkeypatch.setattr(model.searcher_, "trend", wrong)
    model.save(tmp_path / "model")
    with pytest.raises(lt.errors.FileFormatError, match="trend"):
        lt.load(tmp_path / "model")


def test_a_model_without_it_stores_no_array(plain, tmp_path):
    plain.save(tmp_path / "model")
    assert "trend" not in json.loads((tmp_path / "model" / "manifest.json").read_text())["arrays"]
    assert plain.trend_ is None


def test_parts_give_the_same_model(model, data, tmp_path):
    lt.write_parts(data[0], tmp_path / "parts", points_per_part=700)
    parts = lt.open_parts(tmp_path / "parts")
    streamed = lt.LabelTreeClassifier(trend=HALF_LIFE, n_jobs=1).fit(parts, work_folder=tmp_path / "work")
    for number, each in enumerate((model, streamed)):
        each.save(tmp_path / f"model{number}")
    for path in sorted((tmp_path / "model0").iterdir()):
        assert path.read_bytes() == (tmp_path / "model1" / path.name).read_bytes(), path.name


def test_points_without_times_are_refused(data, tmp_path):
    with pytest.raises(lt.errors.InputError, match="trend needs the times of the points"):
        lt.LabelTreeClassifier(trend=7).fit(data[0].X, data[0].Y)
    lt.write_parts(lt.Dataset(data[0].X, data[0].Y), tmp_path / "parts")
    with pytest.raises(lt.errors.InputError, match="trend needs the times of the points"):
        lt.LabelTreeClassifier(trend=7).fit(lt.open_parts(tmp_path / "parts"), work_folder=tmp_path / "work")
    assert not [path for path in (tmp_path / "work").rglob("*") if path.is_file()]  # refused before any work


@pytest.mark.parametrize("trend", [0, -3, "14", np.inf])
def test_a_wrong_half_life_is_refused(data, trend):
    with pytest.raises(lt.errors.InputError, match="trend"):
        lt.LabelTreeClassifier(trend=trend).fit(data[0])
