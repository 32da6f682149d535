"""Guards that nothing else would miss: each test fails if one check or one line of code is left out."""

import copy
import os
import struct
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import labeltrees as lt
from labeltrees import _core
from labeltrees.errors import FileFormatError
from labeltrees.models.text.searcher import Texts, TextSearcher
from labeltrees.models.text.settings import TextSettings
from labeltrees.models.text.training import count_words, train_vectors
from labeltrees.search import Searcher, SearchRequest

WORDS = [f"w{i}" for i in range(12)]


def text_store(tree=None, buckets=30):
    tree = lt.huffman_tree(np.arange(1, 6) / 15) if tree is None else tree
    settings = TextSettings(dim=6, epochs=0, min_count=1, buckets=buckets)
    corpus = count_words((" ".join(WORDS), " ".join(WORDS[::-1])), "", settings)
    return train_vectors(corpus, settings, tree)


def changed(store, **arrays):
    """The store with other arrays, checked as one from a file."""
    other = copy.copy(store)
    for name, value in arrays.items():
        object.__setattr__(other, name, value)
    other.__post_init__()
    return other


# ---- the text model --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", [-1, 1])
@pytest.mark.parametrize("name", ["input", "output"])
def test_a_text_model_with_a_row_too_few_or_too_many_is_refused(name, by):
    store = text_store()
    matrix = getattr(store, name)
    rows = np.ascontiguousarray(np.resize(matrix, (len(matrix) + by, matrix.shape[1])))
    with pytest.raises(FileFormatError, match="buckets are damaged" if name == "input" else "a row of output"):
        changed(store, **{name: rows})


def test_a_text_model_whose_node_has_three_children_is_refused():
    store = text_store()
    tree = lt.flat_tree(5)
    with pytest.raises(FileFormatError, match="must be binary"):
        changed(store, child_ptr=tree.child_ptr, children=tree.children, output=store.output[:1].copy())


@pytest.mark.parametrize("by", [-1, 1])
def test_a_text_model_with_other_buckets_is_refused(by):
    store = text_store()
    with pytest.raises(FileFormatError, match="buckets must have"):
        changed(store, buckets=np.resize(store.buckets, len(store.buckets) + by))


def slot_of(store, word):
    """The place of a word's slot."""
    ends = store.word_ends.tolist()
    names = [store.words[a:b].tobytes().decode() for a, b in pairwise(ends)]
    ids = store.word_slots >> 32
    return names.index(word), int(np.flatnonzero((ids == names.index(word)) & (store.word_slots >= 0))[0])


def known_rows(store, word):
    rows, _ = TextSearcher(store).features(word)
    return [int(row) for row in rows if row < store.n_words]


def test_words_outside_the_vocabulary_are_never_read():
    store = text_store()
    word = WORDS[3]
    number, _ = slot_of(store, word)
    assert number in known_rows(store, word)
    # The bytes after the words hold the word, too: a search that left the array would find it.
    longer = np.concatenate([store.words, np.frombuffer(word.encode(), np.uint8), np.zeros(64, np.uint8)])
    ends = store.word_ends.copy()
    ends[number], ends[number + 1] = len(store.words), len(store.words) + len(word)
    assert number not in known_rows(changed(store, words=longer[: len(store.words)], word_ends=ends), word)
    # A word that starts before the array, and one that ends before it starts.
    before = np.concatenate([np.frombuffer(word.encode(), np.uint8), store.words])
    ends[number], ends[number + 1] = -len(word), 0
    assert number not in known_rows(changed(store, words=before[len(word) :], word_ends=ends), word)
    ends[number], ends[number + 1] = 5, 4
    assert number not in known_rows(changed(store, word_ends=ends), word)


def test_entries_outside_the_vocabulary_are_never_read():
    store = text_store()
    word = WORDS[3]
    number, slot = slot_of(store, word)
    n_entries = len(store.word_ends) - 1
    begin, end = store.word_ends[number : number + 2]
    # The entry after the last has the place of the word, in the memory behind the array.
    longer = np.concatenate([store.word_ends[:-1], [begin, end]]).astype(np.int64)
    slots = store.word_slots.copy()
    slots[slot] = (n_entries << 32) | (int(slots[slot]) & 0xFFFFFFFF)
    other = changed(store, word_slots=slots, word_ends=longer[: n_entries + 1])
    rows, _ = TextSearcher(other).features(word)
    assert all(row < len(store.input) for row in rows)
    assert number not in known_rows(other, word)
    # It is an unknown word, not a label, so it is in pairs: two words, three pairs. The line's end was the last entry.
    assert TextSearcher(other).features(f"{WORDS[1]} {word} {WORDS[2]}")[1] == 2 + 3


