"""Saved models in commands: open them, turn texts into queries, describe them."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from labeltrees._files import naming_file
from labeltrees.cli.output import check_parent_folder, console, make_table, number, plural, print_json, size
from labeltrees.cli.tree import summary_rows
from labeltrees.data import Dataset
from labeltrees.data.data_folder import BUNDLED
from labeltrees.data.label_sets import known_labels
from labeltrees.data.point_blocks import context_file, encode_block, no_texts, read_contexts
from labeltrees.data.read_data import DataOptions, TextFile, load_data, load_texts
from labeltrees.data.texts import TextTable, no_features, text_dataset
from labeltrees.errors import InputError, LabelTreesError
from labeltrees.models.common.protocol import Model
from labeltrees.models.load import load
from labeltrees.storage.folder import check_target

_logger = logging.getLogger("labeltrees")


def check_output(folder: str) -> None:
    """Raise an error if no model can be saved in `folder`; call it before the work starts."""
    check_parent_folder(folder)
    check_target(Path(os.path.abspath(folder)))


def is_calibrated(folder: str) -> bool:
    """Whether a folder has a model with probabilities; False if it has no model, or a damaged one."""
    try:
        model: Model = load(folder)
    except LabelTreesError:
        return False
    return model.calibration_ is not None


def load_model(folder: str, *, verify: bool = False) -> Model:
    """Open the model in a folder."""
    model: Model = load(folder, verify=verify)
    return model


def text_reader(model: Model, n_jobs: int) -> Callable[[Any], Any] | None:
    """Return a function that turns texts into queries for the model's searcher; None if it takes no texts."""
    return (lambda texts: model.check_queries(texts, n_jobs)) if model.takes_texts else None


def simple_parameters(model: Model) -> dict[str, Any]:
    """Return the parameters of a model that are strings, numbers or None: no trees, no arrays."""
    parameters = model.get_params().items()
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


def model_facts(model: Model, folder: str) -> dict[str, Any]:
    """Return parameters, counts, trees and size of the model saved in a folder."""
    with naming_file(folder):  # a mapped tree is checked when it is first used
        trees = [asdict(tree.summary()) for tree in model.trees_]
    return {
        "model": folder,
        "parameters": simple_parameters(model),
        **({"C": model.stats_["C"]} if "C" in model.stats_ else {}),
        "n_labels": len(model.classes_),
        "n_points": model.n_points_,
        **model.sizes(),
        "trees": trees,
        "disk_bytes": sum(disk_bytes(folder).values()),
    }


def evidence_words(stats: dict[str, Any]) -> str:
    """Describe what a model learned about evidence, from its ``stats_["evidence"]``.

    Examples
    --------
    >>> evidence_words({"used": False, "held_out_points": 900, "gain": 0.001, "gain_lower": -0.002})
    'off: no significant gain on 900 held-out points (+0.10 percentage points)'
    """
    points = f"{plural(stats['held_out_points'], 'held-out point')}"
    gain = f"{100 * stats['gain']:+.2f} percentage points" if "gain" in stats else None
    if not stats["used"]:
        return (
            f"off: too few points to learn from ({points})"
            if gain is None
            else (f"off: no significant gain on {points} ({gain})")
        )
    earlier = {f"{name}s": stats[f"{name}_weight"] for name in ("neighbour", "centroid") if f"{name}_weight" in stats}
    weights = "weight " + ", ".join(f"{weight:g} of {name}" for name, weight in stats.get("weights", earlier).items())
    learned = "not learned: too few points" if gain is None else f"{gain} on {points}"
    return f"{weights} ({learned}), {size(stats['bytes'])}"


def c_text(costs: list[float]) -> str:
    """Return the values of C at each depth of a tree as text.

    Examples
    --------
    >>> c_text([0.3, 1.0])
    '0.3, 1'
    """
    return ", ".join(f"{cost:g}" for cost in costs)


