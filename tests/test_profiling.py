"""What searches are said to do: against the model's weights, node by node, and plain Python searches."""

import heapq
import json

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import labeltrees as lt
from labeltrees.models.text.searcher import Texts
from labeltrees.profiling import (
    OpenedNodes,
    ancestors_of,
    count_linear,
    count_text,
    mark_needed,
    measure_work,
    single_call_microseconds,
)
from labeltrees.search import Searcher, SearchRequest
from labeltrees.storage.unpack import _HEADER, unpack_node
from tests.models.text.test_searcher import WORDS, random_searcher
from tests.models.twin import make_problem
from tests.strategies import binary_trees


def test_each_point_of_a_sample_is_predicted_twice():
    X = sp.random_array((120, 30), density=0.3, format="csr", rng=np.random.default_rng(0))
    calls = []
    times = single_call_microseconds(
        lambda features, values: calls.append((features.tolist(), values.tolist())), X, max_points=50
    )
    assert len(times) == 50
    assert calls[:50] == calls[50:]
    rows = [(row.indices.tolist(), row.data.tolist()) for row in (X[[number]] for number in range(120))]
    assert all(call in rows for call in calls)


def test_only_the_second_call_of_a_point_is_timed():
    ticks = iter(range(0, 10**6, 500))
    times = single_call_microseconds(lambda row: None, np.eye(3), clock=lambda: next(ticks))
    assert times.tolist() == [0.5] * 3
    assert next(ticks) == 6 * 500


# Counts of linear models.


def count(searcher, X, k, **how):
    return count_linear(searcher, X, SearchRequest(k, **how))


def visited(visits, query):
    own = slice(visits.ends[query], visits.ends[query + 1])
    return visits.nodes[own], visits.scores[own]


def headers(store, node):
    """The headers of a node's parts."""
    offset = int(store.offsets[node])
    while True:
        header = store.chunks[offset : offset + 64].view(_HEADER)[0]
        yield header
        if not header["more"]:
            return
        offset += 64 * int(header["lines"])


@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.sampled_from([None, 1, 3]), st.sampled_from([4, 40]))
@settings(max_examples=40, deadline=None)
def test_counts_are_those_of_the_nodes_traced(twin, seed, k, beam, most_children):
    model = twin.random_model(seed, n_labels=60, most_children=most_children)
    store = model.pack()
    searcher = Searcher(store)
    X = twin.random_queries(seed, 4, model.n_features)
    counts, visits = count(searcher, X, k, beam=beam)
    trace = searcher.trace(X, SearchRequest(k, beam=beam))
    np.testing.assert_array_equal(visits.ends, trace.ends)
    np.testing.assert_array_equal(visits.nodes, trace.nodes)
    np.testing.assert_allclose(visits.scores, np.exp(trace.scores.astype(float)))
    weights = {node: unpack_node(store, node).weights for node in range(model.n_nodes)}
    for query in range(4):
        features = X[[query]].indices
        nodes = visited(visits, query)[0].tolist()
        rows = [np.diff(weights[node].tocsc().indptr)[features] for node in nodes]
        n_levels = sum(int(h["n_levels"]) for node in nodes for h in headers(store, node) if h["n_rows"] > 0)
        each = {name: own[query] for name, own in counts.items()}
        assert each["nonzeros"] == len(features)
        assert each["visits"] == len(nodes)
        assert each["children"] == sum(weights[node].shape[0] for node in nodes)
        assert each["lookups"] == len(features) * n_levels
        assert each["hits"] == sum(np.count_nonzero(row) for row in rows)
        assert each["path_visits"] == 0
        if most_children == 4:  # one mask per row: each row is one vector
            assert each["vectors"] == each["hits"]
            assert each["weights"] == 0
        total = sum(row.sum() for row in rows)
        assert each["weights"] <= total <= each["weights"] + 16 * each["vectors"]


