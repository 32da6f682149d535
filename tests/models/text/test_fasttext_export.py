"""A model written for fastText: it comes back the same, and fastText builds its tree."""

import numpy as np
import pytest
from hypothesis import given, settings

import labeltrees as lt
from labeltrees.models.text.fasttext_export import counts_for_tree
from tests.models.text.fasttext_models import DATA, QUERIES, huffman_twin
from tests.strategies import binary_trees


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
