"""Votes, cosines and blended lists equal those of dense arrays; arrays that native code cannot trust are refused."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import labeltrees as lt
from labeltrees.errors import FileFormatError
from labeltrees.models.linear.classifiers import KnownPoints
from labeltrees.models.linear.evidence import make_kinds
from labeltrees.models.linear.settings import LinearSettings
from labeltrees.search import Searcher, SearchRequest
from labeltrees.search.evidence import CENTROID_FEATURES, N_NEIGHBOURS, POINTS_PER_FEATURE, QUERY_FEATURES, Evidence
from labeltrees.search.evidence_arrays import from_short, to_short

N_POINTS, N_FEATURES, N_LABELS = 400, 90, 40


def make_data(seed=0, signs=False):
    """Features in most of the points, so that lists of points, queries and centroids are all cut."""
    rng = np.random.default_rng(seed)
    X = rng.gamma(0.5, size=(N_POINTS, N_FEATURES)) * (rng.random((N_POINTS, N_FEATURES)) < 0.6)
    if signs:
        X *= rng.choice([-1, 1], X.shape)
    Y = rng.random((N_POINTS, N_LABELS)) < 0.1
    return sp.csr_array(X.astype(np.float32)), sp.csr_array(Y.astype(np.float32))


def make_evidence(X, Y, C=1.0, *, kinds=("neighbours", "centroids"), **parameters):
    """Return kinds of evidence of points, as a fit does."""
    model = lt.LabelTreeClassifier(fanout=4, **parameters).fit(X, Y)
    settings = LinearSettings(**{"prune_below": 0, "loss": model.loss})
    return make_kinds(KnownPoints(X, Y, None, None, model, settings, 0), dict.fromkeys(kinds, C))


def unit(rows):
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1)


def strongest(rows, n):
    """Keep the n largest magnitudes of each row of a dense array."""
    kept = np.argsort(-np.abs(rows), axis=1, kind="stable")[:, :n]
    out = np.zeros_like(rows)
    np.put_along_axis(out, kept, np.take_along_axis(rows, kept, axis=1), axis=1)
    return out


def short(values):
    return from_short(to_short(values)).reshape(values.shape)


def dense_votes(X, Y, queries):
    points = short(strongest(unit(X.toarray()).T, POINTS_PER_FEATURE).astype(np.float32)).astype(np.float64)
    rows = unit(queries.toarray().astype(np.float64))
    weights = np.log1p(len(X.toarray()) / (X.toarray() != 0).sum(axis=0))
    similarity = np.where(strongest(rows * weights, QUERY_FEATURES) != 0, rows, 0) @ points
    votes = np.zeros((len(similarity), Y.shape[1]))
    for row, own in enumerate(similarity):
        best = np.argsort(-own, kind="stable")[:N_NEIGHBOURS]
        best = best[own[best] > 0]
        if len(best):
            votes[row] = own[best] @ (Y.toarray()[best] > 0) / own[best].sum()
    return votes


def dense_cosines(X, Y, queries):
    means = lt.pifa(sp.csr_array(unit(X.toarray())), Y).toarray().astype(np.float32)
    centroids = short(strongest(means, CENTROID_FEATURES))
    return np.clip(unit(queries.toarray()) @ centroids.T, 0, 1)


@pytest.mark.parametrize("signs", [False, True])
def test_votes_and_cosines_equal_those_of_dense_arrays(signs):
    X, Y = make_data(0, signs)
    queries = make_data(1, signs)[0][:60]
    evidence = make_evidence(X, Y)
    labels = np.tile(np.arange(N_LABELS), (60, 1))
    votes, cosines = evidence.measure(queries, labels).values()
    np.testing.assert_allclose(votes, dense_votes(X, Y, queries), atol=1e-5)
    np.testing.assert_allclose(cosines, dense_cosines(X, Y, queries), atol=1e-5)
    assert votes.max() > 0.1
    assert cosines.max() > 0.1


@pytest.mark.parametrize("parameters", [{}, {"loss": "logistic"}, {"normalize": False}])
@pytest.mark.parametrize("n_features", [3, N_FEATURES])
def test_classifiers_score_labels_as_a_node_of_the_tree_does(parameters, n_features):
    X, Y = make_data()
    queries = make_data(1, signs=True)[0][:60].toarray()
    queries[:, n_features:] = 0  # few features are looked up in a row, many are multiplied with it
    evidence = make_evidence(X, Y, kinds=("classifiers",), **parameters)
    kind = evidence["classifiers"]
    rows = sp.csr_array(
        (from_short(kind.rows.values), kind.rows.columns, kind.rows.indptr), shape=(N_LABELS, N_FEATURES)
    )
    assert np.diff(kind.rows.indptr).max() > 16 * 3
    margins = (unit(queries) if kind.normalize else queries) @ rows.toarray().T + kind.bias
    logistic = parameters.get("loss") == "logistic"
    expected = -np.logaddexp(0, -margins) if logistic else -(np.maximum(0, 1 - margins) ** 3)
    found = evidence.measure(sp.csr_array(queries), np.tile(np.arange(N_LABELS), (60, 1)))["classifiers"]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_dense_queries_threads_and_padding_change_nothing():
    X, Y = make_data()
    queries = make_data(1)[0][:70]
    evidence = make_evidence(X, Y)
    labels = np.tile(np.arange(8), (70, 1))
    labels[::3, 5:] = -1
    expected = evidence.measure(queries, labels)
    for found in (evidence.measure(queries.toarray(), labels), evidence.measure(queries, labels, n_jobs=2)):
        for name, values in expected.items():
            np.testing.assert_array_equal(found[name], values)
    assert (expected["neighbours"][::3, 5:] == 0).all()


def test_a_query_without_features_has_no_evidence():
    X, Y = make_data()
    evidence = make_evidence(X, Y)
    found = evidence.measure(sp.csr_array((1, N_FEATURES), dtype=np.float32), np.array([[3, 1]]))
    assert not found["neighbours"].any()
    assert not found["centroids"].any()


WEIGHTS = {"neighbours": 0.4, "centroids": 0.2, "classifiers": 0.8}


@pytest.fixture(
    scope="module",
    params=[("neighbours", "centroids"), ("classifiers",), ("neighbours", "centroids", "classifiers")],
    ids="+".join,
)
def searched(request):
    X, Y = make_data()
    model = lt.LabelTreeClassifier(fanout=4, beam=None, loss=lt.Solver(prune_below=0)).fit(X, Y)
    evidence = make_evidence(X, Y, kinds=request.param)
    evidence = evidence.with_weights({name: WEIGHTS[name] for name in request.param})
    evidence = replace(evidence, n_searched=4, n_candidates=12)
    stores = model.searcher_.stores
    return Searcher(stores, normalize=True), Searcher(stores, normalize=True, evidence=evidence), make_data(1)[0][:50]


def test_candidates_are_the_best_of_all_labels_scored_while_searching_for_fewer(searched):
    plain, _, X = searched
    every = plain.topk(X, N_LABELS)
    found = plain.topk(X, SearchRequest(4, n_candidates=12))
    trace = plain.trace(X, 4)
    store = plain.stores[0]
    for row in range(len(found.labels)):
        opened = trace.nodes[trace.ends[row] : trace.ends[row + 1]]
        spans = [slice(store.child_ptr[node], store.child_ptr[node + 1]) for node in opened]
        children = np.concatenate([store.children[span] for span in spans])
        scored = set((~children[children < 0]).tolist())
        expected = [label for label in every.labels[row].tolist() if label in scored][:12]
        assert found.labels[row].tolist() == expected + [-1] * (12 - len(expected))
    np.testing.assert_array_equal(found.labels[:, :4], every.labels[:, :4])


def blend(scores, measured, weights):
    """Blend scores by the definition: a geometric mean with those of classifiers, then a mean with other measures."""
    weights = dict(weights)
    power = weights.pop("classifiers", 0.0)
    logs = power * measured.get("classifiers", 0.0)
    with np.errstate(divide="ignore"):
        product = np.exp((np.log(np.asarray(scores, np.float64)) + logs) / (1 + power))
    return (product + sum(weight * measured[name] for name, weight in weights.items())) / (1 + sum(weights.values()))


def blended(plain, evidence, X, k, **options):
    """Blend the lists of the tree by the definition."""
    request = SearchRequest(max(k, evidence.n_searched), n_candidates=evidence.n_candidates, **options)
    proposed = plain.topk(X, request)
    scores = blend(proposed.scores, evidence.measure(X, proposed.labels), evidence.weights)
    scores[proposed.labels < 0] = -1
    order = np.lexsort((proposed.labels, -scores.astype(np.float32)))[:, :k]
    labels, scores = (np.take_along_axis(array, order, axis=1) for array in (proposed.labels, scores))
    return labels, np.maximum(scores, 0)


@pytest.mark.parametrize("k", [1, 5, 12, 20])
@pytest.mark.parametrize("options", [{}, {"exclude": [3, 7]}, {"candidates": [1, 2, 5, 9, 11]}])
def test_lists_are_the_trees_candidates_in_the_order_of_their_blended_scores(searched, k, options):
    plain, with_evidence, X = searched
    labels, scores = blended(plain, with_evidence.evidence, X, k, **options)
    found = with_evidence.topk(X, SearchRequest(k, **options))
    np.testing.assert_array_equal(found.labels, labels)
    np.testing.assert_allclose(found.scores, scores, atol=1e-6)
    assert (found.scores <= 1).all()


def test_weights_of_labels_multiply_the_blended_scores(searched):
    plain, with_evidence, X = searched
    weights = np.random.default_rng(0).random(N_LABELS).astype(np.float32) * 3
    evidence, request = with_evidence.evidence, {"label_weight": weights}
    proposed = plain.topk(X, SearchRequest(evidence.n_searched, n_candidates=evidence.n_candidates, **request))
    own = weights[proposed.labels]
    scores = own * blend(proposed.scores / own, evidence.measure(X, proposed.labels), evidence.weights)
    expected = np.sort(scores, axis=1)[:, ::-1]
    found = with_evidence.topk(X, SearchRequest(3, **request))
    np.testing.assert_allclose(found.scores, expected[:, :3], rtol=1e-5)


def test_the_predictor_returns_the_lists_of_a_batch(searched):
    _, with_evidence, X = searched
    batch = with_evidence.topk(X, 5)
    predictor = with_evidence.predictor(5)
    for row in range(10):
        query = X[[row]]
        for labels, scores in (predictor(query.indices, query.data), predictor(query.toarray()[0])):
            np.testing.assert_array_equal(labels, batch.labels[row])
            np.testing.assert_array_equal(scores, batch.scores[row])
        excluded = with_evidence.topk(query, SearchRequest(5, exclude=[int(batch.labels[row, 0])]))
        one_less = predictor(query.indices, query.data, exclude=[int(batch.labels[row, 0])])
        np.testing.assert_array_equal(one_less[0], excluded.labels[0])


def test_without_evidence_in_the_request_the_list_is_the_trees(searched):
    plain, with_evidence, X = searched
    expected, found = plain.topk(X, 5), with_evidence.topk(X, SearchRequest(5, evidence=False))
    np.testing.assert_array_equal(found.labels, expected.labels)
    np.testing.assert_array_equal(found.scores, expected.scores)
    assert (with_evidence.topk(X, 5).labels != expected.labels).any()


# Files.


@pytest.fixture(scope="module")
def files():
    X, Y = make_data()
    evidence = make_evidence(X, Y, kinds=("neighbours", "centroids", "classifiers")).with_weights(WEIGHTS)
    return evidence.parameters(), evidence.arrays("e.")


SCORING = {"loss": "squared_hinge", "score_power": 3.0, "normalize": True}


def read(parameters, arrays):
    return Evidence.from_files(parameters, arrays, "e.", N_LABELS, N_FEATURES, "folder", SCORING)


def test_saved_evidence_is_read_back(files):
    found = read(*files)
    assert found.parameters() == files[0]
    for name, array in found.arrays("e.").items():
        np.testing.assert_array_equal(array, files[1][name])
    assert found.nbytes == sum(array.nbytes for array in files[1].values())


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("neighbours", {"weight": -1}),
        ("neighbours", {"weight": float("nan")}),
        ("centroids", {"weight": "much"}),
        ("classifiers", {"weight": True}),
        ("neighbours", {"n_neighbours": 0}),
        ("neighbours", {"n_query_features": 1.5}),
        ("neighbours", {"n_points": N_POINTS + 1}),
        ("neighbours", {"n_points": -1}),
        ("classifiers", {"more": 1}),
        (None, {"n_candidates": 2**40}),
        (None, {"more": 1}),
        (None, {"kinds": {"dreams": {"weight": 1.0}}}),
        (None, {"kinds": []}),
        (None, {"kinds": {"centroids": None}}),
    ],
)
def test_damaged_parameters_are_refused(files, kind, change):
    parameters = {**files[0], **change}
    if kind is not None:
        kinds = files[0]["kinds"]
        parameters = {**files[0], "kinds": {**kinds, kind: {**kinds[kind], **change}}}
    with pytest.raises(FileFormatError, match="evidence is damaged"):
        read(parameters, files[1])


def test_parameters_of_an_earlier_version_are_read(files):
    kinds = files[0]["kinds"]
    old = {**kinds["neighbours"], "n_searched": 5, "n_candidates": 10, "neighbour_weight": 0.3, "centroid_weight": 0.6}
    del old["weight"]
    arrays = {name: array for name, array in files[1].items() if "classifiers" not in name}
    found = read(old, arrays)
    assert (found.weights, found.n_searched) == ({"neighbours": 0.3, "centroids": 0.6}, 5)
    for changes in ({"more": 1}, {"neighbour_weight": -1}, {"n_points": None}):
        with pytest.raises(FileFormatError, match="evidence is damaged"):
            read({**old, **changes}, arrays)


@pytest.mark.parametrize("name", ["postings.indptr", "labels.columns", "centroids.values", "classifiers.bias"])
def test_a_missing_array_is_refused(files, name):
    with pytest.raises(FileFormatError, match=f"e.{name} is missing"):
        read(files[0], {key: array for key, array in files[1].items() if key != f"e.{name}"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("postings.indptr", -1),
        ("postings.indptr", 10**9),
        ("postings.columns", N_POINTS),
        ("postings.columns", -1),
        ("postings.values", 0x7F80),
        ("labels.indptr", 10**9),
        ("labels.columns", N_LABELS),
        ("centroids.columns", N_FEATURES),
        ("centroids.values", 0xFFC0),
        ("classifiers.indptr", -1),
        ("classifiers.columns", N_FEATURES),
        ("classifiers.values", 0x7F80),
        ("classifiers.bias", np.nan),
        ("classifiers.bias", -np.inf),
    ],
)
def test_an_array_with_an_invalid_value_is_refused(files, name, value):
    array = files[1][f"e.{name}"].copy()
    array[3] = np.array(value).astype(array.dtype)
    with pytest.raises(FileFormatError, match="evidence is damaged"):
        read(files[0], {**files[1], f"e.{name}": array})


@pytest.mark.parametrize(
    "name", ["postings.columns", "postings.values", "labels.columns", "centroids.indptr", "classifiers.bias"]
)
def test_an_array_that_is_too_short_or_of_another_type_is_refused(files, name):
    for array in (files[1][f"e.{name}"][:-1], files[1][f"e.{name}"].astype(np.float64)):
        with pytest.raises(FileFormatError, match="evidence is damaged"):
            read(files[0], {**files[1], f"e.{name}": array})
