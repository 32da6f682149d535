"""Packed label sets: searches among their labels open fewer nodes, and lists equal those of brute force."""

import numpy as np
import pytest
from scipy import sparse

import labeltrees as lt
from labeltrees import _core
from labeltrees.search import Searcher, SearchRequest
from labeltrees.search.queries import LabelBoosts

N_WIDE, N_LABELS, N_FEATURES = 16, 16 * (56 + 8 * 3), 60


def wide_model(twin, seed):
    """A root with 16 nodes of 64 children: 56 labels, and 8 nodes of 3 labels."""
    rng = np.random.default_rng(seed)
    labels = [~int(label) for label in rng.permutation(N_LABELS)]
    rows = [list(range(1, N_WIDE + 1))]
    for wide in range(N_WIDE):
        leaves = list(range(1 + N_WIDE + 8 * wide, 1 + N_WIDE + 8 * (wide + 1)))
        rows.append([(leaves + labels[56 * wide : 56 * (wide + 1)])[i] for i in rng.permutation(64)])
    rest = labels[56 * N_WIDE :]
    rows += [rest[i : i + 3] for i in range(0, len(rest), 3)]
    ptr = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    children = np.concatenate(rows).astype(np.int32)
    W = sparse.csr_array(sparse.random_array((len(children), N_FEATURES), density=0.3, rng=rng, dtype=np.float32))
    W.data = rng.standard_normal(W.nnz).astype(np.float16).astype(np.float32)
    bias = (0.5 * rng.standard_normal(len(children)) - 0.5).astype(np.float32)
    return twin.Model(ptr, children, N_LABELS, W, bias)


def random_queries(seed, n, density=0.2):
    X = sparse.random_array((n, N_FEATURES), density=density, rng=np.random.default_rng(seed), format="csr")
    return sparse.csr_array(X, dtype=np.float32)


def random_labels(n):
    return np.random.default_rng(n).permutation(N_LABELS)[:n]


def assert_same(a, b):
    np.testing.assert_array_equal(a.labels, b.labels)
    assert a.scores.tobytes() == b.scores.tobytes()


@pytest.fixture(scope="module")
def model(twin):
    return wide_model(twin, 0)


@pytest.fixture(scope="module")
def searcher(model):
    return Searcher(model.pack())


# A bound per classifier on all levels up to 400 labels, then bounds of the upper nodes only, later for pairs.
@pytest.mark.parametrize("n", [0, 1, 3, 60, 400, 600, 1000, N_LABELS])
@pytest.mark.parametrize(("loss", "power"), [("squared_hinge", 3.0), ("squared_hinge", 0.7), ("logistic", 0.0)])
def test_lists_equal_brute_force(model, twin, n, loss, power):
    searcher = Searcher(model.pack(), loss=loss, score_power=power or 1.0)
    X, labels = random_queries(1, 12), random_labels(n)
    plain, packed = searcher.label_set(labels), searcher.label_set(labels, packed=True)
    found = searcher.topk(X, SearchRequest(5, candidates=packed))
    assert_same(found, searcher.topk(X, SearchRequest(5, candidates=plain)))
    scores = np.full((12, N_LABELS), -np.inf)
    scores[:, labels] = twin.path_scores(model, X, power)[:, labels]
    best = np.sort(scores, axis=1)[:, ::-1][:, :5]
    np.testing.assert_allclose(found.scores, np.exp(best), rtol=1e-4, atol=1e-30)
    for row in range(12):
        own = found.labels[row][found.labels[row] >= 0]
        assert len(own) == min(5, n)
        np.testing.assert_allclose(scores[row, own], best[row, : len(own)], rtol=1e-4)


@pytest.mark.parametrize("n", [60, 400, 1000])
def test_fewer_nodes_are_opened(searcher, n):
    X, labels = random_queries(2, 40, density=0.05), random_labels(n)  # with few features, bounds of groups are close
    opened = [
        searcher.topk(X, SearchRequest(10, candidates=searcher.label_set(labels, packed=packed)), stats=True)
        for packed in (False, True)
    ]
    assert opened[1].stats.chunks.sum() < opened[0].stats.chunks.sum()


