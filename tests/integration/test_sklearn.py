"""LabelTreeClassifier among scikit-learn's tools, and scikit-learn's own checks of an estimator."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

import labeltrees as lt

CSR = "predict returns CSR for sets of labels, as N x L does not fit dense"
KEYWORD = "the labels are called Y, as in the papers; the check passes y by keyword"
ABOUT = "C='auto' and float32: a point of weight 2 and a point given twice have scores that are only about the same"
FAILING = {
    "check_classifier_multioutput": CSR,
    "check_supervised_y_2d": CSR,
    "check_classifiers_multilabel_output_format_predict": CSR,
    "check_classifiers_multilabel_representation_invariance": CSR,
    "check_n_features_in_after_fitting": KEYWORD,
    "check_sample_weight_equivalence_on_dense_data": ABOUT,
    "check_sample_weight_equivalence_on_sparse_data": ABOUT,
}


@parametrize_with_checks([lt.LabelTreeClassifier()], expected_failed_checks=lambda estimator: FAILING)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


class WithLowerCaseY(lt.LabelTreeClassifier):
    """The same with the names the checks use."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y, sample_weight)

    def score(self, X, y, sample_weight=None):
        return super().score(X, y, sample_weight)


@pytest.mark.parametrize("check", [name for name, reason in FAILING.items() if reason is KEYWORD])
def test_checks_that_fail_for_a_name_pass_with_another(check):
    getattr(estimator_checks, check)("WithLowerCaseY", WithLowerCaseY())


# ---- parameters ------------------------------------------------------------------------------------------------------


def test_making_an_estimator_only_stores(problem):
    values = {name: object() for name in lt.LabelTreeClassifier().get_params()}
    model = lt.LabelTreeClassifier(**values)
    assert all(getattr(model, name) is value for name, value in values.items())
    assert model.get_params() == values


def test_parameters_can_be_read_and_set():
    model = lt.LabelTreeClassifier(tradeoff=0.5)
    assert model.get_params()["tradeoff"] == 0.5
    assert model.set_params(fanout=64, beam=None) is model
    assert (model.fanout, model.beam) == (64, None)
    with pytest.raises(ValueError, match="Invalid parameter 'fan_out'"):
        model.set_params(fan_out=3)


def test_clones_have_the_parameters_and_nothing_learned(problem):
    tree = lt.random_tree(12)
    model = lt.LabelTreeClassifier(tree=tree, C=2.0, class_weight=np.ones(12)).fit(*problem)
    again = clone(model)
    assert not hasattr(again, "searcher_")
    assert again.C == 2.0
    assert again.tree == tree
    np.testing.assert_array_equal(again.fit(*problem).predict_topk(problem[0])[1], model.predict_topk(problem[0])[1])


def test_presets_are_clonable_and_take_changes():
    model = clone(lt.LabelTreeClassifier.parabel(C=3.0, beam=20))
    assert (model.C, model.beam, model.fanout) == (3.0, 20, 2)
    assert clone(lt.LabelTreeClassifier.one_vs_all(k=2)).tree == "flat"


def test_printed_commands_can_be_run():
    assert repr(lt.LabelTreeClassifier(tradeoff=0.5, tree="flat")) == "LabelTreeClassifier(tradeoff=0.5, tree='flat')"


def test_it_is_a_multilabel_classifier():
    assert is_classifier(lt.LabelTreeClassifier())
    tags = lt.LabelTreeClassifier().__sklearn_tags__()
    assert tags.classifier_tags.multi_label
    assert tags.target_tags.multi_output
    assert tags.target_tags.single_output
    assert tags.input_tags.sparse


def test_every_parameter_is_described():
    described = inspect.getdoc(lt.LabelTreeClassifier).split("Attributes\n")[0]
    for name in lt.LabelTreeClassifier().get_params():
        assert name in described, name


# ---- tools -----------------------------------------------------------------------------------------------------------

