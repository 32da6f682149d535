"""Texts go through sweep and choose: features are made once, and what is chosen takes texts."""

import numpy as np
import pytest

import labeltrees as lt
from labeltrees.data.texts import text_dataset

WORDS = ("web", "music", "perl", "font", "game")


@pytest.fixture(scope="module")
def texts():
    rng = np.random.default_rng(0)
    chosen = [rng.permutation(5)[: rng.integers(1, 3)] for _ in range(300)]
    return text_dataset(
        ["a package for " + " and ".join(WORDS[i] for i in row) for row in chosen],
        [[f"lib{WORDS[i]}" for i in row] for row in chosen],
    )


def test_the_chosen_model_takes_texts_and_keeps_doing_so_when_saved(texts, tmp_path):
    model = lt.choose(texts, max_precision_loss=0.5, tune={"tradeoff": [0, 1], "fanout": [2]}).model
    by_text = model.predict_topk(texts.texts[:7], 2)
    by_features = model.predict_topk(texts.X[:7], 2)
    np.testing.assert_array_equal(by_text[0], by_features[0])
    model.save(tmp_path / "model")
    opened = lt.load(tmp_path / "model")
    np.testing.assert_array_equal(opened.predict_topk(texts.texts[:7], 2)[0], by_text[0])
    assert opened.predictor(1)(texts.texts[0])[0].shape == (1,)


def test_the_text_model_is_swept_too(texts):
    estimator = lt.TextLabelTreeClassifier(dim=8, epochs=5, buckets=100, min_count=1)
    result = lt.sweep(texts[:200], texts[200:], estimator=estimator, tradeoffs=[0, 1])
    assert [record["tradeoff"] for record in result.table] == [0, 1]
    assert all(0 < record["p1"] <= 1 and record["depth1"] >= 1 for record in result.table)


def test_a_tree_from_shared_embeddings_is_the_one_the_text_model_builds(texts):
    estimator = lt.TextLabelTreeClassifier(dim=4, epochs=1, buckets=100, min_count=1)
    own = estimator.fit(texts.texts, texts.Y).tree_
    embeddings = estimator.label_embeddings(texts.texts, texts.Y)
    covers = lt.cover_frequencies(texts.Y)
    assert lt.build_tree_from(embeddings, lt.label_frequencies(texts.Y), covers, tradeoff=1, fanout=2) == own
