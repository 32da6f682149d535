"""The text model's search is exact: against all labels scored one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import labeltrees as lt
from labeltrees.models.text.searcher import Texts, TextSearcher
from labeltrees.models.text.settings import TextSettings
from labeltrees.models.text.training import count_words, train_vectors
from labeltrees.search import NodeValues, SearchRequest
from tests.strategies import binary_trees

WORDS = [f"w{i}" for i in range(12)]


def random_searcher(tree, seed, scale):
    """A model of random vectors over a tree."""
    rng = np.random.default_rng(seed)
    settings = TextSettings(dim=6, epochs=0, min_count=1, buckets=30)
    corpus = count_words((" ".join(WORDS), " ".join(WORDS[::-1])), "", settings)
    store = train_vectors(corpus, settings, tree)
    store.input[:, :6] = rng.normal(size=(len(store.input), 6))
    store.output[:, :6] = scale * rng.normal(size=(tree.n_nodes, 6))
    return TextSearcher(store)


def all_scores(searcher, text):
    """The score of every label, -1 for those not placed."""
    return path_scores(searcher, text)[0]


def node_scores(searcher, text):
    """The score of every node."""
    return path_scores(searcher, text)[1]


def path_scores(searcher, text):
    store, tree = searcher.store, searcher.store.tree
    rows, n = searcher.features(text)
    hidden = store.input[rows].astype(np.float64).sum(axis=0) / n
    scores = np.full(tree.n_labels, -1.0)
    of_nodes = np.ones(tree.n_nodes)
    for node in range(tree.n_nodes):
        group = tree.children[tree.child_ptr[node] : tree.child_ptr[node + 1]].tolist()
        second = 1 / (1 + np.exp(-(hidden @ store.output[node].astype(np.float64))))
        shares = [1.0] if len(group) == 1 else [1 - second + 1e-5, second + 1e-5]
        for child, share in zip(group, shares, strict=True):
            (scores if child < 0 else of_nodes)[~child if child < 0 else child] = of_nodes[node] * share
    return np.minimum(scores, 1.0), of_nodes


def check_best(labels, scores, expected, k):
    """Whether the labels are k of the best: equal scores may come in any order where rounding decides."""
    n = min(k, int((expected >= 0).sum()))
    assert (labels[n:] == -1).all()
    assert len(set(labels[:n].tolist())) == n
    np.testing.assert_allclose(scores[:n], expected[labels[:n]], rtol=2e-5, atol=1e-7)
    np.testing.assert_allclose(scores[:n], np.sort(expected)[::-1][:n], rtol=2e-5, atol=1e-7)
    assert (np.diff(scores) <= 0).all()


@given(binary_trees(), st.integers(0, 2**31), st.sampled_from([0.1, 2.0, 20.0]), st.integers(1, 25))
@settings(max_examples=150, deadline=None)
def test_the_k_best_are_found_exactly(tree, seed, scale, k):
    searcher = random_searcher(tree, seed, scale)
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(WORDS, size=size)) for size in (1, 2, 7)]
    result = searcher.topk(Texts(texts), k, stats=True)
    for row, text in enumerate(texts):
        check_best(result.labels[row], result.scores[row], all_scores(searcher, text), k)
        labels, scores = searcher.predictor(k)(text)
        rounded = [float(f"{score:.6g}") for score in scores.tolist()]
        assert searcher.predictor(k).lists(text) == (labels.tolist(), rounded)
        found = result.labels[row] >= 0
        assert labels.tolist() == result.labels[row][found].tolist()
        assert scores.tolist() == result.scores[row][found].tolist()
    assert (result.stats.depth <= tree.height).all()
    assert (result.stats.chunks <= tree.n_nodes).all()


@given(binary_trees(), st.integers(0, 2**31), st.data())
@settings(max_examples=80, deadline=None)
def test_candidates_and_exclusions_filter_exactly(tree, seed, data):
    searcher = random_searcher(tree, seed, 2.0)
    ids = st.lists(st.integers(0, tree.n_labels - 1), max_size=8)
    candidates, exclude = data.draw(st.lists(ids, min_size=2, max_size=2)), data.draw(ids)
    result = searcher.topk(Texts(["w0 w1", "w5"]), SearchRequest(4, candidates=candidates, exclude=exclude))
    for row, text in enumerate(["w0 w1", "w5"]):
        expected = all_scores(searcher, text)
        mask = np.zeros(tree.n_labels, dtype=bool)
        mask[candidates[row]] = True
        mask[exclude] = False
        check_best(result.labels[row], result.scores[row], np.where(mask, expected, -1), 4)


@given(binary_trees(), st.integers(0, 2**31), st.sampled_from([0.1, 2.0, 20.0]), st.integers(1, 25))
@settings(max_examples=80, deadline=None)
def test_weighted_lists_equal_brute_force(tree, seed, scale, k):
    searcher = random_searcher(tree, seed, scale)
    rng = np.random.default_rng(seed)
    weights = np.exp(-3 * rng.random(tree.n_labels)).astype(np.float32)
    weights[rng.random(tree.n_labels) < 0.2] = 0
    texts = [" ".join(rng.choice(WORDS, size=size)) for size in (1, 2, 7)]
    request = SearchRequest(k, label_weight=weights)
    result = searcher.topk(Texts(texts), request)
    for row, text in enumerate(texts):
        expected = all_scores(searcher, text) * weights
        check_best(result.labels[row], result.scores[row], np.where(weights > 0, expected, -1), k)
        labels, _ = searcher.predictor(request)(text)
        assert labels.tolist() == result.labels[row][result.labels[row] >= 0].tolist()


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_answers_do_not_depend_on_threads(n_jobs):
    searcher = random_searcher(lt.huffman_tree(np.arange(1, 40)), 0, 3.0)
    rng = np.random.default_rng(1)
    texts = Texts([" ".join(rng.choice(WORDS, size=5)) for _ in range(1500)])
    one, many = searcher.topk(texts, 3), searcher.topk(texts, 3, n_jobs=n_jobs)
    assert one.labels.tolist() == many.labels.tolist()
    assert one.scores.tobytes() == many.scores.tobytes()


def test_one_list_of_candidates_serves_all_texts():
    searcher = random_searcher(lt.huffman_tree(np.arange(1, 40)), 0, 3.0)
    result = searcher.topk(Texts(["w0", "w1"] * 40), SearchRequest(5, candidates=[3, 7]))
    assert (np.sort(result.labels[:, :2], axis=1) == [3, 7]).all()
    assert (result.labels[:, 2:] == -1).all()


def test_a_very_high_tree_needs_no_recursion():
    n = 30_000
    children = np.empty(2 * n - 2, dtype=np.int32)
    children[0::2], children[1::2] = ~np.arange(n - 1), np.arange(1, n)
    children[-1] = ~(n - 1)
    chain = lt.LabelTree(2 * np.arange(n), children, n)
    texts, labels = ["a b", "b c"], [[0], [n - 1]]
    Y = np.zeros((2, n))
    Y[0, 0] = Y[1, n - 1] = 1
    model = lt.TextLabelTreeClassifier(tree=chain, dim=4, min_count=1, epochs=2).fit(texts, Y)
    assert model.tree_.label_depth.max() == n - 1
    assert sorted(model.predict_topk(["a b"], 2)[0][0].tolist()) == [0, n - 1]
    assert labels[1] == [n - 1]


@given(binary_trees(), st.integers(0, 2**31), st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_the_trace_has_every_evaluated_node_with_its_score(tree, seed, k):
    searcher = random_searcher(tree, seed, 2.0)
    texts = ["w0 w1", "w5 unknown", "unknown"]
    trace = searcher.trace(Texts(texts), k)
    assert np.diff(trace.ends).tolist() == searcher.topk(Texts(texts), k, stats=True).stats.chunks.tolist()
    for row, text in enumerate(texts):
        nodes = trace.nodes[trace.ends[row] : trace.ends[row + 1]].tolist()
        scores = trace.scores[trace.ends[row] : trace.ends[row + 1]]
        assert len(set(nodes)) == len(nodes)
        if nodes:
            np.testing.assert_allclose(np.exp(scores), node_scores(searcher, text)[nodes], rtol=2e-5, atol=1e-7)


def python_search(searcher, text, factors, k):
    """The nodes that a text's search evaluates and the scores of the labels it finds, in Python."""
    tree = searcher.store.tree
    of_labels, of_nodes = path_scores(searcher, text)
    found, opened, waiting = [], [], [0]
    while waiting:
        node = max(waiting, key=lambda node: of_nodes[node] * factors[node])
        if len(found) == k and of_nodes[node] * factors[node] < found[-1]:
            break
        waiting.remove(node)
        children = tree.children[tree.child_ptr[node] : tree.child_ptr[node + 1]].tolist()
        if len(children) == 2:
            opened.append(node)
        waiting += [child for child in children if child >= 0]
        found = sorted(found + [of_labels[~child] for child in children if child < 0], reverse=True)[:k]
    return opened, found


