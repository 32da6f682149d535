"""Saved models as the commands use them: open them, turn texts into queries, describe them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from labeltrees.cli.output import check_parent_folder
from labeltrees.errors import InputError
from labeltrees.models.common.protocol import Model
from labeltrees.models.load import load
from labeltrees.storage.save import check_target


def check_output(folder: str) -> None:
    """Raise an error if no model can be saved in `folder`: before the work, not after it."""
    check_parent_folder(folder)
    check_target(Path(os.path.abspath(folder)))


def load_model(folder: str, *, verify: bool = False) -> Model:
    """Open the model that MODEL names."""
    model: Model = load(folder, verify=verify)
    return model


def text_reader(model: Model, n_jobs: int) -> Callable[[Any], Any] | None:
    """Return a function that turns texts into queries for the model's searcher; None if it takes no texts."""
    return (lambda texts: model.check_queries(texts, n_jobs)) if model.takes_texts else None


def simple_parameters(model: Model) -> dict[str, Any]:
    """Return the parameters of a model that are strings, numbers or None: no trees, no arrays."""
    parameters = model.get_params(deep=False).items()
    return {name: value for name, value in parameters if value is None or isinstance(value, bool | int | float | str)}


def check_n_features(data: str, n_features: int, model: Model) -> None:
    """Raise `InputError` if points with `n_features` features do not fit the model."""
    if model.READS_TEXTS:
        message = f"{data}: has {n_features:,} features per point, but a {model.KIND} needs texts"
        raise InputError(message)
    expected = model.searcher_.n_features
    if n_features != expected:
        message = f"{data}: has {n_features:,} features per point, but the model was trained on {expected:,}"
        raise InputError(message)


def disk_bytes(folder: str | os.PathLike[str]) -> dict[str, int]:
    """Return the sizes of a model's files by name, largest first."""
    sizes = {path.name: path.stat().st_size for path in Path(folder).iterdir() if path.is_file()}
    return dict(sorted(sizes.items(), key=lambda item: (-item[1], item[0])))
