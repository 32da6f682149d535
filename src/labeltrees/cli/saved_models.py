"""Saved models as the commands use them: open them, turn texts into queries, describe them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from labeltrees._files import naming_file
from labeltrees.cli.context_data import context_dataset, context_file
from labeltrees.cli.data_argument import BUNDLED, TextOptions, load_data, load_texts, refuse_name_files
from labeltrees.cli.output import check_parent_folder, console, make_table, plural, print_json, size
from labeltrees.cli.text_data import model_dataset
from labeltrees.cli.tree import summary_rows
from labeltrees.data import Dataset
from labeltrees.data.text_dataset import no_features
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
    """Return in words what was learned about evidence, from ``stats_["evidence"]`` of a model.

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
    weights = f"weight {stats['neighbour_weight']:g} of neighbours, {stats['centroid_weight']:g} of centroids"
    learned = "not learned: too few points" if gain is None else f"{gain} on {points}"
    return f"{weights} ({learned}), {size(stats['bytes'])}"


def c_text(costs: list[float]) -> str:
    """Return the cost of errors at each depth of a tree.

    Examples
    --------
    >>> c_text([0.3, 1.0])
    '0.3, 1'
    """
    return ", ".join(f"{cost:g}" for cost in costs)


def report_fit(model: Model, folder: str, as_json: bool) -> None:
    """Print a summary of the model that was trained and saved."""
    facts, stats = model_facts(model, folder), model.stats_
    training = {name: stats[name] for name in ("seconds", "tree_seconds", "loss", "evidence") if name in stats}
    if as_json:
        print_json({**facts, **training})
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
    if len(trees) > 1:
        rows.append(("trees", f"{len(trees)}; the first one:"))
    out.print(make_table(None, [*rows, *summary_rows(trees[0].summary())], left=(0, 1)))


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
