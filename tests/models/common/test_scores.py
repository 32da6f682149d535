"""Probabilities exist after calibration, rise with the score, and match the observed shares."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

import labeltrees as lt
from labeltrees.models.common.scores import Calibration, fit_calibration
from tests.models.twin import make_problem


@pytest.fixture(scope="module")
def calibrated(problem, name_lists):
    model = lt.LabelTreeClassifier(fanout=3, beam=None, k=4).fit(problem[0][:80], name_lists[:80])
    return model.calibrate(problem[0][80:], name_lists[80:])


def test_there_are_no_probabilities_before_calibration(problem):
    model = lt.LabelTreeClassifier().fit(*problem)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(
        lt.errors.InputError, match=r"needs loss=.logistic. without evidence and trend, or calibrate\(X, Y\)"
    ):
        model.predict_proba(problem[0])
    assert model.calibrate(*problem) is model
    assert hasattr(model, "predict_proba")


def test_a_logistic_models_scores_are_probabilities(problem):
    X, Y = problem
    model = lt.LabelTreeClassifier(loss="logistic").fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X).toarray(), model.predict_scores(X).toarray())
    before = model.predict_proba(X).toarray()
    model.calibrate(X, Y)
    assert (model.predict_proba(X).toarray() != before).any()


def test_settings_of_training_count_not_later_ones(problem):
    model = lt.LabelTreeClassifier().fit(*problem).set_params(loss="logistic")
    assert not hasattr(model, "predict_proba")


def test_probabilities_rise_with_the_scores(calibrated, problem):
    scores = calibrated.predict_scores(problem[0], 12)
    probabilities = calibrated.predict_proba(problem[0], 12)
    np.testing.assert_array_equal(scores.indices, probabilities.indices)
    np.testing.assert_array_equal(scores.indptr, probabilities.indptr)
    assert probabilities.dtype == np.float32
    assert probabilities.data.min() >= 0
    assert probabilities.data.max() <= 1
    assert len(np.unique(probabilities.data)) > 3
    assert (np.diff(probabilities.data[np.argsort(scores.data, kind="stable")]) >= 0).all()


def test_the_models_k_is_the_default(calibrated, problem):
    assert set(np.diff(calibrated.predict_proba(problem[0]).indptr)) == {4}


def test_probabilities_are_scikit_learns_isotonic_regression(calibrated, problem, name_lists):
    X, rows = problem[0][80:], name_lists[80:]
    labels, scores = calibrated.predict_topk(X, 10)
    hits = np.array([[name in own for name in found] for found, own in zip(labels, rows, strict=True)])
    isotonic = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(scores.ravel(), hits.ravel())
    queries = problem[0][:80]
    expected = isotonic.predict(calibrated.predict_scores(queries).data)
    np.testing.assert_allclose(calibrated.predict_proba(queries).data, expected, atol=1e-6)


def test_probabilities_are_near_the_truth_on_new_points():
    X, Y = make_problem(5, n=3000, d=60)
    model = lt.LabelTreeClassifier(C=1.0).fit(X[:1000], Y[:1000]).calibrate(X[1000:2000], Y[1000:2000])
    matrix = model.predict_proba(X[2000:], 5)
    hits = Y[2000:].toarray()[matrix.tocoo().coords]
    for low, high in ((0, 0.2), (0.2, 0.8), (0.8, 1.01)):
        inside = (matrix.data >= low) & (matrix.data < high)
        assert abs(matrix.data[inside].mean() - hits[inside].mean()) < 0.1


def test_two_scores_are_distinguished():
    scores = np.repeat([0.25, 0.75], 20)
    hits = np.concatenate([np.arange(20) < 5, np.arange(20) < 15])
    calibration = fit_calibration(scores, hits)
    np.testing.assert_allclose(calibration([0.0, 0.25, 0.5, 0.75, 1.0]), [0.25, 0.25, 0.5, 0.75, 0.75])


@pytest.mark.parametrize("hit", [True, False])
def test_always_right_and_never_right_are_learned(hit):
    calibration = fit_calibration(np.linspace(0, 1, 20), np.full(20, hit))
    assert calibration([0.0, 0.3, 1.0]).tolist() == [float(hit)] * 3


def test_too_few_points_are_refused(model, problem):
    with pytest.raises(lt.errors.InputError, match="at least 10 returned labels to learn from, got 0"):
        model.calibrate(problem[0][:0], problem[1][:0])
    with pytest.raises(lt.errors.InputError, match="at least 10 returned labels to learn from, got 9"):
        fit_calibration(np.ones(9), np.ones(9, dtype=bool))


@pytest.mark.parametrize(
    ("scores", "probabilities", "sound"),
    [
        ([0.1, 0.5], [0.0, 1.0], True),
        ([0.1], [0.5], True),
        ([0.5, 0.1], [0.0, 1.0], False),
        ([0.1, 0.5], [1.0, 0.0], False),
        ([0.1, 0.5], [0.0, 1.1], False),
        ([-0.1, 0.5], [0.0, 1.0], False),
        ([0.1, np.nan], [0.0, 1.0], False),
        ([0.1, 0.5], [np.nan, 1.0], False),
        ([np.nan, np.nan], [0.0, 1.0], False),
        ([0.1, 0.5, 0.6], [0.0, 1.0], False),
        ([], [], False),
        ([[0.1]], [[0.5]], False),
    ],
)
def test_unsound_calibrations_are_recognised(scores, probabilities, sound):
    assert Calibration(np.array(scores, float), np.array(probabilities, float)).is_sound() == sound


@given(st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_native_code_computes_the_same_probabilities_and_finds_the_lowest_score(n, seed):
    rng = np.random.default_rng(seed)
    scores = np.unique(rng.random(n).round(2))  # at equal scores, a jump, rounding would decide
    probabilities = np.sort(rng.random(len(scores)).round(1))
    calibration = Calibration(scores, probabilities)
    asked = np.concatenate([rng.random(40), scores, scores + 1e-6]).astype(np.float32)
    np.testing.assert_array_equal([calibration.native(float(score)) for score in asked], calibration(asked))
    for probability in (0.0, 0.05, *probabilities, *rng.random(5)):
        probability = np.float32(probability)
        lowest = np.float32(calibration.native.lowest_score(float(probability)))
        assert (calibration.native(float(lowest)) >= probability) == (
            probabilities.astype(np.float32).max() >= probability
        )
        if 0 < lowest < 1e30:
            assert calibration.native(float(np.nextafter(lowest, np.float32(0)))) < probability
