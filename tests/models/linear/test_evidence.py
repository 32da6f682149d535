"""Evidence: what it is made from, how its weights are learned, and what it changes."""

from copy import copy

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import labeltrees as lt
from labeltrees.errors import FileFormatError, InputError
from labeltrees.models.linear.evidence import WEIGHTS, HeldOut, Proposals, propose
from labeltrees.search.evidence_arrays import from_short, strongest_entries
from labeltrees.storage import load_arrays, save_arrays

entries = st.lists(st.lists(st.sampled_from([-2.0, -1.0, -0.5, 0.5, 1.0]), max_size=8), min_size=1, max_size=6)


@given(entries, st.integers(1, 8))
def test_the_largest_magnitudes_of_each_row_are_kept_the_first_of_equal_ones(rows, n_kept):
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    columns = np.concatenate([np.arange(len(row)) * 3 for row in rows])
    found = strongest_entries(indptr, columns, np.concatenate([np.array(row, np.float32) for row in rows]), n_kept)
    for number, row in enumerate(rows):
        kept = sorted(sorted(range(len(row)), key=lambda place: (-abs(row[place]), place))[:n_kept])
        own = slice(found.indptr[number], found.indptr[number + 1])
        assert found.columns[own].tolist() == [3 * place for place in kept]
        assert from_short(found.values[own]).tolist() == [row[place] for place in kept]


def make_problem(n=700, seed=0):
    """Labels of clusters of points, which neighbours know and a classifier with few iterations does not."""
    rng = np.random.default_rng(seed)
    centres = rng.random((60, 50)) * (rng.random((60, 50)) < 0.2)
    cluster = rng.integers(0, 60, n)
    X = centres[cluster] + 0.05 * rng.random((n, 50)) * (rng.random((n, 50)) < 0.3)
    Y = sp.csr_array((np.ones(2 * n), np.stack([cluster % 25, 25 + cluster], 1).ravel(), 2 * np.arange(n + 1)))
    return sp.csr_array(X.astype(np.float32)), sp.csr_array(Y, shape=(n, 85))


def noisy_problem(n=700):
    """Labels that no feature says anything about."""
    rng = np.random.default_rng(1)
    X = sp.random_array((n, 40), density=0.1, rng=rng, dtype=np.float32).tocsr()
    return X, sp.csr_array((rng.random((n, 30)) < 0.07).astype(np.float32))


WEAK = {"C": 1e-4, "n_jobs": 1, "loss": lt.Solver(prune_below=0)}


@pytest.fixture(scope="module")
def problem():
    return make_problem()


@pytest.fixture(scope="module")
def model(problem):
    return lt.LabelTreeClassifier(evidence="auto", **WEAK).fit(*problem)


def without_evidence(model):
    return copy(model).set_params(evidence=None)


def test_evidence_helps_where_neighbours_know_more_than_the_tree(model, problem):
    stats = model.stats_["evidence"]
    assert stats["used"]
    assert 0 < stats["gain_lower"] < stats["gain"]
    assert stats["held_out_points"] == 175
    assert stats["bytes"] == model.searcher_.evidence.nbytes > 0
    assert stats["weights"]
    assert set(stats["weights"].values()) <= set(WEIGHTS)
    X, Y = make_problem(300, seed=0)
    with_it, _ = model.predict_topk(X, 5)
    alone, _ = without_evidence(model).predict_topk(X, 5)
    assert lt.metrics.precision_at_k(Y, with_it, 1) > lt.metrics.precision_at_k(Y, alone, 1)


def test_auto_is_off_where_nothing_is_gained():
    model = lt.LabelTreeClassifier(evidence="auto", n_jobs=1).fit(*noisy_problem())
    stats = model.stats_["evidence"]
    assert not stats["used"]
    assert (stats["bytes"], stats["weights"]) == (0, {})
    assert model.searcher_.evidence is None


@pytest.mark.parametrize("kinds", ["neighbours", "centroids", "classifiers", "neighbours+classifiers"])
def test_only_the_kinds_asked_for_are_made(problem, kinds):
    model = lt.LabelTreeClassifier(evidence=kinds, **WEAK).fit(*problem)
    assert set(model.stats_["evidence"]["weights"]) <= set(kinds.split("+"))
    assert {kind.NAME for kind in model.searcher_.evidence.kinds} == set(model.stats_["evidence"]["weights"])


