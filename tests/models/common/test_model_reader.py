"""Models saved by earlier releases."""

import pytest

import labeltrees as lt
from labeltrees.models.common.model_reader import ADDED_SETTINGS
from tests.integration.test_model_damage import rewrite

TEXTS = [f"word{i % 7} word{i % 5} more" for i in range(60)]
LABELS = [[f"label{i % 7}", f"label{i % 3}"] for i in range(60)]
# Functions: pytest keeps the arguments of `parametrize` to its end, and nanobind would report fitted models as leaked.
MODELS = {
    "linear": lambda: lt.LabelTreeClassifier(fanout=2, C=1.0),
    "text": lambda: lt.TextLabelTreeClassifier(dim=4, epochs=1, n_jobs=1),
}


@pytest.mark.parametrize("family", MODELS)
def test_settings_added_later_may_be_missing(family, tmp_path):
    model = MODELS[family]().fit(TEXTS, LABELS)
    model.save(tmp_path / "model")

    def forget(body):
        for name in ADDED_SETTINGS:
            body["parameters"]["settings"].pop(name, None)

    rewrite(tmp_path / "model", forget)
    loaded = lt.load(tmp_path / "model", verify=True)
    for found, expected in zip(loaded.predict_topk(TEXTS, 3), model.predict_topk(TEXTS, 3), strict=True):
        assert found.tolist() == expected.tolist()
    known = loaded.get_params()
    assert {name: known[name] for name in ADDED_SETTINGS if name in known} == {
        name: value for name, value in ADDED_SETTINGS.items() if name in known
    }


def test_every_setting_with_a_value_for_earlier_models_exists():
    names = {name for make in MODELS.values() for name in make().get_params()}
    assert ADDED_SETTINGS.keys() <= names
