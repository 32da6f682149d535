import numpy as np
import pytest

import labeltrees as lt
from labeltrees import _core
from labeltrees._losses import LOSSES


@pytest.mark.parametrize("name", LOSSES)
def test_native_code_has_every_loss(name):
    assert LOSSES[name].name == name
    _core.SearchEngine(2, 2, matrices=False, normalize=False, loss=name, score_power=3.0)


@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_separates_labels(name):
    rng = np.random.default_rng(0)
    Y = np.eye(6)[rng.integers(0, 6, 300)]
    X = Y @ rng.random((6, 20)) + 0.01 * rng.random((300, 20))
    model = lt.LabelTreeClassifier(loss=name, fanout=3, C=10.0).fit(X, Y)
    assert model.score(X, Y) > 0.95
    assert hasattr(model, "predict_proba") == LOSSES[name].scores_are_probabilities
