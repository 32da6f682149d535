"""Models saved by earlier releases: they load, predict the same, and can be saved and cloned."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import labeltrees as lt
from labeltrees.models.common.model_files import current_settings
from tests.integration.test_model_damage import rewrite

FOLDER = Path(__file__).parents[2] / "data_files" / "models_0.1"
RECORDED = json.loads((FOLDER / "predictions.json").read_text())
PARAMETERS = {
    "plain": {},
    "two_trees": {"n_trees": 2, "fanout": 3, "class_weight": "balanced"},
    "label_texts": {"fanout": 3},
    "label_text_weights": {"fanout": 3, "label_texts": {"points": "all", "weight": 2.0, "embedding": 0.25}},
    "parabel": lt.LabelTreeClassifier.parabel(leaf_size=3).get_params(deep=False),
    "flat": {"tree": "flat"},
    "variants": {
        "tradeoff": 1.5,
        "fanout": 2,
        "tree": lt.TreeBuilder(cover="greedy", cover_softness=0.25, path="direct", smoothing=0.5, weights_of="node"),
        "loss": lt.Solver(score_power=2.5, eps=0.01, max_iter=20, prune_below=0.05),
    },
    "logistic_beam": {"loss": "logistic", "beam": 2, "fanout": 2},
    "text_variants": {
        "dim": 4,
        "buckets": 50,
        "min_count": 1,
        "tradeoff": 1.5,
        "tree": lt.TreeBuilder(cover="greedy", smoothing=0.3),
    },
    "text_huffman": {"dim": 4, "buckets": 50, "min_count": 1, "tree": "huffman"},
}


def predict_as_recorded(model, name):
    recorded = RECORDED[name]
    labels, scores = model.predict_topk(recorded["X"], 3, raw_scores=True)
    assert labels.tolist() == recorded["labels"]
    # Scores were recorded on one instruction set; others round differently in the last bits.
    np.testing.assert_allclose(scores, np.array(recorded["scores"], np.float32), rtol=1e-5)


@pytest.mark.parametrize("name", RECORDED)
def test_models_of_version_0_1_load_predict_the_same_and_can_be_saved_again(name, tmp_path):
    model = lt.load(FOLDER / name, verify=True)
    predict_as_recorded(model, name)
    model.save(tmp_path / "model")
    again = lt.load(tmp_path / "model", verify=True)
    predict_as_recorded(again, name)
    found, expected = again.get_params(deep=False), model.get_params(deep=False)
    assert {name: found[name] for name in found if name != "vectorizer"} == {
        name: expected[name] for name in expected if name != "vectorizer"
    }
    assert clone(again).get_params(deep=False).keys() == expected.keys()


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_of_version_0_1_have_their_values_under_the_new_names(name):
    model = lt.load(FOLDER / name)
    given = dict(PARAMETERS[name])
    if isinstance(model, lt.LabelTreeClassifier):  # defaults that were others
        given["evidence"] = None
        if isinstance(given.get("label_texts", "auto"), str):
            given["label_texts"] = "missing"
    expected = type(model)(**given).get_params(deep=False)
    assert model.get_params(deep=False) == expected


def test_a_given_tree_comes_back():
    model = lt.load(FOLDER / "given_tree")
    assert model.tree == lt.LabelTree([0, 2, 6, 10], [1, 2, ~0, ~1, ~2, ~3, ~4, ~5, ~6, ~7], 8)


def test_the_first_models_lack_settings_that_were_added_before_0_1(tmp_path):
    for name, added in (
        ("plain", ("evidence", "trend", "weights_of", "label_text_points", "label_text_embedding")),
        ("text_model", ("shuffle",)),
    ):
        model = lt.load(FOLDER / name)
        model.save(tmp_path / name)
        old = json.loads((FOLDER / name / "manifest.json").read_text())["parameters"]["settings"]

        def forget(body, old=old, added=added):
            body["parameters"]["settings"] = {key: value for key, value in old.items() if key not in added}

        rewrite(tmp_path / name, forget)
        loaded = lt.load(tmp_path / name)
        predict_as_recorded(loaded, name)
        if name == "plain":
            assert (loaded.evidence, loaded.trend, loaded.tree) == (None, None, None)
            assert loaded.label_texts == {"points": "none", "weight": 1.0, "embedding": 0.0}
        else:
            assert loaded.shuffle is False


def test_settings_of_this_version_and_damaged_ones_are_not_converted():
    new = {"tree": None, "loss": "logistic"}
    assert current_settings(new) is new
    damaged = {"smoothing": 0.1, "loss": "logistic"}
    assert current_settings(damaged) is damaged
