"""Queries without any known feature get the most frequent labels, and a flag."""

import numpy as np
import pytest
import scipy.sparse as sp

import labeltrees as lt

TEXTS = ["red apple", "red wine", "green apple", "green tea", "red car"] * 4
LABELS = [["fruit"], ["drink"], ["fruit"], ["drink"], ["thing", "fruit"]] * 4
SHARES = {"fruit": 0.6, "drink": 0.4, "thing": 0.2}


@pytest.fixture(params=["linear", "several trees", "text"])
def model(request):
    if request.param == "text":
        return lt.TextLabelTreeClassifier(dim=4, epochs=1, min_count=1).fit(TEXTS, LABELS)
    n_trees = 2 if request.param == "several trees" else 1
    return lt.LabelTreeClassifier(n_trees=n_trees, vectorizer=lt.TfidfVectorizer()).fit(TEXTS, LABELS)


def test_unknown_words_get_the_prior_and_a_flag(model):
    labels, scores, stats = model.predict_topk(["red apple", "zzz qqq"], 5, return_stats=True)
    assert stats.no_features.tolist() == [False, True]
    assert labels[1].tolist() == [*SHARES, None, None]
    np.testing.assert_allclose(scores[1], [*SHARES.values(), 0, 0], rtol=1e-6)
    predictor = model.predictor(2, names=True)
    names, values = predictor("zzz")
    predictor("red apple")
    assert names == ["fruit", "drink"]
    np.testing.assert_allclose(values, [0.6, 0.4], rtol=1e-6)
    assert predictor.n_no_features == 1


def test_the_prior_respects_restrictions_and_weights(model):
    only, _ = model.predict_topk(["zzz"], 1, candidates=["drink", "thing"])
    without, _ = model.predict_topk(["zzz"], 1, exclude=["fruit"])
    weighted, scores = model.predict_topk(["zzz"], 2, label_weight={"thing": 10, "fruit": 0})
    assert only[0, 0] == without[0, 0] == "drink"
    assert weighted[0].tolist() == ["thing", "drink"]
    np.testing.assert_allclose(scores[0], [2.0, 0.4], rtol=1e-5)


def test_a_saved_model_and_a_pickled_one_have_the_same_prior(model, tmp_path):
    import pickle

    model.save(tmp_path / "model")
    expected = model.predict_topk(["zzz"], 3)[0].tolist()
    for other in (lt.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert other.predict_topk(["zzz"], 3)[0].tolist() == expected


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_rows_of_zeros_have_no_features(form):
    X = np.eye(4)[[0, 1, 2, 3, 0]]
    model = lt.LabelTreeClassifier().fit(form(X), [[0], [1], [2], [0, 3], [0]])
    _, scores, stats = model.predict_topk(form(np.array([[0.0] * 4, X[0]])), 1, return_stats=True)
    assert stats.no_features.tolist() == [True, False]
    assert scores[0, 0] == pytest.approx(0.6)