@pytest.mark.parametrize(("k", "beam"), [(1, None), (4, None), (4, 2)])
def test_heap_steps_are_those_of_a_plain_best_first_search(twin, k, beam):
    model = twin.random_model(3, n_labels=80, values=None)
    X = twin.random_queries(3, 20, model.n_features, values=None)
    counts, visits = count(Searcher(model.pack()), X, k, beam=beam)
    edge = model.edge_scores(X)
    for query in range(20):
        nodes, scores = visited(visits, query)
        found, steps = [], len(nodes) - 1  # all but the root were taken from the open nodes
        for node, score in zip(nodes.tolist(), np.log(scores), strict=True):
            own = range(model.child_ptr[node], model.child_ptr[node + 1])
            for at in own:
                worth = score + edge[query, at]
                if model.children[at] < 0 and (len(found) < k or worth >= found[-1]):
                    found = sorted([*found, worth], reverse=True)[:k]
                    steps += 1
            below = [score + edge[query, at] for at in own if model.children[at] >= 0]
            steps += bool(below) and (len(found) < k or max(below) >= found[-1])
        assert counts["heap_steps"][query] == steps


def test_an_ensemble_counts_the_paths_in_other_trees_too(twin):
    models = [twin.random_model(seed, n_labels=40) for seed in (0, 1, 2)]
    searcher = Searcher([model.pack() for model in models])
    X = twin.random_queries(0, 12, models[0].n_features)
    counts, visits = count(searcher, X, 3)
    stats = searcher.topk(X, 3, stats=True).stats
    np.testing.assert_array_equal(counts["visits"], stats.chunks)
    np.testing.assert_array_equal(counts["children"], stats.classifiers)
    assert visits.on_path.any()
    np.testing.assert_array_equal(counts["path_visits"], np.bincount(visits.queries[visits.on_path], minlength=12))
    for tree, model in enumerate(models):
        alone = count(Searcher(model.pack()), X, 3)[1]
        np.testing.assert_array_equal(visits.nodes[(visits.trees == tree) & ~visits.on_path], alone.nodes)
    edge = [model.edge_scores(X) for model in models]
    for query, tree, node, depth, score in zip(
        visits.queries, visits.trees, visits.nodes, visits.depths, visits.scores, strict=True
    ):
        expected, steps, at = 0.0, 0, int(node)
        while at > 0:
            place, at = models[tree].parent_edge[at]
            expected, steps = expected + edge[tree][query, place], steps + 1
        assert depth == steps
        np.testing.assert_allclose(score, np.exp(expected), rtol=1e-4, atol=1e-7)


def test_dense_rows_are_counted_like_sparse_ones(twin):
    model = twin.random_model(5)
    X = twin.random_queries(5, 6, model.n_features)
    searcher = Searcher(model.pack())
    sparse, dense = (count(searcher, points, 3)[0] for points in (X, X.toarray()))
    for name, own in sparse.items():
        np.testing.assert_array_equal(own, dense[name])


# Counts of text models.


SOME_TEXTS = Texts([" ".join(WORDS[:3]), " ".join(WORDS[4:9]), WORDS[-1], "unknown", ""])


def evaluated(searcher, text, k):
    """The nodes evaluated, in order, with their scores."""
    store, tree = searcher.store, searcher.store.tree
    rows, n = searcher.features(text)
    if n == 0:
        return []
    hidden = store.input[rows].astype(np.float64).sum(axis=0) / n
    slack = (1 + 1e-5) ** tree.height * (1 + 1e-6)
    waiting, found, nodes = [(-1.0, 0)], [], []
    while waiting:
        score, node = heapq.heappop(waiting)
        if len(found) == k and -score * slack < found[0]:
            return nodes
        group = tree.children[tree.child_ptr[node] : tree.child_ptr[node + 1]].tolist()
        second = 1 / (1 + np.exp(-(hidden @ store.output[node].astype(np.float64))))
        shares = [1.0] if len(group) == 1 else [1 - second + 1e-5, second + 1e-5]
        if len(group) == 2:
            nodes.append((node, -score))
        for child, share in zip(group, shares, strict=True):
            if child >= 0:
                heapq.heappush(waiting, (score * share, child))
            else:
                heapq.heappush(found, -score * share)
                found = sorted(found)[-k:]
    return nodes


