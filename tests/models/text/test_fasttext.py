"""Files of stock fastText 0.9.3 (scripts/make_fasttext_files.py), and files for it."""

import base64
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import labeltrees as lt
from labeltrees import _core
from labeltrees.models.text.fasttext_export import counts_for_tree
from labeltrees.models.text.fasttext_file import read_fasttext
from labeltrees.models.text.settings import TextSettings
from labeltrees.models.text.training import count_words

DATA = Path(__file__).parent / "data"
EXPECTED = json.loads((DATA / "expected.json").read_text())
QUERIES = [base64.b64decode(query).decode() for query in EXPECTED["queries"]]
MODELS = list(EXPECTED["models"])
TRAINED = [name for name in MODELS if name != "one_label"]


def imported(name):
    return lt.TextLabelTreeClassifier.from_fasttext(DATA / f"{name}.bin")


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


@pytest.mark.parametrize("name", TRAINED)
def test_the_vocabulary_of_a_file_is_fasttexts(name):
    options = EXPECTED["models"][name]["options"]
    settings = TextSettings(
        min_count=options["minCount"],
        word_ngrams=options["wordNgrams"],
        min_n=options.get("minn", 0),
        max_n=options.get("maxn", 0),
        buckets=options.get("bucket", 0),
    )
    corpus = count_words(None, str(DATA / "train.txt"), settings)
    theirs = read_fasttext(DATA / f"{name}.bin")
    assert corpus.text.tobytes() == theirs.words.tobytes()
    assert corpus.ends.tolist() == theirs.word_ends.tolist()
    assert corpus.counts.tolist() == theirs.counts.tolist()
    assert (corpus.n_words, corpus.n_tokens) == (theirs.n_words, theirs.n_tokens)


@pytest.mark.parametrize(
    "options", [{"tree": "huffman"}, {"tradeoff": 0.5}, {"word_ngrams": 1}, {"min_n": 2, "max_n": 3}]
)
def test_an_exported_model_comes_back_and_answers_the_same(tmp_path, options):
    model = lt.TextLabelTreeClassifier(dim=12, buckets=100, **options).fit_file(DATA / "train.txt")
    model.export_fasttext(tmp_path / "model.bin")
    again = lt.TextLabelTreeClassifier.from_fasttext(tmp_path / "model.bin")
    labels, scores = model.predict_topk(QUERIES, 9)
    labels_again, scores_again = again.predict_topk(QUERIES, 9)
    assert labels_again.tolist() == labels.tolist()
    np.testing.assert_allclose(scores_again, scores, atol=1e-6)
    counts = dict(line.split("\t") for line in (tmp_path / "model.bin.label_counts.tsv").read_text().splitlines())
    assert {name: int(count) for name, count in counts.items()} == dict(
        zip(model.classes_, model.label_counts_, strict=True)
    )


def test_an_imported_model_can_be_saved_and_exported(tmp_path):
    model = imported("bigrams")
    model.save(tmp_path / "model")
    model.export_fasttext(tmp_path / "again.bin")
    expected = model.predict_topk(QUERIES, 9)
    opened = lt.load(tmp_path / "model", verify=True).predict_topk(QUERIES, 9)
    exported = lt.TextLabelTreeClassifier.from_fasttext(tmp_path / "again.bin").predict_topk(QUERIES, 9)
    assert opened[0].tolist() == expected[0].tolist() == exported[0].tolist()
    np.testing.assert_allclose(exported[1], expected[1], atol=1e-6)


@st.composite
def binary_trees(draw):
    """Random binary trees, some nodes with one child, some labels unplaced."""
    n_labels = draw(st.integers(1, 20))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    heads = [~int(label) for label in rng.permutation(n_labels)[: draw(st.integers(1, n_labels))]]
    groups = []
    while len(heads) > 1 or heads[0] < 0:
        width = 1 if len(heads) == 1 or rng.random() < 0.15 else 2
        chosen = rng.permutation(len(heads))[:width]
        groups.append([heads[i] for i in chosen])
        heads = [len(groups) - 1] + [head for i, head in enumerate(heads) if i not in chosen]
    last = len(groups) - 1
    children = [[child if child < 0 else last - child for child in group] for group in reversed(groups)]
    child_ptr = np.cumsum([0, *map(len, children)])
    return lt.LabelTree(child_ptr, [child for group in children for child in group], n_labels)


