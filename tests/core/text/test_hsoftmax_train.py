"""Training steps of the text model against a plain twin."""

import itertools

import numpy as np
import pytest
from scipy import sparse

import labeltrees as lt
from labeltrees.models.text.searcher import TextSearcher
from labeltrees.models.text.settings import TextSettings
from labeltrees.models.text.training import count_words, train_vectors


def train_twin(order, corpus_rows, labels, tree, inputs, outputs, lr, epochs, n_tokens):
    """Make one thread's steps in float64; every text has one label, so no label is drawn."""
    paths = {}
    for label in range(tree.n_labels):
        path, node, child = [], tree.label_parent[label], ~label
        while node >= 0:
            group = tree.children[tree.child_ptr[node] : tree.child_ptr[node + 1]].tolist()
            if len(group) == 2:
                path.append((node, group.index(child)))
            node, child = tree.parent[node], node
        paths[label] = path
    done = unreported = 0
    total = epochs * sum(n_tokens)
    for point in order:
        if done >= total:
            break
        rate = lr * (1 - done / total)
        rows = corpus_rows[point]
        hidden = inputs[rows].mean(axis=0)
        gradient = np.zeros_like(hidden)
        for node, code in paths[labels[point]]:
            step = rate * (code - 1 / (1 + np.exp(-hidden @ outputs[node])))
            gradient += step * outputs[node]
            outputs[node] += step * hidden
        np.add.at(inputs, rows, gradient / len(rows))
        unreported += n_tokens[point]
        if unreported > 100:
            done, unreported = done + unreported, 0


@pytest.mark.parametrize("dim", [3, 16, 40, 130, 300])
@pytest.mark.parametrize("shuffle", [False, True])
def test_training_steps_equal_the_twins(kernels, dim, shuffle):
    rng = np.random.default_rng(dim)
    words = [f"w{i}" for i in range(20)]
    texts = [" ".join(rng.choice(words, size=rng.integers(3, 12))) for _ in range(30)]
    labels = rng.integers(7, size=30)
    tree = lt.huffman_tree(np.arange(1, 8))
    settings = TextSettings(dim=dim, lr=0.7, epochs=9, min_count=1, word_ngrams=2, buckets=40, shuffle=shuffle)
    corpus = count_words(tuple(texts), "", settings)
    Y = sparse.csr_array(np.eye(7, dtype=np.float32)[labels])
    start = train_vectors(corpus, TextSettings(**{**settings.__dict__, "epochs": 0}), tree, Y, random_state=5)
    inputs, outputs = start.input[:, :dim].astype(np.float64), start.output[:, :dim].astype(np.float64)
    assert np.abs(inputs).max() <= 1 / dim
    assert np.abs(inputs).max() > 0.9 / dim
    searcher = TextSearcher(start)
    rows = [searcher.features(text)[0] for text in texts]
    n_tokens = [len(text.split()) + 2 for text in texts]  # the end of the line, and the label
    order = itertools.cycle(range(30))  # fastText's
    if shuffle:
        order = [texts.index(line.decode().rstrip()) for line in corpus.shuffled_lines(9, 5, 1)]
    train_twin(order, rows, labels, tree, inputs, outputs, 0.7, 9, n_tokens)
    trained = train_vectors(corpus, settings, tree, Y, random_state=5)
    np.testing.assert_allclose(trained.output[:, :dim], outputs, atol=2e-5)
    np.testing.assert_allclose(trained.input[:, :dim], inputs, atol=2e-5)
    assert not trained.input[:, dim:].any()
    assert not trained.output[:, dim:].any()