def report_fit(model: Model, folder: str, as_json: bool, calibration: dict[str, Any] | None = None) -> None:
    """Print a summary of a saved model after training; `calibration` has the results on held-out points."""
    facts, stats = model_facts(model, folder), model.stats_
    training = {name: stats[name] for name in ("seconds", "tree_seconds", "loss", "evidence") if name in stats}
    if as_json:
        print_json({**facts, **training, **({} if calibration is None else {"calibration": calibration})})
        return
    out, trees = console(), model.trees_
    out.print(f"{plural(facts['n_labels'], 'label')}, {plural(facts['n_points'], 'point')} -> {folder}")
    rows = [("training time", f"{stats['seconds']:.1f} s, of which {stats['tree_seconds']:.1f} s for the tree")]
    if "n_words" in facts:
        rows.append(("vocabulary", f"{plural(facts['n_words'], 'word')}, {plural(facts['n_ngrams'], 'n-gram')}"))
    if "C" in facts:
        rows.append(("C by depth", c_text(facts["C"])))
    if "loss" in training:
        rows.append(("loss", f"{training['loss']:.4f}"))
    rows += [("weights", f"{facts['n_weights']:,}"), ("size on disk", size(facts["disk_bytes"]))]
    if "evidence" in stats:
        rows.append(("evidence", evidence_words(stats["evidence"])))
    if calibration is not None:
        error = number(100 * calibration["probabilities"]["error"], 1)
        held_out = plural(calibration["n_points"], "held-out point")
        rows.append(("probabilities", f"learned from {held_out}; mean error {error} %"))
    if len(trees) > 1:
        rows.append(("trees", f"{len(trees)}; the first one:"))
    out.print(make_table(None, [*rows, *summary_rows(trees[0].summary())], left=(0, 1)))


def read_unseen(data: str, reading: DataOptions, model: Model, n_jobs: int) -> Dataset:
    """Return the test part of DATA for a model; a model that reads only texts gets texts without features."""
    contexts = context_file(data, reading, model.encoder_)
    if contexts is not None:
        reading.refuse_names(data, "contains texts, which have names already")
        return _context_dataset(contexts, model, n_jobs)
    is_bundled_matrix = data == BUNDLED and not model.takes_texts
    table = None if is_bundled_matrix else load_texts(data, "test", reading)
    if table is not None:
        reading.refuse_names(data, "contains texts, which have names already")
        return _table_dataset(data, table, model, n_jobs)
    dataset = load_data(data, "test", reading)
    check_n_features(data, dataset.n_features, model)
    _check_same_labels(data, dataset, model)
    return dataset


def _table_dataset(data: str, table: TextTable, model: Model, n_jobs: int) -> Dataset:
    """Return texts as a Dataset with the features and labels of a model.

    Labels that the model does not know are added after its own labels, so that they count as missed.
    """
    features = no_features if model.READS_TEXTS else text_reader(model, n_jobs)
    if features is None:
        raise no_texts(data)
    if model.label_names_ is None:
        message = f"{data}: has labels with names, but the labels of the model have no names"
        raise InputError(message)
    names = model.label_names_.tolist()
    unknown = sorted(set(table.label_names()) - set(names))
    if unknown:
        text = "%s: the model does not know %s, such as %r"
        _logger.warning(text, data, plural(len(unknown), "label"), unknown[0])
    X = features(table.texts)
    return text_dataset(table.texts, table.labels, label_names=names + unknown, X=X, sample_weight=table.weights)


def _context_dataset(file: TextFile, model: Model, n_jobs: int) -> Dataset:
    """Return contexts with labels as a Dataset with the features and labels of a model."""
    encoder = model.encoder_
    assert encoder is not None
    rows: list[Any] = []
    labels: list[Any] = []
    for block in read_contexts(file, encoder, labels=True):
        rows.append(encode_block(file, encoder, block, n_jobs))
        labels += block.labels
    without = next((row for row, own in enumerate(labels) if not isinstance(own, list)), None)
    if without is not None or not labels:
        message = f'{file.path}: point {without or 0} has no labels; a line must be {{"items": [...], "labels": [...]}}'
        raise InputError(message)
    names = getattr(model, "_label_names", None)
    Y = known_labels(labels, (len(labels), model.searcher_.n_labels), names)
    return Dataset(sparse.vstack(rows, format="csr"), Y, label_names=model.label_names_)


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
