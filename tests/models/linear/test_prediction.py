"""What a fitted model answers, in every form it is asked for."""

import copy

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import labeltrees as lt
from labeltrees.models.common import scores as score_module
from labeltrees.search import SearchRequest
from tests.models.twin import best, make_problem, same

# ---- the best labels -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 5, 12])
def test_the_best_labels_are_the_best(model, problem, scores, k):
    labels, found = model.predict_topk(problem[0], k)
    assert labels.dtype == np.int64
    assert found.dtype == np.float32
    same((labels, found), best(scores, k))


def test_more_labels_than_there_are_come_padded(model, problem, scores):
    labels, found = model.predict_topk(problem[0], 20)
    same((labels[:, :12], found[:, :12]), best(scores, 12))
    assert (labels[:, 12:] == -1).all()
    assert (found[:, 12:] == 0).all()


@pytest.mark.parametrize("k", [1001, 10**8, 2**31 - 1])
def test_a_huge_k_is_the_number_of_labels(model, problem, scores, k):
    labels, found = model.predict_topk(problem[0], k)
    same((labels, found), best(scores, 12))
    assert labels.shape == (120, 12)


def test_five_are_returned_unless_more_are_asked_for(model, problem):
    assert model.predict_topk(problem[0])[0].shape == (120, 5)


def test_names_come_back_for_ids(named, problem, name_lists):
    labels, scores = named.predict_topk(problem[0], 14)
    ids = named.searcher_.topk(problem[0], 14).labels
    assert labels.dtype == object
    assert (
        named.classes_.tolist() == named.label_names_.tolist() == sorted({name for own in name_lists for name in own})
    )
    assert labels[:, :12].tolist() == named.classes_[ids[:, :12]].tolist()
    assert (labels[:, 12:] == None).all()  # noqa: E711
    assert (scores[:, 12:] == 0).all()


def test_names_and_ids_make_the_same_model(named, model, problem, names):
    X, Y = problem
    order = np.argsort(names)
    by_id = lt.LabelTreeClassifier(fanout=3, beam=None).fit(X, Y[:, order])
    labels, scores = by_id.predict_topk(X)
    same(named.predict_topk(X), (np.array(names, dtype=object)[order][labels], scores))
    assert model.label_names_ is None
    assert model.classes_.tolist() == list(range(12))


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("beam", [2, None])
def test_the_beam_can_be_chosen_with_the_call(model, problem, beam, n_jobs):
    expected = model.searcher_.topk(problem[0], SearchRequest(4, search="best_first", beam=beam))
    same(model.predict_topk(problem[0], 4, n_jobs=n_jobs, beam=beam), (expected.labels, expected.scores))


def test_the_models_own_search_is_the_default(problem):
    model = lt.LabelTreeClassifier(fanout=2, beam=1, search="paths").fit(*problem)
    expected = model.searcher_.topk(problem[0], SearchRequest(5, search="paths", beam=1))
    same(model.predict_topk(problem[0]), (expected.labels, expected.scores))
    assert (model.predict_topk(problem[0])[0] != model.predict_topk(problem[0], beam=None)[0]).any()


def test_the_search_reports_statistics(model, problem):
    *_, stats = model.predict_topk(problem[0], return_stats=True)
    assert (stats.chunks >= 1).all()
    assert (stats.classifiers >= stats.chunks).all()
    assert stats.depth.max() <= model.tree_.height
    assert not stats.partial.any()
    *_, cut = model.predict_topk(problem[0], 12, max_chunks=1, return_stats=True)
    assert cut.partial.all()
    assert (cut.chunks == 1).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k must be"),
        ({"k": 2.0}, "k must be"),
        ({"search": "paths"}, r"model.set_params\(search='paths'\)"),
        ({"beam": 0}, "beam must be"),
        ({"beam": "as fitted?"}, "beam must be"),
        ({"prune": False}, "always skipped"),
        ({"max_chunks": 0}, "max_chunks must be"),
        ({"max_microseconds": 0.5}, "max_microseconds must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"candidates": [12]}, "candidates must hold label ids"),
        ({"exclude": "label"}, "exclude must be"),
        ({"candidates": ["a"]}, "candidates must be label ids"),
        ({"exclude": [[0]]}, "exclude must be"),
    ],
    ids=str,
)
def test_wrong_questions_are_refused(model, problem, options, message):
    with pytest.raises(lt.errors.InputError, match=message):
        model.predict_topk(problem[0], **options)


# ---- matrices --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 3, 12, 100])
def test_scores_come_as_a_matrix(model, problem, scores, k):
    matrix = model.predict_scores(problem[0], k)
    assert isinstance(matrix, sp.csr_array)
    assert matrix.has_canonical_format
    assert matrix.dtype == np.float32
    labels, _ = best(scores, min(k, 12))
    expected = np.zeros_like(scores)
    np.put_along_axis(expected, labels, np.take_along_axis(scores, labels, axis=1), axis=1)
    np.testing.assert_array_equal(matrix.toarray(), expected)