def test_too_few_points_turn_auto_off_and_give_the_others_a_usual_weight():
    X, Y = make_problem(190)
    assert lt.LabelTreeClassifier(evidence="auto", **WEAK).fit(X, Y).searcher_.evidence is None
    stats = lt.LabelTreeClassifier(evidence="both", **WEAK).fit(X, Y).stats_["evidence"]
    assert stats["weights"] == {"neighbours": 0.1, "centroids": 0.1}


def test_the_number_of_threads_and_a_second_fit_change_nothing(model, problem):
    other = lt.LabelTreeClassifier(evidence="auto", **{**WEAK, "n_jobs": 2}).fit(*problem)
    for name, array in model.searcher_.evidence.arrays().items():
        np.testing.assert_array_equal(other.searcher_.evidence.arrays()[name], array)
    assert other.searcher_.evidence.parameters() == model.searcher_.evidence.parameters()


@pytest.mark.parametrize("changes", [{"n_trees": 2}, {"loss": "logistic"}, {"class_weight": {0: 2.0}}, {"beam": None}])
@pytest.mark.parametrize("kinds", ["both", "classifiers"])
def test_it_works_with_other_options_of_the_model(problem, changes, kinds):
    model = lt.LabelTreeClassifier(evidence=kinds, **{**WEAK, **changes}).fit(*problem)
    labels, scores = model.predict_topk(problem[0][:20], 5)
    assert ((scores >= 0) & (scores <= 1)).all()
    assert (np.diff(scores, axis=1) <= 0).all()
    row = problem[0][[0]]
    np.testing.assert_array_equal(model.predictor(5)(row.indices, row.data)[0], labels[0])


def test_texts_names_sample_weights_and_dense_points_work(problem):
    X, Y = problem
    names = [f"label {i}" for i in range(85)]
    name_lists = [[names[label] for label in Y[[row]].indices] for row in range(X.shape[0])]
    weights = np.linspace(1, 2, X.shape[0])
    model = lt.LabelTreeClassifier(evidence="both", **WEAK).fit(X.toarray(), name_lists, weights)
    assert model.predict_topk(X.toarray()[:3], 2)[0][0, 0] in names
    texts = [" ".join(f"w{column}" for column in X[[row]].indices) for row in range(X.shape[0])]
    fitted = lt.LabelTreeClassifier(evidence="neighbours", **WEAK).fit(texts, Y)
    assert len(fitted.predictor(3)(texts[0])[0]) == 3


def test_agreement_is_about_the_list_of_the_tree(model, problem):
    model = lt.LabelTreeClassifier(evidence="both", **WEAK).fit(*problem).calibrate(*make_problem(3000, seed=0))
    assert model.early_stop_.k.tolist() == [5, 10]
    X = make_problem(500, seed=0)[0]
    exact, _ = without_evidence(model).predict_topk(X, 10, agreement=1.0)
    found, _ = without_evidence(model).predict_topk(X, 10, agreement=0.9)
    assert (exact == found).all(axis=1).mean() >= 0.9
    early, _ = model.predict_topk(X, 3, agreement=0.9)
    row = X[[0]]
    np.testing.assert_array_equal(model.predictor(3, agreement=0.9)(row.indices, row.data)[0], early[0])


def test_probabilities_need_calibration_of_the_blended_scores(problem):
    model = lt.LabelTreeClassifier(evidence="both", **{**WEAK, "loss": lt.Solver("logistic", prune_below=0)}).fit(
        *problem
    )
    with pytest.raises(InputError, match="calibrate"):
        model.predict_proba(problem[0])
    proba = model.calibrate(*make_problem(400, seed=0)).predict_proba(problem[0][:50], 5)
    assert 0 <= proba.data.min() <= proba.data.max() <= 1


# Files.


def test_a_saved_model_has_the_same_evidence(model, problem, tmp_path):
    model.save(tmp_path / "model")
    loaded = lt.load(tmp_path / "model", verify=True)
    for a, b in zip(model.predict_topk(problem[0], 7), loaded.predict_topk(problem[0], 7), strict=True):
        np.testing.assert_array_equal(a, b)
    assert loaded.evidence == "auto"
    assert loaded.stats_["evidence"] == model.stats_["evidence"]


