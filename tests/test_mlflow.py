"""Real MLflow logs, loads and runs a model, on local files."""

import pandas as pd
import pytest

import labeltrees as lt
from labeltrees.errors import InputError, MissingExtraError

TEXTS = ["how to keep bread fresh", "fry an egg in a pan", "bread in a pan", "boil an egg"] * 5
LABELS = [["bread"], ["egg", "pan"], ["bread", "pan"], ["egg"]] * 5


@pytest.fixture
def model():
    return lt.LabelTreeClassifier(n_jobs=1).fit(TEXTS, LABELS)


def test_predictions_are_a_table_of_lists(model):
    from labeltrees.mlflow import predict_table

    for points in (pd.DataFrame({"text": TEXTS[:2]}), pd.Series(TEXTS[:2]), TEXTS[:2]):
        table = predict_table(model, points, {"k": 2, "other": 1})
        labels, scores = model.predict_topk(TEXTS[:2], 2)
        assert table["labels"].tolist() == labels.tolist()
        assert table["scores"].tolist() == scores.tolist()


def test_a_missing_extra_is_named(model, monkeypatch):
    import sys

    import labeltrees.mlflow as flavour

    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(MissingExtraError, match=r"labeltrees\[mlflow\]"):
        flavour.log_model(model)


@pytest.mark.filterwarnings("ignore")  # of MLflow and what it imports
def test_a_logged_model_is_the_model(model, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
    import labeltrees.mlflow as flavour

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    with mlflow.start_run():
        logged = flavour.log_model(model, name="questions")
    again = flavour.load_model(logged.model_uri)
    assert again.predict_topk(TEXTS[:3], 2)[0].tolist() == model.predict_topk(TEXTS[:3], 2)[0].tolist()
    wrapped = mlflow.pyfunc.load_model(logged.model_uri)
    table = wrapped.predict(pd.DataFrame({"text": TEXTS[:3]}))
    assert table["labels"].tolist() == [
        [name for name in row if name is not None] for row in model.predict_topk(TEXTS[:3], 5)[0].tolist()
    ]
    flavour.save_model(model, tmp_path / "saved")
    assert flavour.load_model(str(tmp_path / "saved")).label_names_.tolist() == model.label_names_.tolist()
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="not logged"):
        flavour.load_model(str(tmp_path / "empty"))
