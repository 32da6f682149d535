"""A model of fastText answers here as it does there."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import labeltrees as lt
from labeltrees import _core
from labeltrees.models.text.fasttext import counts_for_tree
from tests.models.text.fasttext_models import DATA, EXPECTED, MODELS, QUERIES, huffman_twin, imported
from tests.strategies import binary_trees


@pytest.mark.parametrize("name", MODELS)
def test_a_fasttext_file_answers_as_fasttext_does(name):
    model = imported(name)
    labels, scores = model.predict_topk(QUERIES, 20)
    for answer, ours, probabilities in zip(EXPECTED["models"][name]["answers"], labels, scores, strict=True):
        n = len(answer["labels"])
        assert ours[n:].tolist() == [None] * (20 - n)
        by_name = dict(zip(ours[:n], probabilities[:n], strict=True))
        theirs = {
            name.removeprefix("__label__"): score
            for name, score in zip(answer["labels"], answer["scores"], strict=True)
        }
        assert by_name.keys() == theirs.keys()
        for label, score in theirs.items():
            assert by_name[label] == pytest.approx(min(score, 1.0), abs=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_the_vector_of_a_text_is_fasttexts(name):
    searcher = imported(name).searcher_
    for query, answer in zip(QUERIES, EXPECTED["models"][name]["answers"], strict=True):
        rows, n = searcher.features(query)
        vector = searcher.store.input[rows].sum(axis=0)[: searcher.store.dim] / max(n, 1)
        np.testing.assert_allclose(vector, answer["vector"], atol=1e-6)


@given(st.lists(st.integers(0, 20), min_size=2, max_size=30))
@settings(max_examples=100, deadline=None)
def test_the_tree_of_a_file_has_fasttexts_ties(counts):
    counts = np.sort(np.array(counts, dtype=np.int64))[::-1].copy()
    n_nodes = len(counts) - 1
    ours = _core.fasttext_huffman(counts).reshape(n_nodes, 2)
    twin = [[child if child < 0 else n_nodes - 1 - child for child in pair] for pair in huffman_twin(counts.tolist())]
    assert ours.tolist() == twin[::-1]


def test_an_imported_model_can_be_saved_and_exported(tmp_path):
    model = imported("bigrams")
    model.save(tmp_path / "model")
    model.export_fasttext(tmp_path / "again.bin")
    expected = model.predict_topk(QUERIES, 9)
    opened = lt.load(tmp_path / "model", verify=True).predict_topk(QUERIES, 9)
    exported = lt.TextLabelTreeClassifier.from_fasttext(tmp_path / "again.bin").predict_topk(QUERIES, 9)
    assert opened[0].tolist() == expected[0].tolist() == exported[0].tolist()
    np.testing.assert_allclose(exported[1], expected[1], atol=1e-6)


def test_the_number_of_training_points_is_unknown(tmp_path):
    model = imported("bigrams")
    assert model.n_points_ is None
    assert model.stats_["imported_from"] == "fasttext"
    model.save(tmp_path / "model")
    assert json.loads((tmp_path / "model" / "manifest.json").read_text())["parameters"]["n_points"] is None
    assert lt.load(tmp_path / "model").n_points_ is None


def test_old_folders_with_1_for_an_unknown_number_of_points_are_understood(tmp_path):
    model = imported("bigrams")
    model.n_points_ = 1
    del model.stats_["imported_from"]
    model.save(tmp_path / "model")
    assert lt.load(tmp_path / "model").n_points_ is None


# A model written for fastText: it comes back the same, and fastText builds its tree.


@pytest.mark.parametrize(
    "options", [{"tree": "huffman"}, {"tradeoff": 0.5}, {"word_ngrams": 1}, {"min_n": 2, "max_n": 3}]
)
def test_an_exported_model_comes_back_and_answers_the_same(tmp_path, options):
    model = lt.TextLabelTreeClassifier(dim=12, buckets=100, **options).fit_file(DATA / "train.txt")
    model.export_fasttext(tmp_path / "model.bin")
    again = lt.TextLabelTreeClassifier.from_fasttext(tmp_path / "model.bin")
    _, _, stats = model.predict_topk(QUERIES, 1, return_stats=True)
    known = [query for query, unknown in zip(QUERIES, stats.no_features, strict=True) if not unknown]
    assert len(known) > 3  # a file of fastText has no number of points, so its model has no prior for the others
    labels, scores = model.predict_topk(known, 9)
    labels_again, scores_again = again.predict_topk(known, 9)
    assert labels_again.tolist() == labels.tolist()
    np.testing.assert_allclose(scores_again, scores, atol=1e-6)
    counts = dict(line.split("\t") for line in (tmp_path / "model.bin.label_counts.tsv").read_text().splitlines())
    assert {name: int(count) for name, count in counts.items()} == dict(
        zip(model.classes_, model.label_counts_, strict=True)
    )


def decisions(tree):
    """The decisions (node, side) on the way to each placed label."""
    ways = {}
    stack = [(0, ())]
    while stack:
        node, way = stack.pop()
        group = tree.children[tree.child_ptr[node] : tree.child_ptr[node + 1]].tolist()
        for side, child in enumerate(group):
            longer = (*way, (node, side)) if len(group) == 2 else way
            if child < 0:
                ways[~child] = longer
            else:
                stack.append((child, longer))
    return ways


@given(binary_trees())
@settings(max_examples=150, deadline=None)
def test_fasttext_builds_the_tree_its_counts_were_chosen_for(tree):
    order, counts, nodes = counts_for_tree(tree)
    assert (np.diff(counts) < 0).all()
    children = huffman_twin(counts.tolist())
    expected = decisions(tree)
    found = {}
    stack = [(len(children) - 1, ())] if children else []
    if not children:
        found[int(order[0])] = ()
    while stack:
        made, way = stack.pop()
        for side, child in enumerate(children[made]):
            longer = (*way, (int(nodes[made]), side))
            if child < 0:
                found[int(order[~child])] = longer
            else:
                stack.append((child, longer))
    assert found == expected


def test_a_tree_too_deep_for_fasttext_is_refused(tmp_path):
    n = 60
    chain = lt.LabelTree(
        2 * np.arange(n), [child for node in range(n - 2) for child in (~node, node + 1)] + [~(n - 2), ~(n - 1)], n
    )
    texts, labels = [f"word{i} word{i}" for i in range(n)], [[i] for i in range(n)]
    model = lt.TextLabelTreeClassifier(tree=chain, dim=4, epochs=1, min_count=1).fit(texts, labels)
    with pytest.raises(lt.errors.InputError, match=r"depths 1 to 59 cannot be written for fastText"):
        model.export_fasttext(tmp_path / "model.bin")
    assert not list(tmp_path.iterdir())
