"""What a text model's search is said to have done: against a best-first search in plain Python."""

import heapq

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labeltrees import random_tree
from labeltrees.models.text.searcher import Texts
from labeltrees.profiling.meter import Workload
from labeltrees.profiling.text_meter import TextMeter
from labeltrees.search import SearchRequest
from tests.models.text.test_searcher import WORDS, random_searcher
from tests.strategies import binary_trees

TEXTS = Texts([" ".join(WORDS[:3]), " ".join(WORDS[4:9]), WORDS[-1], "unknown", ""])


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
    counts = TextMeter(searcher).count(Workload(TEXTS, SearchRequest(k)))
    stats = searcher.topk(TEXTS, k, stats=True).stats
    np.testing.assert_array_equal(counts.each["visits"], stats.chunks)
    visits = counts.visits
    np.testing.assert_array_equal(visits.depths, tree.node_depth[visits.nodes])
    for query, text in enumerate(TEXTS.items):
        own = slice(visits.ends[query], visits.ends[query + 1])
        expected = evaluated(searcher, text, k)
        np.testing.assert_allclose(visits.scores[own], [score for _, score in expected], rtol=1e-3)
        assert sorted(visits.nodes[own].tolist()) == sorted(node for node, _ in expected)
        if len(expected) > 0:  # a node taken at least, and a label met at least
            assert counts.each["heap_steps"][query] >= 2


@pytest.mark.parametrize("at_once", [2, 500])
@pytest.mark.parametrize("stage", ["search", "read", "sum", "score"])
def test_every_text_has_a_time(stage, at_once, monkeypatch):
    monkeypatch.setattr("labeltrees.profiling.text_meter.BLOCK_SIZE", at_once)
    meter = TextMeter(random_searcher(random_tree(20), 0, 1.0))
    workload = Workload(TEXTS, SearchRequest(3), stage)
    times = meter.time(workload, meter.count(workload).visits)
    assert times.shape == (5,)
    assert (times >= 0).all()


def test_variants_texts_have_some_of_the_words():
    meter = TextMeter(random_searcher(random_tree(20), 0, 1.0))
    texts = Texts([" ".join(WORDS), " ".join(WORDS).encode(), ""])
    *stages, few, _ = meter.variants(Workload(texts, SearchRequest(3)), np.random.default_rng(0))
    assert [workload.stage for workload in stages] == ["read", "sum", "score"]
    assert set(few.queries.items[0].split()) < set(WORDS)
    assert isinstance(few.queries.items[1], bytes)
    assert few.queries.items[2] == ""
