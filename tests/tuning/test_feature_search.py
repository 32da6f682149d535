"""choose tries other features for texts, and the model then reads texts with them."""

import numpy as np
import pytest

import labeltrees as lt
from labeltrees.data.text_dataset import text_dataset
from labeltrees.tuning.feature_search import can_choose_features
from labeltrees.tuning.tuning_data import as_tuning_data


@pytest.fixture(scope="module")
def data():
    """Texts in which only parts of words say what the label is."""
    rng = np.random.default_rng(0)
    stems = ["garten", "wasser", "kinder", "feuer", "winter", "sommer"]
    letters = list("abcdefghijklmnop")
    texts, labels = [], []
    for _ in range(500):
        stem = int(rng.integers(len(stems)))
        ends = ["".join(rng.choice(letters, 4)) for _ in range(3)]
        texts.append(" ".join([stems[stem] + ends[0], ends[1], "wort"]))
        labels.append([f"label {stem}"])
    return text_dataset(texts, labels)


def test_features_are_chosen_and_the_model_reads_texts(data):
    choice = lt.choose(data, tune=["features", "C"], repeats=1, n_jobs=1)
    assert "chars" in choice.parameters["features"]
    tried = [trial["features"] for trial in choice.trials if "features" in trial]
    assert tried == ["as given", "words+pairs", "words+chars", "words+pairs+chars"]
    assert "4 kinds of features were tried on 400 points" in choice.explanation
    labels, _ = choice.model.predict_topk(["feuerwehr und wort"], 1)
    assert labels[0, 0] == "label 3"
    assert choice.model.vectorizer_.get_state().n_features == choice.model.n_features_in_


def test_features_need_texts_and_a_vectorizer(data):
    pair = (data.X, data.Y)
    assert not can_choose_features(as_tuning_data(pair, "train", lt.LabelTreeClassifier()))
    with pytest.raises(lt.InputError, match="features can only be chosen for a Dataset with texts"):
        lt.choose(pair, tune=["features"])