def test_predictions_are_the_k_best(problem, model):
    model = lt.LabelTreeClassifier(fanout=3, beam=None, k=3).fit(*problem)
    predicted = model.predict(problem[0])
    assert predicted.dtype == np.int32
    assert set(predicted.data) == {1}
    expected = np.zeros((120, 12))
    np.put_along_axis(expected, model.predict_topk(problem[0], 3)[0], 1, axis=1)
    np.testing.assert_array_equal(predicted.toarray(), expected)
    np.testing.assert_array_equal(model.predict_scores(problem[0]).toarray() > 0, expected > 0)


@given(threshold=st.floats(1e-6, 1, exclude_min=True))
@settings(max_examples=25)
def test_predictions_above_a_threshold_are_all_there_are(model, problem, scores, threshold):
    strict = copy.copy(model).set_params(threshold=threshold)
    np.testing.assert_array_equal(strict.predict(problem[0]).toarray(), scores >= np.float32(threshold))


@pytest.mark.parametrize("beam", [None, 3])
@pytest.mark.parametrize("threshold", [1e-6, 0.01, 0.3, 1.0])
def test_many_labels_above_a_threshold_are_found_a_few_at_a_time(monkeypatch, threshold, beam):

    X, Y = make_problem(4, n=200, n_labels=90)
    model = lt.LabelTreeClassifier(fanout=4, beam=beam, threshold=threshold, loss=lt.Solver(score_power=1)).fit(X, Y)
    everything = model.predict_scores(X, 90).toarray()
    plain = model.predict(X)
    np.testing.assert_array_equal(plain.toarray(), everything >= np.float32(threshold))
    monkeypatch.setattr(score_module, "_BLOCK_SIZE", 100)
    np.testing.assert_array_equal(model.predict(X).toarray(), plain.toarray())
    if threshold == 1e-6 and beam is None:
        assert plain.sum(axis=1).max() > 64  # more than the first two rounds ask for


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"threshold": 0}, "threshold must be"),
        ({"threshold": "0.5"}, "threshold must be"),
        ({"k": 0}, "k must be"),
        ({"search": "x"}, "search must be"),
        ({"beam": -1}, "beam must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
    ],
    ids=str,
)
def test_parameters_set_after_fitting_are_checked_too(problem, changes, message):
    model = lt.LabelTreeClassifier().fit(*problem).set_params(**changes)
    with pytest.raises(lt.errors.InputError, match=message):
        model.predict(problem[0])


# ---- one query at a time ---------------------------------------------------------------------------------------------


def test_a_predictor_answers_as_the_model(model, named, problem):
    X = problem[0]
    labels, scores = model.predict_topk(X, 3)
    predict = model.predictor(3)
    for row in range(20):
        query = X[[row]]
        for answer in (predict(query.indices, query.data), predict(query), predict(query.toarray()[0])):
            same(answer, (labels[row], scores[row]))
    ids, _ = named.predictor(2)(X[[0]])
    assert named.classes_[ids].tolist() == named.predict_topk(X[[0]], 2)[0][0].tolist()
    labels, scores = model.predict_topk(X[[0]], 3, beam=1)
    found = labels[0] >= 0  # one path may find fewer labels; a predictor leaves the others out
    same(model.predictor(3, beam=1)(X[[0]]), (labels[0][found], scores[0][found]))
    with pytest.raises(lt.errors.InputError, match="search must be"):
        model.predictor(search="x")


# ---- scores against the truth ----------------------------------------------------------------------------------------


def test_score_is_the_precision_of_the_first_label(model, named, problem, name_lists):
    X, Y = problem
    first = model.predict_topk(X, 1)[0][:, 0]
    hits = Y.toarray()[np.arange(120), first] > 0
    assert model.score(X, Y) == pytest.approx(hits.mean())
    assert model.score(X, Y) == pytest.approx(lt.metrics.precision_at_k(Y, model.predict_topk(X, 1)[0], 1))
    weight = np.random.default_rng(0).random(120)
    assert model.score(X, Y, weight) == pytest.approx(np.average(hits, weights=weight))
    assert named.score(X, name_lists) == pytest.approx(
        np.mean([label in own for label, own in zip(named.predict_topk(X, 1)[0][:, 0], name_lists, strict=True)])
    )


def test_labels_a_model_has_not_seen_are_misses(named, problem, name_lists):
    X = problem[0]
    assert named.score(X, [["new"]] * 120) == 0
    half = [own if row % 2 else ["new"] for row, own in enumerate(name_lists)]
    assert 0 < named.score(X, half) <= 0.5


def test_truth_of_another_shape_is_refused(model, problem):
    X, Y = problem
    for method in (model.score, model.calibrate):
        with pytest.raises(lt.errors.InputError, match="Y has 11 columns without names, and the model has 12 labels"):
            method(X, Y[:, :11])
        with pytest.raises(lt.errors.InputError, match="X has 50 points and Y has 120"):
            method(X[:50], Y)
    with pytest.raises(lt.errors.InputError, match="sample_weight"):
        model.score(X, Y, sample_weight=[1.0])
