"""LabelTreeClassifierCV chooses like `choose`, and behaves like any estimator."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

import labeltrees as lt
from tests.tuning.conftest import make_data

pytestmark = pytest.mark.usefixtures("counted_time")


@pytest.fixture(scope="module")
def data():
    return make_data(800)


def test_the_estimator_chooses_the_same(data):
    search = lt.LabelTreeClassifierCV(tune={"tradeoff": [0, 1, 2], "fanout": [2]}, max_precision_loss=0.05)
    search.fit(data)
    choice = lt.choose(data, max_precision_loss=0.05, tune={"tradeoff": [0, 1, 2], "fanout": [2]})
    assert search.best_params_ == choice.parameters
    assert search.best_score_ == choice.record["p1"]
    before_costs = [explanation.split("It costs")[0] for explanation in (search.explanation_, choice.explanation)]
    assert before_costs[0] == before_costs[1]
    assert search.classes_.tolist() == data.label_names.tolist()
    for ours, theirs in zip(search.predict_topk(data.X, 3), choice.model.predict_topk(data.X, 3), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(search.predict(data.X).toarray(), search.best_estimator_.predict(data.X).toarray())
    assert search.score(data.X, data.Y) == search.best_estimator_.score(data.X, data.Y)
    assert search.predict_scores(data.X, 2).nnz == 1600
    assert search.predictor(2)(data.X[[0]])[0].shape == (2,)
    assert not hasattr(search, "predict_proba")


def test_it_takes_lists_of_names_and_dense_points(data, tmp_path):
    names = [[str(data.label_names[label]) for label in data.Y[[row]].indices] for row in range(data.n_points)]
    search = lt.LabelTreeClassifierCV(
        lt.LabelTreeClassifier(loss="logistic"), {"tradeoff": [0, 1], "fanout": [4]}, max_precision_loss=0.5
    )
    search.fit(data.X.toarray(), names)
    assert isinstance(search.predict_topk(data.X.toarray()[:1], 1)[0][0, 0], str)
    assert search.predict_proba(data.X.toarray()[:2]).shape == (2, 24)
    assert search.n_features_in_ == 40
    search.save(tmp_path / "model")
    assert lt.load(tmp_path / "model").loss == "logistic"


def test_it_is_cloned_and_set_like_any_estimator():
    search = lt.LabelTreeClassifierCV(metric="p3", tune={"tradeoff": [1]})
    assert clone(search).get_params() == search.get_params()
    assert search.set_params(max_latency_us=50).max_latency_us == 50
    nested = lt.LabelTreeClassifierCV(lt.LabelTreeClassifier(C=2)).set_params(estimator__C=3)
    assert nested.estimator.C == 3


def test_it_works_at_the_end_of_a_pipeline(data):
    pipeline = make_pipeline(MaxAbsScaler(), lt.LabelTreeClassifierCV(tune={"tradeoff": [0, 1], "fanout": [4]}))
    pipeline.fit(data.X, data.Y)
    assert pipeline.score(data.X, data.Y) > 0.5


def test_predicting_before_fit_is_an_error(data):
    with pytest.raises(NotFittedError):
        lt.LabelTreeClassifierCV().predict(data.X)


def test_threads_seed_and_progress_are_the_estimators_own_unless_given(data):
    estimator = lt.LabelTreeClassifier(n_jobs=2, random_state=3)
    search = lt.LabelTreeClassifierCV(estimator, {"tradeoff": [1]}, random_state=4).fit(data.X, data.Y)
    assert (search.best_estimator_.n_jobs, search.best_estimator_.random_state) == (2, 4)
    assert estimator.random_state == 3
