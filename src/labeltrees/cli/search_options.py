"""Options for searching labels, generated from `SearchRequest`, and for which labels may be returned."""

from __future__ import annotations

import functools
import logging
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Protocol

import click
import numpy as np
from scipy import sparse

from labeltrees._names import did_you_mean
from labeltrees._settings import settings_of
from labeltrees._validation import check_number
from labeltrees.cli.command import rare_option
from labeltrees.cli.options import Decorator, add_options, given_options, refuse_option, setting_options
from labeltrees.cli.output import plural
from labeltrees.data import Dataset, ItemEncoder
from labeltrees.data.encoders import Encoder
from labeltrees.data.files import read_lines
from labeltrees.data.text_formats import plain_uri
from labeltrees.errors import FileFormatError, InputError
from labeltrees.metrics import propensities_of_counts
from labeltrees.metrics.propensity import MIN_POINTS
from labeltrees.models.common.label_rules import SET_MARK, labels_of_vocabulary
from labeltrees.models.common.protocol import Model
from labeltrees.models.linear.features import labels_of_features
from labeltrees.models.linear.features import seen_labels as labels_of_points
from labeltrees.search.request import SearchRequest

# Settings of a search that commands offer in another way (k, candidates), or not at all.
_SKIPPED = (
    "k",
    "search",
    "max_chunks",
    "max_microseconds",
    "candidates",
    "exclude",
    "label_weight",
    "limits",
    "threshold",
    "broader",
)
_NAMES = tuple(item.name for item in settings_of(SearchRequest) if item.name not in _SKIPPED)


@dataclass(frozen=True)
class SearchOptions:
    """The search options that the user has set."""

    given: dict[str, Any]

    def make_request(self, model: Model, k: int, **labels: Any) -> SearchRequest:
        """Return the request for k labels, completed by the model; `labels` are other fields, such as candidates."""
        unsupported = next((name for name in self.given if name in model.UNSUPPORTED), None)
        if unsupported is not None:
            refuse_option("--" + unsupported.replace("_", "-"), f"a {model.KIND}", "its search is always exact")
        return model.complete_request(SearchRequest(k, **self.given, **labels))


def search_options(command: Any) -> Any:
    """Add the options for how labels are searched; the command gets them as one SearchOptions named `search`."""

    @functools.wraps(command)
    def packed(*arguments: Any, **parameters: Any) -> Any:
        given = given_options({name: parameters.pop(name) for name in _NAMES if name in parameters})
        return command(*arguments, search=SearchOptions(given), **parameters)

    return setting_options(SearchRequest, skip=_SKIPPED)(packed)


_logger = logging.getLogger("labeltrees")
RAW_SCORES = (
    "the probabilities of this model are not calibrated: they are its scores, which are usually too low. "
    "To calibrate it: labeltrees calibrate %s DATA"
)


@dataclass(frozen=True)
class ScoreOptions:
    """The options --proba and --threshold, as given."""

    proba: bool
    threshold: float | None

    def check(self, model: Model, folder: str, label_weight: str | None) -> None:
        """Raise `InputError` for invalid options, or for --proba if the model has no probabilities."""
        if self.threshold is not None:
            check_number("threshold", self.threshold, 0, 1 if label_weight is None else np.inf)
        if not self.proba:
            return
        if label_weight is not None:
            refuse_option("--proba", "--label-weight", "weighted scores are not probabilities")
        if not hasattr(model, "predict_proba"):
            message = (
                f"{folder}: --proba needs probabilities, which this model has not learned yet: run labeltrees "
                f"calibrate {folder} DATA on points that it was not trained on"
            )
            raise InputError(message)
        if model.calibration_ is None:
            _logger.warning(RAW_SCORES, folder)

    def threshold_of(self, model: Model) -> float | None:
        """Return the threshold: the one given, or the one stored with the model."""
        stored: float | None = model.get_params(deep=False)["threshold"]
        return stored if self.threshold is None else self.threshold


def score_options(threshold_help: str) -> Decorator:
    """Return a decorator that adds --proba and --threshold; the command gets them as one ScoreOptions, `score`."""

    def decorate(command: Any) -> Any:
        @functools.wraps(command)
        def packed(*arguments: Any, proba: bool, threshold: float | None, **given: Any) -> Any:
            return command(*arguments, score=ScoreOptions(proba, threshold), **given)

        options = [
            rare_option("--proba", is_flag=True, help="Return probabilities; fail if the model has none."),
            click.option("--threshold", type=float, metavar="T", help=threshold_help),
        ]
        return add_options(options)(packed)

    return decorate