@given(binary_trees(), st.integers(0, 100), st.sampled_from([0.3, 1.0]), st.integers(1, 4))
@settings(max_examples=60, deadline=None, derandomize=True)  # scores nearly equal may come in another order
def test_the_nodes_are_those_of_a_plain_best_first_search(tree, seed, scale, k):
    searcher = random_searcher(tree, seed, scale)
    counts, visits = count_text(searcher, SOME_TEXTS, SearchRequest(k))
    stats = searcher.topk(SOME_TEXTS, k, stats=True).stats
    np.testing.assert_array_equal(counts["visits"], stats.chunks)
    np.testing.assert_array_equal(visits.depths, tree.node_depth[visits.nodes])
    for query, text in enumerate(SOME_TEXTS.items):
        own = slice(visits.ends[query], visits.ends[query + 1])
        expected = evaluated(searcher, text, k)
        np.testing.assert_allclose(visits.scores[own], [score for _, score in expected], rtol=1e-3)
        assert sorted(visits.nodes[own].tolist()) == sorted(node for node, _ in expected)
        if len(expected) > 0:  # a node taken at least, and a label met at least
            assert counts["heap_steps"][query] >= 2


# Nodes that every search opens.


def walk(tree, labels):
    above = set()
    for label in labels:
        node = int(tree.label_parent[label]) if label >= 0 else -1
        while node >= 0:
            above.add(node)
            node = int(tree.parent[node])
    return above


def everything(tree, n, place=0):
    """All nodes visited by all queries."""
    nodes = np.tile(np.arange(tree.n_nodes, dtype=np.int32), n)
    ends = tree.n_nodes * np.arange(n + 1)
    return OpenedNodes(ends, nodes, nodes, nodes.astype(float), np.full(len(nodes), place), np.zeros(len(nodes), bool))


@given(st.integers(2, 40), st.integers(0, 1000), st.integers(1, 5), st.data())
@settings(max_examples=50, deadline=None)
def test_ancestors_equal_a_walk_to_the_root(n_labels, seed, k, data):
    tree = lt.contract(lt.random_tree(n_labels, random_state=seed), 3)
    labels = np.array(data.draw(st.lists(st.lists(st.integers(-1, n_labels - 1), min_size=k, max_size=k), max_size=4)))
    labels = labels.reshape(-1, k).astype(np.int64)
    expected = [walk(tree, row) for row in labels.tolist()]
    keys = ancestors_of(tree, labels)
    assert keys.tolist() == sorted(q * tree.n_nodes + node for q, own in enumerate(expected) for node in own)
    number, marked = mark_needed([tree], labels, everything(tree, len(labels)))
    assert number.tolist() == [len(own) for own in expected]
    visited = [[node in own for node in range(tree.n_nodes)] for own in expected]
    assert marked.reshape(len(labels), tree.n_nodes).tolist() == visited


def test_labels_outside_the_tree_have_no_ancestors():
    tree = lt.LabelTree([0, 2], [~0, ~2], n_labels=3)
    assert tree.unplaced_labels.tolist() == [1]
    assert ancestors_of(tree, [[1, -1]]).tolist() == []


def test_each_tree_marks_its_own_visits():
    trees = [lt.LabelTree([0, 2, 4], [~0, 1, ~1, ~2], 3), lt.LabelTree([0, 2, 4], [~1, 1, ~0, ~2], 3)]
    labels = np.array([[0]])
    for place, expected in ((0, [True, False]), (1, [True, True])):
        number, marked = mark_needed(trees, labels, everything(trees[place], 1, place))
        assert number.tolist() == [3]  # the first tree's root, the second's both nodes
        assert marked.tolist() == expected


