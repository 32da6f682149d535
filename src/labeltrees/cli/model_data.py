"""DATA that a model is measured or calibrated on: points it has not seen, of its own features and labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from labeltrees.cli.data_argument import BUNDLED, TextOptions, load_data, load_texts, refuse_name_files
from labeltrees.cli.model_options import Model, check_n_features, text_reader
from labeltrees.cli.text_data import model_dataset
from labeltrees.data import Dataset
from labeltrees.data.text_dataset import no_features
from labeltrees.errors import InputError
from labeltrees.models.text.estimator import TextLabelTreeClassifier


def read_measured(
    data: str, label_names: str | None, index_base: Any, texts: TextOptions, model: Model, n_jobs: int
) -> Dataset:
    """Return the test part of DATA for a model; one that reads texts itself gets texts without features."""
    of_texts = text_reader(model, n_jobs)
    is_bundled_matrix = data == BUNDLED and of_texts is None
    table = None if is_bundled_matrix else load_texts(data, "test", texts)
    if table is not None:
        refuse_name_files(data, label_names)
        reads_texts = isinstance(model, TextLabelTreeClassifier)
        return model_dataset(data, table, model.label_names_, no_features if reads_texts else of_texts)
    dataset = load_data(data, label_names, part="test", index_base=index_base, texts=texts)
    check_n_features(data, dataset.n_features, model)
    _check_labels(data, dataset, model)
    return dataset


def _check_labels(data: str, dataset: Dataset, model: Model) -> None:
    """Refuse data of other labels than the model's."""
    if dataset.n_points == 0:
        message = f"{data}: no points to measure the model on"
        raise InputError(message)
    if dataset.n_labels != len(model.classes_):
        message = f"{data}: {dataset.n_labels:,} labels, but the model was trained on {len(model.classes_):,}"
        raise InputError(message)
    if dataset.label_names is None or model.label_names_ is None:
        return
    differ = np.flatnonzero(dataset.label_names != model.label_names_)
    if len(differ) > 0:
        label = differ[0]
        names = f"{dataset.label_names[label]!r} here and {model.label_names_[label]!r} in the model"
        message = f"{data}: other labels than the model's: label {label} is called {names}"
        raise InputError(message)