class KnownLabels(Protocol):
    """What the options for labels need: a model has it, and training data as `DataLabels`."""

    @property
    def label_names_(self) -> Any:
        """The names of the labels (L,), or None."""

    @property
    def classes_(self) -> Any:
        """The names of the labels (L,), or their ids."""

    @property
    def encoder_(self) -> Encoder | None:
        """The encoder from contexts to features."""

    label_counts_: Any
    n_points_: Any

    def vocabulary_set(self, labels: Any) -> Any:
        """Return the label ids of a vocabulary set such as "@Places"."""


class DataLabels:
    """The labels of training data, before there is a model."""

    def __init__(self, data: Dataset) -> None:
        self.label_names_, self.encoder_, self.n_points_ = data.label_names, data.encoder, data.n_points
        self.classes_ = np.arange(data.n_labels) if data.label_names is None else data.label_names
        self.label_counts_ = np.bincount(data.Y.indices, minlength=data.n_labels)
        self.label_relations_ = None if data.label_texts is None else data.label_texts.relations

    def vocabulary_set(self, labels: Any) -> Any:
        """Return the label ids of a vocabulary set such as "@Places"."""
        return labels_of_vocabulary(labels, self.label_relations_)


@dataclass(frozen=True)
class RuleOptions:
    """The options for which labels may be returned, as given."""

    candidates: tuple[str, ...]
    exclude: tuple[str, ...]
    exclude_seen: bool
    limit_per: str | None
    label_weight: str | None

    def read(self, model: KnownLabels, propensity: tuple[float, float] = (0.55, 1.5)) -> dict[str, Any]:
        """Return the rules as arguments of a request, without `exclude_seen`, which depends on the points."""
        return {
            "candidates": read_labels("--candidates", self.candidates, model),
            "exclude": read_labels("--exclude", self.exclude, model),
            "label_weight": read_label_weight(self.label_weight, model, propensity),
            "limits": None if self.limit_per is None else _read_limits(self.limit_per, model),
        }

    def for_training(self, data: Dataset, diversity: float | None) -> dict[str, Any]:
        """Return the argument `rules` of `sweep` and `choose`."""
        return {**self.read(DataLabels(data)), "exclude_seen": self.exclude_seen, "diversity": diversity}

    def described(self) -> dict[str, Any]:
        """Return the options that were given."""
        return {name: value for name, value in vars(self).items() if value}


def rule_options(command: Any, cls: type[click.Option] = click.Option) -> Any:
    """Add the options for which labels may be returned; the command gets them as one RuleOptions named `rules`."""

    @functools.wraps(command)
    def packed(*arguments: Any, **parameters: Any) -> Any:
        rules = RuleOptions(**{item.name: parameters.pop(item.name) for item in fields(RuleOptions)})
        return command(*arguments, rules=rules, **parameters)

    label_set = functools.partial(click.option, metavar="LABEL|FILE|@NAME", multiple=True, cls=cls)
    options = [
        label_set(
            "--candidates",
            help="Labels that may be returned: names, item ids or label ids; a FILE has one per line. @NAME: a scheme, "
            "type or collection of the model's SKOS vocabulary.",
        ),
        label_set("--exclude", help="Labels that must not be returned, in the same form."),
        click.option("--exclude-seen", is_flag=True, cls=cls, help="Leave out the items of each point."),
        click.option(
            "--limit-per",
            metavar="FILE:M",
            cls=cls,
            help="At most M labels of each group, such as a brand. FILE has lines label TAB group.",
        ),
        click.option(
            "--label-weight",
            "--boost",
            metavar="FILE|propensity",
            cls=cls,
            help="Multiply the scores of labels. FILE has lines label TAB weight; other labels have weight 1. "
            "propensity: 1 / propensity, which gives the best lists for PSP.",
        ),
    ]
    return add_options(options)(packed)


def seen_labels(model: Model, points: Any, others: Sequence[int] | None = None) -> Any:
    """Return the labels of the items of each point, and `others` for every point, as a CSR matrix (n, L)."""
    takes_items = model.label_names_ is not None and isinstance(getattr(model, "encoder_", None), ItemEncoder)
    is_sparse: bool = sparse.issparse(points)
    if not takes_items or not is_sparse:
        message = "--exclude-seen needs a model that takes items, and items in DATA or --ask"
        raise InputError(message)
    return labels_of_points(points, labels_of_features(model), len(model.classes_), others)


