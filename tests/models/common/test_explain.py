"""explain: the amounts sum to the log score, and agree with gradients and with weights read from the chunks."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

import labeltrees as lt
from labeltrees.errors import InputError
from labeltrees.models.linear.explain import LogScore, combine, log_score_of, logarithmic_mean, path_of
from labeltrees.storage.unpack import unpack_node

TEXTS = ["red apple pie", "green pear tart", "red wine", "green tea and pear", "apple cider", "old red wine"] * 10
LABELS = [["apple", "food"], ["pear", "food"], ["wine"], ["pear", "tea"], ["apple", "drink"], ["wine", "drink"]] * 10
SETTINGS = [
    {},
    {"loss": "logistic"},
    {"n_trees": 3, "fanout": 2},
    {"evidence": "both", "fanout": 2},
    {"n_trees": 2, "evidence": "both", "loss": "logistic"},
    {"normalize": False, "fanout": 2},
]


def amounts(why):
    return math.fsum(part.amount for part in why.contributions)


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_amounts_sum_to_the_log_score_that_predict_topk_returns(setting):
    model = lt.LabelTreeClassifier(**setting).fit(TEXTS, LABELS)
    for text in ("red apple", "green wine with pear", "tea"):
        labels, scores = model.predict_topk([text], 3)
        why = model.explain(text, k=3)
        assert [own.label for own in why] == labels[0].tolist()
        for own, score in zip(why, scores[0].tolist(), strict=True):
            assert own.score == pytest.approx(score, rel=1e-4)
            assert own.log_score == pytest.approx(math.log(score), abs=1e-4)
            assert amounts(own) == pytest.approx(own.log_score, abs=1e-9)


def test_amounts_are_the_integrals_of_the_gradient():
    """The witness: weights from the chunks, g along t x for t from 0 to 1, and numerical integration."""
    model = lt.LabelTreeClassifier(fanout=2, loss="logistic").fit(TEXTS, LABELS)
    row = sp.csr_array(model.vectorizer_.transform(["green pear wine"]))
    x = row.toarray()[0] / np.linalg.norm(row.toarray())
    steps = (np.arange(20_000) + 0.5) / 20_000
    for label in range(3):
        expected = np.zeros(len(x))
        for node, place in path_of(model.tree_, label):
            own = unpack_node(model.searcher_.stores[0], node)
            weights, bias = own.weights[[place]].toarray()[0], own.bias[place]
            margins = bias + steps * (weights @ x)
            expected += weights * x * np.mean(1 / (1 + np.exp(margins)))  # the slope of log sigmoid
        why = model.explain(row, label)
        found = {part.feature: part.amount for part in why.contributions if part.kind == "feature"}
        assert found == pytest.approx({j: expected[j] for j in found}, abs=1e-5)


def test_margins_of_dense_features():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5)).astype(np.float32)
    model = lt.LabelTreeClassifier(fanout=2).fit(X, [[int(row.argmax())] for row in X])
    why = model.explain(X[0])
    _, scores = model.predict_topk(X[:1], 1)
    assert why.log_score == pytest.approx(math.log(scores[0, 0]), abs=1e-4)
    assert {part.feature for part in why.contributions if part.kind == "feature"} == set(range(5))


def test_words_get_the_amounts_of_all_features_that_contain_them():
    union = [{"ngram_range": (1, 2)}, {"analyzer": "char_wb", "ngram_range": (3, 4)}]
    model = lt.LabelTreeClassifier(vectorizer=lt.TfidfVectorizer(union=union)).fit(TEXTS, LABELS)
    text = "A red-apple pie!"
    why = model.explain(text, "apple")
    assert [text[word.start : word.end] for word in why.words] == ["A", "red", "apple", "pie"]
    features = math.fsum(part.amount for part in why.contributions if part.kind == "feature")
    assert math.fsum(word.amount for word in why.words) == pytest.approx(features, abs=1e-9)
    assert max(why.words, key=lambda word: word.amount).text == "apple"


def test_a_trend_is_a_contribution():
    times = np.arange(60).astype("datetime64[D]")
    model = lt.LabelTreeClassifier(trend=7.0).fit(TEXTS, LABELS, times=times)
    _, scores = model.predict_topk(["red apple"], 1)
    why = model.explain("red apple")
    assert why.log_score == pytest.approx(math.log(scores[0, 0]), abs=1e-4)
    assert [part.amount for part in why.contributions if part.kind == "trend"] != [0.0]


def test_a_point_without_known_words_is_explained_by_the_frequency_of_the_label():
    model = lt.LabelTreeClassifier().fit(TEXTS, LABELS)
    _, scores = model.predict_topk(["xyz"], 1)
    why = model.explain("xyz")
    assert [part.kind for part in why.contributions] == ["base"]
    assert why.score == pytest.approx(float(scores[0, 0]), rel=1e-5)


def test_a_retired_label_is_named_as_retired():
    model = lt.LabelTreeClassifier().fit(TEXTS, LABELS)
    before = model.explain("red apple", "apple")
    assert not before.retired
    assert "retired" not in str(before)
    model.retire(["apple"])
    why = model.explain("red apple", ["apple", "wine"])
    assert [own.retired for own in why] == [own["retired"] for own in why.to_dict()["labels"]] == [True, False]
    assert "retired: no search returns it" in str(why[0])
    assert why[0].contributions == before.contributions


def test_a_calibrated_model_has_probabilities():
    model = lt.LabelTreeClassifier().fit(TEXTS, LABELS).calibrate(TEXTS, LABELS)
    assert 0 <= model.explain("red apple").probability <= 1
    assert "probability" in str(model.explain("red apple"))


def test_the_text_model_leaves_words_out():
    model = lt.TextLabelTreeClassifier(epochs=40, min_count=1, dim=16).fit(TEXTS, LABELS)
    text = "old red wine"
    why = model.explain(text, "wine")
    _, whole = model.predict_topk([text], 1, candidates=["wine"])
    _, without = model.predict_topk(["old red "], 1, candidates=["wine"])
    assert why.words[2].amount == pytest.approx(math.log(whole[0, 0]) - math.log(without[0, 0]), abs=1e-5)
    assert amounts(why) == pytest.approx(why.log_score, abs=1e-9)


def test_several_labels_by_name_or_id():
    model = lt.LabelTreeClassifier().fit(TEXTS, LABELS)
    why = model.explain("red wine", ["wine", 0])
    assert [own.label for own in why] == ["wine", model.label_names_[0]]
    assert why[1].to_dict()["label_id"] == 0


def test_wrong_calls():
    model = lt.LabelTreeClassifier().fit(TEXTS, LABELS)
    with pytest.raises(InputError, match="one that the model knows, got 'bread'"):
        model.explain("red wine", "bread")
    with pytest.raises(InputError, match="label must be"):
        model.explain("red wine", 99)
    with pytest.raises(InputError, match="one point"):
        model.explain(model.vectorizer_.transform(TEXTS[:2]), "wine")


def test_logarithmic_means_split_sums_exactly():
    rng = np.random.default_rng(1)
    for _ in range(50):
        trees = [LogScore(-float(rng.uniform(0, 2000)), rng.normal(size=4) * 3) for _ in range(3)]
        evidence = {"neighbours": float(rng.uniform(0, 1)), "centroids": 0.0}
        base, own, added = combine(trees, 0.5, evidence)
        score = 0.5 * (np.mean([math.exp(tree.total) for tree in trees]) + sum(evidence.values()))
        assert base + own.sum() + sum(added.values()) == pytest.approx(math.log(score), abs=1e-9)
    assert logarithmic_mean(0.0, 1.0) == 0.0
    assert log_score_of("squared_hinge", 3.0, 2.0) == 0.0