def test_a_full_table_of_words_ends_the_search_for_a_word():
    store = text_store()
    slots = np.full_like(store.word_slots, (2**31 - 1) << 32)
    assert known_rows(changed(store, word_slots=slots), WORDS[0]) == []


def test_n_grams_without_a_row_count_in_the_mean():
    tree = lt.LabelTree([0, 2], [~0, ~1], n_labels=2)
    store = text_store(tree, buckets=1000)
    store.input[:, :6] = np.random.default_rng(0).normal(size=(len(store.input), 6))
    store.output[:, :6] = 1.0
    searcher = TextSearcher(store)
    rows, n = searcher.features("w1 w2 w9 w4 w7")
    assert len(rows) < n == 6 + 5  # words (one is the line's end) and pairs, most of which training did not see
    margin = float(store.input[rows].astype(np.float64).sum(axis=0) @ store.output[0]) / n
    found = searcher.topk(Texts(["w1 w2 w9 w4 w7"]), SearchRequest(2))
    scores = dict(zip(found.labels[0].tolist(), found.scores[0].tolist(), strict=True))
    assert scores[1] == pytest.approx(1 / (1 + np.exp(-margin)) + 1e-5, rel=1e-4)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_of_equal_scores_the_smaller_label_comes_first_in_texts(k):
    tree = lt.LabelTree([0, 2, 4, 6], [1, 2, ~3, ~0, ~2, ~1], n_labels=4)
    store = text_store(tree)
    store.output[:] = 0
    store.input[:, :6] = 1
    found = TextSearcher(store).topk(Texts(["w1 w2"]), SearchRequest(k))
    assert len(set(found.scores[0].tolist())) == 1
    assert found.labels[0].tolist() == [0, 1, 2, 3][:k]


def test_a_label_below_a_node_with_a_slightly_lower_score_is_found():
    # Both shares of a node get 1e-5 more, so a label can have a higher score than the node above it.
    tree = lt.LabelTree([0, 2, 4], [~0, 1, ~1, ~2], n_labels=3)
    store = text_store(tree)
    store.input[:, :6] = 1
    rows, n = TextSearcher(store).features("w1 w2")
    mean = len(rows) / n
    store.output[:, :6] = np.array([[-4e-6], [40.0]]) / (6 * mean)
    half = 1 / (1 + np.exp(4e-6))
    expected = [(1 - half) + 1e-5, (half + 1e-5) * 1e-5, (half + 1e-5) * (1 + 1e-5)]
    assert expected[2] > expected[0] > half + 1e-5
    for k in (1, 2, 3):
        found = TextSearcher(store).topk(Texts(["w1 w2"]), SearchRequest(k))
        assert found.labels[0].tolist() == [2, 0, 1][:k]
        np.testing.assert_allclose(found.scores[0], np.array(expected)[[2, 0, 1][:k]], rtol=1e-5)


# ---- chunks ----------------------------------------------------------------------------------------------------------


def test_an_index_that_does_not_cover_the_features_is_refused(twin):
    model = twin.random_model(1, n_labels=60, n_features=700, fill=0.05)
    store = model.pack()
    chunks = store.chunks.copy()
    at = int(store.offsets[0])
    (n_levels, n_words) = struct.unpack_from("<II", chunks, at + 28)
    assert n_levels >= 1
    struct.pack_into("<I", chunks, at + 32, n_words - 1)
    damaged = replace(store, checked=False, chunks=chunks)
    with pytest.raises(FileFormatError, match=r"does not cover the features|is damaged|longer than"):
        Searcher(damaged).check()
    # One level whose last word is missing, where nothing else would notice: the word has no bits.
    for offset in store.offsets.tolist():
        n_levels, n_words = struct.unpack_from("<II", store.chunks, offset + 28)
        n_children = struct.unpack_from("<H", store.chunks, offset + 4)[0]
        index = offset + (64 + 8 * n_children + 63) // 64 * 64
        last = struct.unpack_from("<Q", store.chunks, index + 8 * (n_words - 1))[0]
        if n_levels == 1 and last & 0xFFFFFFFF == 0:
            chunks = store.chunks.copy()
            struct.pack_into("<I", chunks, offset + 32, n_words - 1)
            with pytest.raises(FileFormatError, match="does not cover the features"):
                Searcher(replace(store, checked=False, chunks=chunks)).check()
            break