def read_labels(option: str, values: Sequence[str], model: KnownLabels) -> list[int] | None:
    """Return the label ids of all values of an option: labels, files of labels and sets of the vocabulary, @NAME."""
    if not values:
        return None
    ids = _ids_by_name(model)
    found: list[int] = []
    for value in values:
        if value.startswith(SET_MARK):
            found += model.vocabulary_set(value).tolist()
        elif Path(value).is_file():
            found += _read_label_file(value, ids, model)
        elif (name := value if value in ids else plain_uri(value)) in ids:
            found.append(ids[name])
        else:
            message = f"{option}: {value!r} is neither a file nor a label of the model{did_you_mean(value, ids)}"
            raise InputError(message)
    return found


def _read_label_file(path: str, ids: dict[str, int], model: KnownLabels) -> list[int]:
    lines = [line if line in ids else plain_uri(line) for line in read_lines(path) if line]
    if not lines:
        message = f"{path}: contains no labels"
        raise FileFormatError(message)
    takes_items = isinstance(model.encoder_, ItemEncoder)
    unknown = [line for line in lines if line not in ids]
    if unknown and not (takes_items and len(unknown) < len(lines)):
        message = f"{path}: the model has no label {unknown[0]!r}{did_you_mean(unknown[0], ids)}"
        raise FileFormatError(message)
    if unknown:  # a list of items in stock may have items that nobody has bought yet
        text = "%s: the model does not know %s, such as %r, which are left out"
        _logger.warning(text, path, plural(len(unknown), "label"), unknown[0])
    return [ids[line] for line in lines if line in ids]


def _ids_by_name(model: KnownLabels) -> dict[str, int]:
    """Return the mapping from label names, and from item ids, to label ids."""
    names = range(len(model.classes_)) if model.label_names_ is None else model.label_names_
    ids = {str(name): label for label, name in enumerate(names)}
    if isinstance(model.encoder_, ItemEncoder):
        known = zip(model.encoder_.item_ids, model.encoder_.feature_names.tolist(), strict=False)
        ids = {item: ids[name] for item, name in known if name in ids} | ids
    return ids


def _read_limits(given: str, model: KnownLabels) -> Any:
    """Return the limits of FILE:M; labels that the file lacks, or that the model lacks, have no limit."""
    path, colon, most = given.rpartition(":")
    if not colon or not most.isdigit():
        message = f"--limit-per {given}: must be FILE:M, such as brands.tsv:2; M is the maximum number per group"
        raise InputError(message)
    if not Path(path).is_file():
        message = f"--limit-per {given}: there is no file {path}"
        raise InputError(message)
    ids, groups = _ids_by_name(model), {}
    for number, line in enumerate(read_lines(path), start=1):
        if not line:
            continue
        name, tab, group = line.rpartition("\t")
        name = name if name in ids else plain_uri(name)
        if not tab:
            message = f"{path}, line {number}: must be a label, a tab and a group, got {line!r}"
            raise FileFormatError(message)
        if name in ids:
            groups[ids[name]] = group
    if not groups:
        message = f"{path}: the model knows none of the labels"
        raise FileFormatError(message)
    return groups, int(most)


_PROPENSITY = "propensity"


def read_label_weight(given: str | None, model: KnownLabels, propensity: tuple[float, float] = (0.55, 1.5)) -> Any:
    """Return the weights of --label-weight, one per label of the model; None without the option.

    Parameters
    ----------
    given : str or None
        A file, or the word propensity.
    model : Model or DataLabels
    propensity : (float, float)
        The constants A and B of propensities.
    """
    if given is None:
        return None
    if given == _PROPENSITY:
        if model.n_points_ is None or model.n_points_ < MIN_POINTS:
            message = f"--label-weight propensity needs a model that was trained on at least {MIN_POINTS} known points"
            raise InputError(message)
        return 1 / propensities_of_counts(model.label_counts_, model.n_points_, *propensity)
    ids = _ids_by_name(model)
    weights = np.ones(len(model.classes_))
    for number, line in enumerate(read_lines(given), start=1):
        if not line:
            continue
        name, tab, text = line.rpartition("\t")
        if not tab:
            message = f"{given}, line {number}: must be a label, a tab and a weight, got {line!r}"
            raise FileFormatError(message)
        name = name if name in ids else plain_uri(name)
        if name not in ids:
            message = f"{given}, line {number}: the model has no label {name!r}{did_you_mean(name, ids)}"
            raise FileFormatError(message)
        weights[ids[name]] = _weight(given, number, text)
    return weights


def _weight(path: str, number: int, text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = -1.0
    if not 0 <= weight < np.inf:
        message = f"{path}, line {number}: the weight must be a number of at least 0, got {text!r}"
        raise FileFormatError(message)
    return weight
