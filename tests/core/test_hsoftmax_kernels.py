"""Words, hashes and training steps of the text model against plain twins."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import labeltrees as lt
from labeltrees import _core
from labeltrees.models.text.fasttext_export import used_buckets
from labeltrees.models.text.searcher import TextSearcher
from labeltrees.models.text.settings import TextSettings
from labeltrees.models.text.training import count_words, train_vectors


@pytest.fixture(params=_core.available_kernels())
def kernels(request):
    before = _core.active_kernels()
    assert _core.use_kernels(request.param)
    yield request.param
    _core.use_kernels(before)


def fnv(word):
    state = 2166136261
    for byte in word:
        signed = byte - 256 if byte > 127 else byte
        state = ((state ^ (signed & 0xFFFFFFFF)) * 16777619) & 0xFFFFFFFF
    return state


def signed32(value):
    return value - 2**32 if value >= 2**31 else value


def words_of(text):
    """What fastText reads of a line, its end included."""
    words, word = [], b""
    for byte in text + b"\n":
        if bytes([byte]) in b" \n\r\t\v\f\0":
            if word:
                words.append(word)
            if word == b"</s>":
                return words
            word = b""
        else:
            word += bytes([byte])
    return [*words, b"</s>"]


def features_twin(text, vocabulary, word_ngrams, buckets):
    words = [word for word in words_of(text) if not word.startswith(b"__label__")]
    features = [vocabulary[word] for word in words if word in vocabulary]
    hashes = [signed32(fnv(word)) for word in words]
    for i in range(len(hashes)):
        state = hashes[i] % 2**64
        for j in range(i + 1, min(i + word_ngrams, len(hashes))):
            state = (state * 116049371 + hashes[j]) % 2**64
            features.append(len(vocabulary) + state % buckets)
    return sorted(features)


@given(st.binary(max_size=30))
def test_a_words_hash_is_fnv_over_signed_bytes(word):
    assert _core.word_hash(word) == fnv(word)


PIECES = st.sampled_from(
    [b" ", b"\n", b"\t", b"\0", b"\r", b"a", b"bc", b"\xc3\xa9", b"\xff", b"</s>", b"__label__", b"red"]
)


@given(st.lists(st.lists(PIECES, max_size=25).map(b"".join), min_size=1, max_size=6), st.integers(1, 4))
@settings(max_examples=150, deadline=None)
def test_features_of_any_bytes_equal_the_twins(texts, word_ngrams):
    buckets = 13
    corpus = count_words(tuple(texts), "", TextSettings(min_count=1, word_ngrams=word_ngrams, buckets=buckets))
    text, ends = corpus.text.tobytes(), corpus.ends
    vocabulary = {text[ends[i] : ends[i + 1]]: i for i in range(corpus.n_words)}
    assert set(vocabulary) == {w for t in texts for w in words_of(t) if not w.startswith(b"__label__")}
    tree = lt.LabelTree([0, 1], [~0], 1)
    store = train_vectors(corpus, TextSettings(dim=1, epochs=0, word_ngrams=word_ngrams, buckets=buckets), tree)
    row_of = {int(bucket): corpus.n_words + i for i, bucket in enumerate(used_buckets(store))}
    searcher = TextSearcher(store)
    for query in [*texts, b"a bc unseen", b""]:
        rows, n = searcher.features(query)
        twin = features_twin(query, vocabulary, word_ngrams, buckets)
        assert n == len(twin)
        here = [f if f < corpus.n_words else row_of.get(f - corpus.n_words, -1) for f in twin]
        assert sorted(rows.tolist()) == sorted(row for row in here if row >= 0)


def train_twin(corpus_rows, labels, tree, inputs, outputs, lr, epochs, n_tokens):
    """One thread's steps in float64; every text has one label, so that nothing is drawn."""
    ways = {}
    for label in range(tree.n_labels):
        way, node, child = [], tree.label_parent[label], ~label
        while node >= 0:
            group = tree.children[tree.child_ptr[node] : tree.child_ptr[node + 1]].tolist()
            if len(group) == 2:
                way.append((node, group.index(child)))
            node, child = tree.parent[node], node
        ways[label] = way
    done = unreported = 0
    total = epochs * sum(n_tokens)
    point = 0
    while done < total:
        rate = lr * (1 - done / total)
        rows = corpus_rows[point]
        hidden = inputs[rows].mean(axis=0)
        gradient = np.zeros_like(hidden)
        for node, code in ways[labels[point]]:
            step = rate * (code - 1 / (1 + np.exp(-hidden @ outputs[node])))
            gradient += step * outputs[node]
            outputs[node] += step * hidden
        np.add.at(inputs, rows, gradient / len(rows))
        unreported += n_tokens[point]
        if unreported > 100:
            done, unreported = done + unreported, 0
        point = (point + 1) % len(labels)


@pytest.mark.parametrize("dim", [3, 16, 40, 130, 300])
def test_training_steps_equal_the_twins(kernels, dim):
    rng = np.random.default_rng(dim)
    words = [f"w{i}" for i in range(20)]
    texts = [" ".join(rng.choice(words, size=rng.integers(3, 12))) for _ in range(30)]
    labels = rng.integers(7, size=30)
    tree = lt.huffman_tree(np.arange(1, 8))
    settings = TextSettings(dim=dim, lr=0.7, epochs=9, min_count=1, word_ngrams=2, buckets=40)
    corpus = count_words(tuple(texts), "", settings)
    Y = sparse.csr_array(np.eye(7, dtype=np.float32)[labels])
    start = train_vectors(corpus, TextSettings(**{**settings.__dict__, "epochs": 0}), tree, Y, random_state=5)
    inputs, outputs = start.input[:, :dim].astype(np.float64), start.output[:, :dim].astype(np.float64)
    assert np.abs(inputs).max() <= 1 / dim
    assert np.abs(inputs).max() > 0.9 / dim
    searcher = TextSearcher(start)
    rows = [searcher.features(text)[0] for text in texts]
    n_tokens = [len(text.split()) + 2 for text in texts]  # the end of the line, and the label
    train_twin(rows, labels, tree, inputs, outputs, 0.7, 9, n_tokens)
    trained = train_vectors(corpus, settings, tree, Y, random_state=5)
    np.testing.assert_allclose(trained.output[:, :dim], outputs, atol=2e-5)
    np.testing.assert_allclose(trained.input[:, :dim], inputs, atol=2e-5)
    assert not trained.input[:, dim:].any()
    assert not trained.output[:, dim:].any()