def test_nodes_with_one_child_decide_nothing():
    tree = lt.LabelTree([0, 1, 3], [1, ~0, ~1], 2)
    number, marked = mark_needed([tree], np.array([[0]]), everything(tree, 1), skip_single_children=True)
    assert number.tolist() == [1]
    assert marked.tolist() == [False, True]


# Both together.


TEXTS = [f"word{i % 7} other{i % 5} word{(i * i) % 7} of text {i % 3}" for i in range(60)]
TAGS = [[f"tag{i % 7}", f"also{i % 5}"] for i in range(60)]


@pytest.fixture(scope="module")
def problem():
    return make_problem()


@pytest.fixture(scope="module")
def models(problem):
    X, Y = problem
    settings = {"fanout": 3, "loss": lt.Solver(prune_below=0.0)}
    return {
        "linear": (lt.LabelTreeClassifier(**settings).fit(X, Y), X),
        "trees": (lt.LabelTreeClassifier(n_trees=2, **settings).fit(X, Y), X),
        "dense": (lt.LabelTreeClassifier(**settings).fit(X.toarray(), Y), X.toarray()),
        "logistic": (lt.LabelTreeClassifier(fanout=3, loss=lt.Solver("logistic", prune_below=0.0)).fit(X, Y), X),
        "words": (lt.LabelTreeClassifier(**settings).fit(TEXTS, TAGS), TEXTS),
        "text": (lt.TextLabelTreeClassifier(dim=8, epochs=3, n_jobs=1).fit(TEXTS, TAGS), TEXTS),
    }


def work_of(model, X, k=5, rows=None, **how):
    points = model.check_queries(X)
    rows = np.arange(points.shape[0]) if rows is None else rows
    return measure_work(model, points, model.complete_request(SearchRequest(k, **how)), rows)


KINDS = ["linear", "trees", "dense", "logistic", "words", "text"]


@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("kind", KINDS)
def test_the_work_is_that_of_the_searches_of_the_model(models, kind, k):
    model, X = models[kind]
    work = work_of(model, X, k)
    labels, _, stats = model.predict_topk(X, k, return_stats=True)
    n = len(labels)
    np.testing.assert_array_equal(work.rows, np.arange(n))
    found = work.labels if model.label_names_ is None else model._label_names.take(work.labels)
    np.testing.assert_array_equal(found, labels)
    np.testing.assert_array_equal(work.counts["visits"], stats.chunks)
    visits = work.visits
    np.testing.assert_array_equal(np.diff(visits.ends), stats.chunks)
    if kind != "text":
        np.testing.assert_array_equal(work.counts["children"], stats.classifiers)
    trees = [model.tree_] if kind == "text" else model.trees_
    for tree in range(len(trees)):
        own = visits.trees == tree
        np.testing.assert_array_equal(visits.depths[own], trees[tree].node_depth[visits.nodes[own]])
    # A search that returns a label has opened its ancestors: all nodes that every search opens are there.
    np.testing.assert_array_equal(np.bincount(visits.queries[work.is_needed], minlength=n), work.needed)
    assert (work.needed >= len(trees)).all()
    assert (work.needed <= stats.chunks).all()
    assert (work.microseconds > 0).all()


def test_matrices_are_counted_in_vectors(models):
    model, X = models["dense"]
    each = work_of(model, X, 3).counts
    np.testing.assert_array_equal(each["vectors"], each["children"] * 3)  # 40 features are three times 16
    assert not each["lookups"].any()
    assert not each["hits"].any()


def test_texts_are_counted_as_they_are_read(models):
    model, _ = models["text"]
    texts = [*TEXTS[:5], "nothing known here", "", "wörd1 word1"]
    each = work_of(model, texts, 3).counts
    read = [model.searcher_.features(text) for text in texts]
    assert each["bytes"].tolist() == [len(text.encode()) for text in texts]
    assert each["features"].tolist() == [n for _, n in read]
    assert each["rows"].tolist() == [len(rows) for rows, _ in read]
    stats = model.searcher_.topk(Texts(texts), 3, stats=True).stats
    searched = ~stats.no_features  # texts without a known word get the most frequent labels, without a search
    assert each["visits"][searched].tolist() == stats.chunks[searched].tolist()
    # Every step is a node taken or put off, or a label met; each node but the root is met from its parent.
    assert (each["heap_steps"] >= each["visits"]).all()