def huffman_twin(counts):
    """What fastText makes of counts: the two children of each node in the order it makes them, labels as ~label."""
    total, children = list(counts), []
    leaf, node = len(counts) - 1, len(counts)
    for _ in range(len(counts) - 1):
        pair = []
        for _ in range(2):
            if leaf >= 0 and counts[leaf] < (total[node] if node < len(total) else 1e15):
                pair.append(leaf)
                leaf -= 1
            else:
                pair.append(node)
                node += 1
        children.append([~child if child < len(counts) else child - len(counts) for child in pair])
        total.append(total[pair[0]] + total[pair[1]])
    return children


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


@given(st.lists(st.integers(0, 20), min_size=2, max_size=30))
@settings(max_examples=100, deadline=None)
def test_the_tree_of_a_file_has_fasttexts_ties(counts):
    counts = np.sort(np.array(counts, dtype=np.int64))[::-1].copy()
    n_nodes = len(counts) - 1
    ours = _core.fasttext_huffman(counts).reshape(n_nodes, 2)
    twin = [[child if child < 0 else n_nodes - 1 - child for child in pair] for pair in huffman_twin(counts.tolist())]
    assert ours.tolist() == twin[::-1]


def test_a_tree_too_deep_for_fasttext_is_refused(tmp_path):
    n = 60
    chain = lt.LabelTree(
        2 * np.arange(n), [child for node in range(n - 2) for child in (~node, node + 1)] + [~(n - 2), ~(n - 1)], n
    )
    texts, labels = [f"word{i} word{i}" for i in range(n)], [[i] for i in range(n)]
    model = lt.TextLabelTreeClassifier(tree=chain, dim=4, epochs=1, min_count=1).fit(texts, labels)
    with pytest.raises(lt.InputError, match=r"depths 1 to 59 cannot be written for fastText"):
        model.export_fasttext(tmp_path / "model.bin")
    assert not list(tmp_path.iterdir())


# Damage.


@pytest.mark.parametrize("name", ["bigrams", "subwords"])
def test_damaged_files_are_refused_or_answer(tmp_path, name):
    original = (DATA / f"{name}.bin").read_bytes()
    rng = np.random.default_rng(0)
    file = tmp_path / "damaged.bin"
    places = [*range(0, 100), *rng.integers(len(original), size=150).tolist()]
    outcomes = {"refused": 0, "answered": 0}
    for place in places:
        altered = bytearray(original)
        altered[place] = int(rng.choice([altered[place] ^ (1 << rng.integers(8)), 0, 127, 128, 255]))
        file.write_bytes(altered)
        try:
            model = lt.TextLabelTreeClassifier.from_fasttext(file)
            _, scores = model.predict_topk(QUERIES, 5)
            assert ((scores >= 0) & (scores <= 1)).all()
            outcomes["answered"] += 1
        except lt.FileFormatError as error:
            outcomes["refused"] += "damaged.bin" in str(error)
    assert sum(outcomes.values()) == len(places)
    assert min(outcomes.values()) > 20


def test_cut_files_are_refused(tmp_path):
    original = (DATA / "bigrams.bin").read_bytes()
    file = tmp_path / "cut.bin"
    for length in [*range(0, 400, 7), len(original) // 2, len(original) - 1]:
        file.write_bytes(original[:length])
        with pytest.raises(lt.FileFormatError, match=r"cut\.bin"):
            lt.TextLabelTreeClassifier.from_fasttext(file)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (0, 1, "not a fastText model"),
        (4, 13, "version 13"),
        (8, -1, "dim is -1"),
        (8, 2**30, "dim is 1073741824"),
        (32, 3, "hierarchical softmax"),
        (36, 1, "supervised"),
        (40, 0, "no buckets"),
        (40, 2**31 - 1, "input matrix"),
        (64, 2**31 - 1, "dictionary"),
        (68, 2**31 - 1, "dictionary"),
    ],
)
def test_hostile_sizes_are_refused_by_name(tmp_path, place, value, message):
    altered = bytearray((DATA / "bigrams.bin").read_bytes())
    altered[place : place + 4] = value.to_bytes(4, "little", signed=True)
    (tmp_path / "x.bin").write_bytes(altered)
    with pytest.raises(lt.FileFormatError, match=message):
        lt.TextLabelTreeClassifier.from_fasttext(tmp_path / "x.bin")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(lt.FileFormatError, match="no such file"):
        lt.TextLabelTreeClassifier.from_fasttext(tmp_path / "none.bin")
