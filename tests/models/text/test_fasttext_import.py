"""A model of fastText answers here as it does there."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import labeltrees as lt
from labeltrees import _core
from tests.models.text.fasttext_models import EXPECTED, MODELS, QUERIES, huffman_twin, imported


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