RULES = {
    "exclude": {"exclude": np.arange(0, N_LABELS, 2)},
    "label_weight": {"label_weight": np.random.default_rng(0).choice([0, 0.2, 1, 5], N_LABELS).astype(np.float32)},
    "boosts": {"label_weight": LabelBoosts(np.arange(9, dtype=np.int32), np.full(9, 20, np.float32))},
    "limits": {"limits": (np.arange(N_LABELS) % 7, 1)},
    "threshold": {"threshold": 0.01},
    "diversity": {"diversity": 0.5},
    "n_candidates": {"n_candidates": 30},
    "max_chunks": {"max_chunks": 4},
    "beam": {"beam": 2},
    "paths": {"search": "paths", "beam": 3},
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("n", [60, 400, 1000])
@pytest.mark.parametrize("n_trees", [1, 2])
def test_packing_changes_no_list_under_other_rules(model, twin, rule, n, n_trees):
    searcher = Searcher([model.pack(), wide_model(twin, 1).pack()][:n_trees])
    X, labels = random_queries(3, 10), random_labels(n)
    for retired in ([], random_labels(n)[::3]):
        searcher.set_retired(retired)
        found = [
            searcher.topk(X, SearchRequest(4, **RULES[rule], candidates=searcher.label_set(labels, packed=packed)))
            for packed in (False, True)
        ]
        assert_same(*found)


def test_queries_with_negative_values_and_zeros_have_the_same_lists(searcher):
    X = random_queries(4, 20)
    X.data[::3] *= -1
    X.data[1::5] = 0
    for labels in (random_labels(60), random_labels(1000)):
        found = [
            searcher.topk(X, SearchRequest(4, candidates=searcher.label_set(labels, packed=packed)))
            for packed in (False, True)
        ]
        assert_same(*found)


def test_large_values_have_the_same_lists(model):
    searcher, X = Searcher(model.pack()), 1e6 * random_queries(5, 10)
    for labels in (random_labels(60), random_labels(1000)):
        found = [
            searcher.topk(X, SearchRequest(4, candidates=searcher.label_set(labels, packed=packed)))
            for packed in (False, True)
        ]
        assert_same(*found)


def test_a_large_batch_packs_its_candidates(searcher):
    X, labels = random_queries(6, 600), random_labels(300)
    few, many = searcher.label_set(labels), searcher.label_set(labels)
    rows = [searcher.topk(X[i : i + 100], SearchRequest(3, candidates=few)) for i in range(0, 600, 100)]
    found = searcher.topk(X, SearchRequest(3, candidates=many))
    assert many.nbytes > few.nbytes
    np.testing.assert_array_equal(found.labels, np.concatenate([row.labels for row in rows]))
    assert_same(found, searcher.topk(X, SearchRequest(3, candidates=labels), n_jobs=2))
    answer = searcher.predictor(3)
    for row in range(20):
        assert answer(X[[row]], candidates=many)[0].tolist() == found.labels[row].tolist()


def test_a_set_of_another_model_cannot_be_packed(model, searcher):
    other = Searcher(model.pack())
    with pytest.raises(ValueError, match="another engine"):
        other._engine.pack_set(searcher.label_set([1]))


@pytest.mark.parametrize("kind", ["calibrated", "evidence", "trees", "text"])
def test_packed_sets_work_in_every_kind_of_model(kind):
    rng = np.random.default_rng(0)
    topics = rng.integers(0, 40, 300)
    texts = [f"topic{topic} word{rng.integers(0, 30)} word{rng.integers(0, 30)}" for topic in topics]
    labels = [[f"label {topic}", f"label {topic % 7}"] for topic in topics]
    if kind == "text":
        fitted = lt.TextLabelTreeClassifier(epochs=2, dim=8).fit(texts, labels)
    else:
        fitted = lt.LabelTreeClassifier(n_trees=2 if kind == "trees" else 1).fit(texts, labels)
        if kind == "calibrated":
            fitted.calibrate(texts, labels)
    some = [f"label {topic}" for topic in range(0, 40, 3)]
    lists = [fitted.predict_topk(texts[:20], 3, candidates=fitted.label_set(some, packed=p)) for p in (False, True)]
    for one, other in zip(*lists, strict=True):
        np.testing.assert_array_equal(one, other)
    assert isinstance(fitted.label_set(some, packed=True), _core.LabelSet)