ANIMALS, COLOURS = ["ant", "bee", "cat", "dog"], ["red", "green", "blue"]


@pytest.fixture(scope="module")
def texts():
    rng = np.random.default_rng(0)
    chosen = [(str(rng.choice(ANIMALS)), str(rng.choice(COLOURS))) for _ in range(90)]
    return [f"a {colour} {animal} and a word {rng.integers(9)}" for animal, colour in chosen], [list(c) for c in chosen]


@pytest.mark.parametrize("vectorizer", [TfidfVectorizer(), TfidfVectorizer(dtype=np.float32, sublinear_tf=True)])
def test_texts_go_through_a_pipeline(texts, vectorizer):
    documents, labels = texts
    pipeline = make_pipeline(vectorizer, lt.LabelTreeClassifier(k=2)).fit(documents[:60], labels[:60])
    assert pipeline.score(documents[60:], labels[60:]) == 1.0
    predicted = pipeline.predict(["the blue dog", "one red ant"])
    names = pipeline[-1].classes_
    assert [set(names[row.indices]) for row in (predicted[[0]], predicted[[1]])] == [{"blue", "dog"}, {"red", "ant"}]
    found, _ = pipeline[-1].predict_topk(pipeline[:-1].transform(["a green bee"]), 2)
    assert set(found[0]) == {"green", "bee"}


def test_a_pipeline_passes_point_weights_on(texts):
    documents, labels = texts
    weight = np.where(["red" in row for row in labels], 0.0, 1.0)
    pipeline = make_pipeline(TfidfVectorizer(), lt.LabelTreeClassifier())
    pipeline.fit(documents, labels, labeltreeclassifier__sample_weight=weight)
    model = pipeline[-1]
    assert model.classes_[model.tree_.unplaced_labels].tolist() == ["red"]


def test_parameters_are_searched(problem):
    X, Y = problem
    search = GridSearchCV(lt.LabelTreeClassifier(), {"C": [1e-6, 1.0], "fanout": [2, 8]}, cv=3, error_score="raise")
    search.fit(X, Y)
    assert search.best_params_["C"] == 1.0
    assert search.best_estimator_.predict(X).shape == Y.shape
    assert search.cv_results_["mean_test_score"].max() == search.best_score_ > 0.5


@pytest.mark.parametrize("scoring", ["f1_samples", "accuracy", None])
def test_models_are_cross_validated_with_scikit_learns_metrics(problem, scoring):
    X, Y = problem
    model = lt.LabelTreeClassifier(threshold=0.3)
    found = cross_val_score(model, X, Y.toarray().astype(int), cv=3, scoring=scoring, error_score="raise")
    assert found.mean() > 0.2


def test_predictions_are_what_scikit_learns_metrics_take(problem, model):
    X, Y = problem
    assert f1_score(Y, model.predict(X), average="micro") == pytest.approx(
        2 * (model.predict(X).multiply(Y)).sum() / (model.predict(X).sum() + Y.sum())
    )


def test_point_weights_can_be_routed(problem):
    from sklearn import config_context

    X, Y = problem
    weight = np.random.default_rng(0).random(120)
    with config_context(enable_metadata_routing=True):
        model = lt.LabelTreeClassifier().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(model, {"C": [1.0]}, cv=3, error_score="raise").fit(X, Y, sample_weight=weight)
    expected = lt.LabelTreeClassifier(C=1.0).fit(X, Y, weight)
    np.testing.assert_array_equal(search.predict(X).toarray(), expected.predict(X).toarray())


def test_a_real_set_is_learned_far_better_than_by_frequency():
    train, test = lt.datasets.load_debian()
    model = lt.LabelTreeClassifier().fit(train.X[:4000], train.Y[:4000])
    most_frequent = int(np.argmax(train.Y[:4000].sum(axis=0)))
    baseline = test.Y[:, [most_frequent]].sum() / test.n_points
    assert model.score(test.X, test.Y) > baseline + 0.15