@pytest.mark.parametrize(("place", "by"), [(0, 1), (-1, -1), (-1, 1)])
def test_native_code_checks_that_the_tree_spans_the_children(twin, place, by):
    # A label is first and last, so that without the check only this label would have no parent.
    model = twin.random_model(2, n_labels=5)
    tree = np.array([0, 3, 6]), np.array([~0, 1, ~1, ~2, ~3, ~4], np.int32)
    store = twin.Model(*tree, 5, model.W[[0] * 6], model.bias[[0] * 6]).pack()
    damaged = copy.copy(store)  # as if Python had not checked it
    object.__setattr__(damaged, "child_ptr", store.child_ptr.copy())
    damaged.child_ptr[place] += by
    X = twin.random_queries(3, 2, store.n_features)
    with pytest.raises(FileFormatError, match="child_ptr and children are not a tree"):
        Searcher(damaged).topk(X, SearchRequest(2, candidates=[1, 2]))


# ---- ensembles, reports, saving ------------------------------------------------------------------------------------


def test_a_budget_is_shared_by_the_trees(twin):
    store = twin.random_model(0, n_labels=200, most_children=2, stop=0.0).pack()
    X = twin.random_queries(1, 30, store.n_features)

    def found(n_trees, budget):
        labels = Searcher([store] * n_trees).topk(X, SearchRequest(5, max_chunks=budget)).labels
        return [set(row[row >= 0].tolist()) for row in labels]

    assert found(3, 12) == found(1, 4)
    assert found(3, 12) != found(1, 12)


def test_a_label_is_scored_in_its_own_part_of_a_chunk(twin):
    model = twin.random_model(4, n_labels=600, n_features=30, fill=0.5)
    tree = np.array([0, 600]), ~np.arange(600, dtype=np.int32)
    store = twin.Model(*tree, 600, model.W[[0] * 600], np.linspace(-1, 1, 600)).pack()  # later labels are better
    X = twin.random_queries(5, 4, 30)
    one, two = Searcher(store).topk(X, SearchRequest(5)), Searcher([store] * 2).topk(X, SearchRequest(5))
    assert one.labels.max() > 512  # in the third part
    np.testing.assert_array_equal(two.labels, one.labels)
    np.testing.assert_allclose(two.scores, one.scores, rtol=1e-6)


def test_chunks_that_have_other_children_than_the_tree_are_refused(twin):
    model = twin.random_model(2, n_labels=4)
    tree = np.array([0, 2, 4, 6]), np.array([1, 2, ~0, ~1, ~2, ~3], np.int32)
    store = twin.Model(*tree, 4, model.W[[0] * 6], model.bias[[0] * 6]).pack()
    X = twin.random_queries(3, 2, store.n_features)
    Searcher([store] * 2).topk(X, SearchRequest(4))
    swapped = replace(store, children=np.array([1, 2, ~2, ~3, ~0, ~1], np.int32), checked=False)
    with pytest.raises(FileFormatError, match="children are not those of the tree"):
        Searcher([swapped] * 2).topk(X, SearchRequest(4))


def test_every_file_and_folder_of_a_saved_model_is_flushed(tmp_path, monkeypatch):
    flushed, renamed = [], []
    fsync, rename, exchange = os.fsync, os.rename, _core.exchange_paths

    def note_flush(descriptor):
        flushed.append(os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}")))
        fsync(descriptor)

    def note_rename(old, new):
        renamed.append(len(flushed))
        rename(old, new)

    def note_exchange(first, second):
        renamed.append(len(flushed))
        return exchange(first, second)

    monkeypatch.setattr(os, "fsync", note_flush)
    monkeypatch.setattr(os, "rename", note_rename)
    monkeypatch.setattr(_core, "exchange_paths", note_exchange)
    model = lt.LabelTreeClassifier().fit(np.eye(4), np.eye(4))
    for _ in range(2):
        flushed.clear()
        renamed.clear()
        model.save(tmp_path / "model")
        (place,) = renamed
        before, after = flushed[:place], flushed[place:]
        files = {path.name for path in (tmp_path / "model").iterdir()}
        assert files <= set(before)
        assert any(name.startswith(".model.new-") for name in before)  # the folder, after its files
        assert before[-1].startswith(".model.new-")
        assert after == [tmp_path.name]


def test_a_file_is_flushed_before_it_takes_its_place(tmp_path, monkeypatch):
    events = []
    fsync, put = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (events.append("flush"), fsync(fd)))
    monkeypatch.setattr(os, "replace", lambda a, b: (events.append("replace"), put(a, b)))
    lt.flat_tree(3).save(tmp_path / "a.tree")
    assert events[:2] == ["flush", "replace"]