@pytest.mark.parametrize("kind", ["linear", "trees", "text"])
def test_the_summary_is_of_the_records(models, kind):
    model, X = models[kind]
    work = work_of(model, X, 2)
    summary = work.summary()
    assert json.loads(json.dumps(summary)) == summary
    table = [work.record(place) for place in range(work.n_queries)]
    assert len(table) == summary["n_queries"]
    for name in ("nodes", "needed"):
        column = [record[name] for record in table]
        assert summary[name]["mean"] == pytest.approx(np.mean(column))
        assert summary[name]["p99"] == pytest.approx(np.percentile(column, 99))
    assert summary["microseconds"]["mean"] == pytest.approx(np.mean([r["microseconds"] for r in table]), abs=1e-3)
    assert sum(depth["nodes"] for depth in summary["by_depth"]) == pytest.approx(summary["nodes"]["mean"])
    assert sum(depth["needed"] for depth in summary["by_depth"]) == pytest.approx(summary["needed"]["mean"])
    assert summary["needed_share"] == pytest.approx(summary["needed"]["mean"] / summary["nodes"]["mean"])
    first = work.visits_of(0)
    assert first[0] == {"tree": 0, "node": 0, "depth": 0, "score": 1.0, "needed": True, "on_path": False}
    assert len(first) == table[0]["nodes"]


def test_given_rows_are_searched(models):
    model, X = models["linear"]
    some = work_of(model, X, 1, rows=np.array([7, 3]))
    assert [some.record(place)["query"] for place in range(2)] == [7, 3]


def test_another_search_is_counted(models):
    model, X = models["linear"]
    exact, narrow = work_of(model, X, 3, beam=None), work_of(model, X, 3, beam=1)
    assert exact.search == {"mode": "best_first", "beam": None}
    assert narrow.search == {"mode": "best_first", "beam": 1}
    stats = model.predict_topk(X, 3, beam=1, return_stats=True)[2]
    np.testing.assert_array_equal(narrow.counts["visits"], stats.chunks)


@pytest.mark.parametrize("kind", ["linear", "trees", "text"])
def test_searches_that_stop_early_are_counted_correctly(models, kind):
    model, X = models[kind]
    many = X * 40 if isinstance(X, list) else sp.vstack([X] * 10, format="csr")
    model.calibrate(many)
    found = work_of(model, many, 2, agreement=0.5, rows=np.arange(20))
    assert found.search == {"agreement": 0.5}
    assert found.labels.shape == (20, 2)
    stats = model.predict_topk(many[:20], 2, agreement=0.5, return_stats=True)[2]
    np.testing.assert_array_equal(found.counts["visits"], stats.chunks)


@pytest.mark.parametrize("kind", ["words", "trees"])
def test_queries_without_a_feature_make_no_search(models, kind):
    model, X = models[kind]
    nothing = ["zzz", "unheard"] if kind == "words" else sp.csr_array((2, X.shape[1]), dtype=np.float32)
    work = work_of(model, nothing, 2)
    for name in ("visits", "children", "heap_steps", "path_visits"):
        assert work.counts[name].tolist() == [0, 0], name
    assert work.needed.tolist() == [0, 0]
    assert (work.labels >= 0).all()  # the most frequent labels
    assert work.summary()


def test_more_labels_than_there_are(models):
    model, X = models["text"]
    assert work_of(model, X, 10**6).k == 12


def test_another_kind_of_model_is_refused():
    with pytest.raises(
        lt.errors.InputError, match="model must be a fitted LabelTreeClassifier or TextLabelTreeClassifier"
    ):
        measure_work(lt.LabelTree([0, 1], [~0], 1), None, SearchRequest(1), np.arange(1))
