"""An MLflow flavour: log models to runs and the registry, and serve them with MLflow.

It needs the extra ``labeltrees[mlflow]``.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import labeltrees
from labeltrees._extras import import_extra
from labeltrees.errors import InputError
from labeltrees.models.load import load

FLAVOR_NAME = "labeltrees"
_FOLDER = "labeltrees.model"
_PARAMETERS = ("k", "agreement", "beam", "max_chunks", "max_microseconds")

__all__ = ["FLAVOR_NAME", "load_model", "log_model", "save_model"]


def save_model(model: Any, path: str | os.PathLike[str], **how: Any) -> None:
    """Save a model as an MLflow model on local disk.

    Parameters
    ----------
    model : LabelTreeClassifier or TextLabelTreeClassifier
    path : path
        A folder that does not exist yet.
    **how
        More arguments of ``mlflow.pyfunc.save_model``: signature, input_example, metadata, ...
    """
    pyfunc = _import_mlflow().pyfunc
    with tempfile.TemporaryDirectory() as temporary:
        pyfunc.save_model(path=os.fspath(path), **_arguments(model, Path(temporary), how))


def log_model(model: Any, name: str = "model", **how: Any) -> Any:
    """Log a model to the active run, and return MLflow's description of it.

    Parameters
    ----------
    model : LabelTreeClassifier or TextLabelTreeClassifier
    name : str
    **how
        More arguments of ``mlflow.pyfunc.log_model``: registered_model_name, signature, input_example, ...
    """
    pyfunc = _import_mlflow().pyfunc
    with tempfile.TemporaryDirectory() as temporary:
        return pyfunc.log_model(name=name, **_arguments(model, Path(temporary), how))


def load_model(model_uri: str, *, in_memory: bool = False) -> Any:
    """Load the labeltrees model from an MLflow model. ``mlflow.pyfunc.load_model`` returns MLflow's wrapper instead.

    Parameters
    ----------
    model_uri : str
        Such as ``runs:/RUN/model``, ``models:/NAME/1``, or a path.
    in_memory : bool
        As in `labeltrees.load`.
    """
    mlflow = _import_mlflow()
    folder = Path(mlflow.artifacts.download_artifacts(artifact_uri=model_uri))
    found = sorted(folder.rglob(_FOLDER))
    if not found:
        message = f"{model_uri}: not logged by labeltrees.mlflow"
        raise InputError(message)
    return load(found[0], in_memory=in_memory)


def _arguments(model: Any, temporary: Path, how: dict[str, Any]) -> dict[str, Any]:
    folder = temporary / _FOLDER
    model.save(folder)
    requirements = how.pop("pip_requirements", [f"labeltrees=={labeltrees.__version__}"])
    return {
        "python_model": _wrapper_class()(),
        "artifacts": {"model": os.fspath(folder)},
        "pip_requirements": requirements,
        **how,
    }


def _wrapper_class() -> Any:
    """Return the class that MLflow calls, defined here so that importing labeltrees.mlflow does not need mlflow."""
    pyfunc = _import_mlflow().pyfunc

    class LabelTreesModel(pyfunc.PythonModel):  # type: ignore[misc, name-defined]
        """Predicts texts, items or features, one row of labels and scores per point."""

        def load_context(self, context: Any) -> None:
            """Open the model."""
            from labeltrees.models.load import load

            self.model = load(context.artifacts["model"])

        def predict(self, context, model_input, params=None):  # type: ignore[no-untyped-def]  # MLflow reads type hints
            """Return a table with the columns labels and scores, a list per point."""
            from labeltrees.mlflow import predict_table

            return predict_table(self.model, model_input, params or {})

    LabelTreesModel.__module__ = "__main__"  # so that it is pickled by value, not by reference
    return LabelTreesModel


def predict_table(model: Any, points: Any, parameters: dict[str, Any]) -> Any:
    """Return predictions as a table, for MLflow.

    Parameters
    ----------
    model : fitted model
    points : table, list or matrix
        A table with one column of texts or lists is read as such; other tables are features.
    parameters : dict
        Options of `predict_topk`: k (5 by default), agreement, beam, max_chunks, max_microseconds.
    """
    import pandas as pd

    given = {name: parameters[name] for name in _PARAMETERS if name in parameters}
    labels, scores = model.predict_topk(_points(points), **{"k": 5, **given})
    n_found = [sum(name is not None and name != -1 for name in row) for row in labels.tolist()]
    return pd.DataFrame(
        {
            "labels": [row[:n] for row, n in zip(labels.tolist(), n_found, strict=True)],
            "scores": [row[:n] for row, n in zip(scores.tolist(), n_found, strict=True)],
        }
    )


def _points(points: Any) -> Any:
    import pandas as pd

    if isinstance(points, pd.Series):
        return points.tolist()
    if isinstance(points, pd.DataFrame):
        if points.shape[1] == 1 and not np.issubdtype(np.asarray(points.iloc[:, 0]).dtype, np.number):
            return points.iloc[:, 0].tolist()
        return points.to_numpy(np.float32)
    return points


def _import_mlflow() -> Any:
    for module in ("artifacts", "pyfunc"):
        import_extra(f"mlflow.{module}", "mlflow", "labeltrees.mlflow")
    return import_extra("mlflow", "mlflow", "labeltrees.mlflow")