@given(binary_trees(), st.integers(0, 2**31), st.integers(1, 6), st.sampled_from([0.9, 0.5, 0.01]))
@settings(max_examples=100, deadline=None)
def test_with_discounts_nodes_are_opened_in_the_order_of_priority(tree, seed, k, least):
    searcher = random_searcher(tree, seed, 2.0)
    rng = np.random.default_rng(seed)
    factors = rng.uniform(least, 1, tree.n_nodes).astype(np.float32)
    factors[0] = 1
    texts = Texts(["w0 w1", "w5"])
    discounts = NodeValues(-np.log(factors))
    request = SearchRequest(k, discounts=discounts)
    trace, result, predictor = (
        searcher.trace(texts, request),
        searcher.topk(texts, request, stats=True),
        searcher.predictor(request),
    )
    for row, text in enumerate(texts.items):
        opened, found = python_search(searcher, text, discounts.factors.astype(np.float64), k)
        assert set(trace.nodes[trace.ends[row] : trace.ends[row + 1]].tolist()) == set(opened)
        assert result.stats.chunks[row] == len(opened)
        np.testing.assert_allclose(result.scores[row, : len(found)], np.minimum(found, 1), rtol=2e-5, atol=1e-7)
        assert predictor(text)[0].tolist() == [label for label in result.labels[row].tolist() if label >= 0]