@pytest.mark.parametrize("name", ["postings.columns", "labels.columns", "labels.indptr", "centroids.columns"])
def test_a_model_with_damaged_evidence_is_refused(problem, tmp_path, name):
    model = lt.LabelTreeClassifier(evidence="both", **WEAK).fit(*make_problem(190))
    model.save(tmp_path / "model")

    def damage(parameters, arrays):
        arrays[f"evidence.{name}"] = np.full_like(arrays[f"evidence.{name}"], 10**9)

    change_manifest(tmp_path / "model", damage)
    with pytest.raises(FileFormatError, match="evidence is damaged"):
        lt.load(tmp_path / "model")


def change_manifest(folder, change):
    loaded = load_arrays(folder)
    parameters, arrays = loaded.manifest.parameters, {name: array.copy() for name, array in loaded.arrays.items()}
    change(parameters, arrays)
    save_arrays(folder, loaded.manifest.kind, parameters, arrays)


# Weights.


def make_proposals(shares, n=300, seed=0):
    """Return random measures that know the hits by these shares."""
    rng = np.random.default_rng(seed)
    hits = rng.random((n, 8)) < 0.3
    scores, *measured = ((rng.random((n, 8)) + share * hits).astype(np.float32) for share in (0.2, *shares.values()))
    return Proposals(scores, dict(zip(shares, measured, strict=True)), hits, np.ones((n, 1)))


def test_the_best_weights_are_those_of_a_search_over_all_pairs():
    proposals = make_proposals({"neighbours": 0.4, "centroids": 0.0})
    pairs = [{"neighbours": a, "centroids": b} for a in WEIGHTS for b in WEIGHTS]
    best = max(float(proposals.quality(pair).mean()) for pair in pairs)
    found = proposals.best_weights(["neighbours", "centroids"])
    assert proposals.quality(found).mean() >= best - 0.005
    assert found["neighbours"] > found["centroids"]
    assert proposals.best_weights([]) == {}
    assert set(proposals.best_weights(["centroids"])) == {"centroids"}


def test_kinds_that_gain_nothing_beyond_luck_are_left_out():
    proposals = make_proposals({"neighbours": 0.0, "centroids": 0.5, "classifiers": 0.0}, n=2000)
    assert proposals.useful(proposals.measured) == ("centroids",)
    assert set(make_proposals({"neighbours": 0.4, "centroids": 0.4}, n=2000).useful(["neighbours", "centroids"])) == {
        "neighbours",
        "centroids",
    }


def test_quality_is_the_mean_precision_at_1_3_and_5():
    hits = np.array([[True, False, True, False, False, True]])
    scores = np.array([[0.6, 0.5, 0.4, 0.3, 0.2, 0.1]], np.float32)
    expected = (1 + 2 / 3 + 2 / 5) / 3
    assert Proposals(scores, {}, hits, np.ones((1, 1))).quality({}) == pytest.approx([expected])
    assert Proposals(scores, {}, hits, np.full((1, 1), 2.0)).quality({}) == pytest.approx([2 * expected])


def test_the_mean_quality_is_weighted_by_points(model, problem):
    X, Y = problem
    each = propose(model, model.searcher_.evidence, HeldOut(X, Y)).quality({"neighbours": 0.4})
    weights = np.random.default_rng(0).random(len(each))
    weighted = propose(model, model.searcher_.evidence, HeldOut(X, Y, weights)).quality({"neighbours": 0.4})
    assert weighted.mean() == pytest.approx(np.average(each, weights=weights))


def test_quality_is_that_of_the_lists_that_searches_return(problem):
    X, Y = problem
    model = lt.LabelTreeClassifier(evidence="neighbours+classifiers", **WEAK).fit(X, Y)
    evidence = model.searcher_.evidence
    proposals = propose(model, evidence, HeldOut(X, Y))
    labels, _ = model.predict_topk(X, 5)
    expected = np.mean([lt.metrics.precision_at_k(Y, labels, k) for k in (1, 3, 5)])
    assert proposals.quality(evidence.weights).mean() == pytest.approx(expected, abs=2e-3)
