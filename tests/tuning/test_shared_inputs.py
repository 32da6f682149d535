"""Models trained with shared inputs are the ones that `fit` gives."""

import pytest

import labeltrees as lt
from labeltrees.tuning.settings import make_settings
from labeltrees.tuning.shared_inputs import SharedInputs
from labeltrees.tuning.tuning_data import as_tuning_data


@pytest.mark.parametrize("changes", [{}, {"normalize": False}, {"n_trees": 2}, {"cover_softness": 0.5, "leaf_size": 3}])
def test_a_model_with_shared_embeddings_is_the_one_fit_gives(train, changes):
    estimator = lt.LabelTreeClassifier(**changes)
    inputs = SharedInputs(estimator, as_tuning_data(train, "train", estimator), n_jobs=2)
    for setting in make_settings(estimator, [0.7, 1.6], [4], ["marginal", "greedy"]):
        model = inputs.fit(setting).model
        expected = lt.LabelTreeClassifier(**changes, **setting.parameters).fit(train.X, train.Y)
        for ours, theirs in zip(model.searcher_.stores, expected.searcher_.stores, strict=True):
            assert ours.chunks.tobytes() == theirs.chunks.tobytes()
        params = {**model.get_params(), "n_jobs": None}
        assert params == expected.get_params()