@given(binary_trees(), st.integers(0, 2**31), st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_discounts_of_zero_are_the_exact_search_and_huge_ones_fill_the_list(tree, seed, k):
    searcher = random_searcher(tree, seed, 3.0)
    texts = Texts(["w0 w1", "w5", "w2 w7 w1"])
    exact = searcher.topk(texts, k, stats=True)
    same = searcher.topk(texts, SearchRequest(k, discounts=NodeValues(np.zeros(tree.n_nodes))), stats=True)
    assert exact.labels.tolist() == same.labels.tolist()
    assert exact.scores.tobytes() == same.scores.tobytes()
    assert exact.stats.chunks.tolist() == same.stats.chunks.tolist()
    huge = searcher.topk(texts, SearchRequest(k, discounts=NodeValues(np.full(tree.n_nodes, 1e30))))
    assert ((huge.labels >= 0) == (exact.labels >= 0)).all()


@pytest.mark.parametrize("budget", [1, 2, 5, 20, 1000])
def test_budgets_cut_searches_short_and_say_so(budget):
    searcher = random_searcher(lt.huffman_tree(np.arange(1, 200)), 0, 3.0)
    rng = np.random.default_rng(1)
    texts = Texts([" ".join(rng.choice(WORDS, size=3)) for _ in range(50)])
    exact = searcher.topk(texts, 3, stats=True)
    result = searcher.topk(texts, SearchRequest(3, max_chunks=budget), stats=True)
    assert result.stats.chunks.tolist() == np.minimum(exact.stats.chunks, budget).tolist()
    assert result.stats.partial.tolist() == (exact.stats.chunks > budget).tolist()
    assert not exact.stats.partial.any()
    whole = ~result.stats.partial
    assert result.labels[whole].tolist() == exact.labels[whole].tolist()
    predictor = searcher.predictor(SearchRequest(3, max_chunks=budget))
    for row in range(50):
        assert predictor(texts.items[row])[0].tolist() == [label for label in result.labels[row].tolist() if label >= 0]


def test_a_time_budget_ends_a_long_search():
    searcher = random_searcher(lt.huffman_tree(np.ones(20_000)), 0, 0.01)  # nothing is sure: exact search sees all
    texts = Texts(["w0 w1"])
    assert searcher.topk(texts, 2000, stats=True).stats.chunks[0] > 2000
    result = searcher.topk(texts, SearchRequest(2000, max_microseconds=1), stats=True)
    assert result.stats.partial.all()
    assert result.stats.chunks[0] < 2000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_chunks": 0}, "max_chunks must be"),
        ({"max_microseconds": 1.5}, "max_microseconds must be"),
        ({"discounts": NodeValues([1.0])}, "discounts must be of 198 nodes"),
    ],
)
def test_unsound_requests_are_refused(arguments, message):
    searcher = random_searcher(lt.huffman_tree(np.arange(1, 200)), 0, 3.0)
    with pytest.raises(lt.errors.InputError, match=message):
        searcher.topk(Texts(["w0"]), SearchRequest(3, **arguments))
    with pytest.raises(lt.errors.InputError, match=message):
        searcher.predictor(SearchRequest(3, **arguments))
