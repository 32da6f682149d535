"""DATA for measuring or calibrating a model: points that it has not seen, with its own features and labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from labeltrees.cli.context_data import context_dataset, context_file
from labeltrees.cli.data_argument import BUNDLED, TextOptions, load_data, load_texts, refuse_name_files
from labeltrees.cli.saved_models import check_n_features, text_reader
from labeltrees.cli.text_data import model_dataset
from labeltrees.data import Dataset
from labeltrees.data.text_dataset import no_features
from labeltrees.errors import InputError
from labeltrees.models.common.protocol import Model


def read_unseen(
    data: str, label_names: str | None, index_base: Any, texts: TextOptions, model: Model, n_jobs: int
) -> Dataset:
    """Return the test part of DATA for a model; a model that reads only texts gets texts without features."""
    contexts = context_file(data, "test", texts, model)
    if contexts is not None:
        refuse_name_files(data, label_names)
        return context_dataset(contexts, model, n_jobs)
    is_bundled_matrix = data == BUNDLED and not model.takes_texts
    table = None if is_bundled_matrix else load_texts(data, "test", texts)
    if table is not None:
        refuse_name_files(data, label_names)
        features = no_features if model.READS_TEXTS else text_reader(model, n_jobs)
        return model_dataset(data, table, model.label_names_, features)
    dataset = load_data(data, label_names, part="test", index_base=index_base, texts=texts)
    check_n_features(data, dataset.n_features, model)
    _check_same_labels(data, dataset, model)
    return dataset


def _check_same_labels(data: str, dataset: Dataset, model: Model) -> None:
    if dataset.n_points == 0:
        message = f"{data}: has no points to measure the model on"
        raise InputError(message)
    if dataset.n_labels != len(model.classes_):
        message = f"{data}: has {dataset.n_labels:,} labels, but the model was trained on {len(model.classes_):,}"
        raise InputError(message)
    if dataset.label_names is None or model.label_names_ is None:
        return
    differ = np.flatnonzero(dataset.label_names != model.label_names_)
    if len(differ) > 0:
        label = differ[0]
        names = f"{dataset.label_names[label]!r} here, but {model.label_names_[label]!r} in the model"
        message = f"{data}: its labels differ from those of the model: label {label} is named {names}"
        raise InputError(message)
