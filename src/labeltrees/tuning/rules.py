"""Rules: which labels may be returned, the same for all models and baselines of a study.

`Rules.of` checks the names and the values once, before any training, and turns labels into ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from labeltrees import _core
from labeltrees._matrices import is_sparse
from labeltrees._settings import check_names, flag, settings_from
from labeltrees._validation import refuse
from labeltrees.baselines.baseline import Baseline
from labeltrees.errors import InputError, Parameter
from labeltrees.models.common.error_costs import values_by_label
from labeltrees.models.common.label_names import LabelNames
from labeltrees.models.common.label_rules import labels_of_vocabulary, predictor_under_rules
from labeltrees.models.linear.features import seen_labels
from labeltrees.search.queries import group_limits, label_lists, label_weight_values
from labeltrees.search.request import SearchRequest
from labeltrees.tuning.data import TuningData

NAMES = ("exclude_seen", "candidates", "exclude", "label_weight", "limits", "diversity", "beam")
_MORE = 8  # factor by which a baseline ranks more labels, for points that have too few after the rules
_BLOCK = 2**23  # labels that a baseline ranks at once


@dataclass(frozen=True, eq=False)
class Rules:
    """Rules for searches, with labels as ids.

    Parameters
    ----------
    n_labels : int
    words : str
        The rules in words; "" if there are none.
    candidates, exclude : array of ids, optional
    label_weight : array (L,), optional
    limits : pair of arrays, optional
        The group of each label (L,), -1 for none, and the maximum number of labels of each group.
    items : array (d,), optional
        With `exclude_seen`: the label of each feature that is an item, else -1.
    search : dict
        Other options of `predict_topk`: diversity and beam.
    """

    n_labels: int = 0
    words: str = ""
    candidates: Any = None
    exclude: Any = None
    label_weight: Any = None
    limits: Any = None
    items: Any = None
    search: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Any, estimator: Any, data: TuningData) -> Rules:
        """Return the rules of a mapping from keywords of `predict_topk` to values; raise `InputError` if invalid."""
        if given is None:
            return NO_RULES
        if not isinstance(given, Mapping):
            refuse("rules", "a dict of rules of predict_topk, such as {'exclude_seen': True}", given)
        check_names("rules", map(str, given), NAMES)
        flag("exclude_seen", given.get("exclude_seen", False))
        is_off = {name: (value is None and name != "beam") or value is False for name, value in given.items()}
        own = {name: value for name, value in given.items() if not is_off[name]}
        if not own:
            return NO_RULES
        unsupported = getattr(estimator, "UNSUPPORTED", NAMES)  # a model of another library supports none
        if name := next((name for name in own if name in unsupported), ""):
            refuse("rules", f"without {name}: a {type(estimator).__name__} has no such option", given)
        names, n_labels = None, data.Y.shape[1]
        if data.label_names is not None:
            names = LabelNames(data.label_names)
        search = {name: own[name] for name in ("diversity", "beam") if name in own}
        settings_from(SearchRequest, search)  # checks them
        sets = {name: _label_ids(name, own.get(name), names, data) for name in ("candidates", "exclude")}
        weight, limits = own.get("label_weight"), own.get("limits")
        if isinstance(weight, Mapping):
            weight = values_by_label("label_weight", weight, n_labels, names, low=0)
        if names is not None and isinstance(limits, tuple | list) and limits and isinstance(limits[0], Mapping):
            ids = np.asarray(names.ids("the labels of limits", list(limits[0]))).tolist()
            limits = (dict(zip(ids, limits[0].values(), strict=True)), *limits[1:])
        return cls(
            n_labels,
            ", ".join(_describe(name, own[name], sets.get(name)) for name in NAMES if name in own),
            **sets,
            label_weight=None if weight is None else label_weight_values(weight, n_labels),
            limits=None if limits is None else group_limits(limits, n_labels),
            items=_items(data) if "exclude_seen" in own else None,
            search=search,
        )

    def __bool__(self) -> bool:
        return bool(self.words)

    def topk(self, points: Any) -> dict[str, Any]:
        """Return the rules as keywords of `predict_topk` for these points, for a model that returns label ids."""
        return self._options() | {"candidates": self.candidates, "exclude": self.excluded(points)} if self else {}

    def predictor(self, model: Any, k: int) -> Any:
        """Return a predictor for single calls under these rules, with sets of labels prepared as for serving."""
        if not self:
            return model.predictor(k)
        sets = {"candidates": self.candidates, "exclude": self.exclude}
        return predictor_under_rules(
            model, model.complete_request(SearchRequest(k, **sets, **self._options())), self.items
        )

    def _options(self) -> dict[str, Any]:
        limits = None if self.limits is None else _core.LabelLimits(*self.limits)
        return {"label_weight": self.label_weight, "limits": limits, **self.search}

    def excluded(self, points: Any) -> Any:
        """Return the labels not to return: ids, or with `exclude_seen` a matrix (n, L)."""
        return self.exclude if self.items is None else seen_labels(points, self.items, self.n_labels, self.exclude)

    # Baselines.

    def rank(self, baseline: Baseline, queries: Any, points: Any, k: int) -> Any:
        """Return the labels (n, k) of a baseline for `points` under these rules, except diversity, which needs a tree.

        The baseline ranks more labels for points with fewer than k allowed ones. `queries` are the points in the form
        that the baseline takes.
        """
        if not self:
            return baseline.rank(queries, k)[0]
        found = np.full((points.shape[0], k), -1, np.int64)
        rows, n_ranked = np.arange(len(found)), k
        while len(rows):
            n_ranked = min(_MORE * n_ranked, self.n_labels)
            left = []
            for part in _parts(rows, n_ranked):
                labels, is_final = self._cut(*baseline.rank(queries[part], n_ranked), points[part], k)
                found[part, : labels.shape[1]] = labels
                left.append(part[~is_final])
            rows = np.concatenate(left)
        return found

    def _cut(self, labels: Any, scores: Any, points: Any, k: int) -> tuple[Any, Any]:
        """Return the k best allowed labels of ranked ones, and for which points more ranked labels change nothing."""
        factors = np.ones(self.n_labels) if self.label_weight is None else self.label_weight.astype(np.float64)
        allowed = factors > 0
        if self.candidates is not None:
            allowed &= np.isin(np.arange(self.n_labels), self.candidates)
        excluded: Any = self.excluded(points)
        if self.exclude is not None:
            allowed[self.exclude] = False
        is_kept = (labels >= 0) & allowed[labels]
        if is_sparse(excluded):
            rows = np.repeat(np.arange(len(labels)), labels.shape[1])
            is_kept &= np.asarray(excluded[rows, labels.ravel()]).reshape(labels.shape) == 0
        values = np.where(is_kept, scores * factors[labels], -1.0)
        order = np.lexsort((labels, -values), axis=1)
        ranked, values = (np.take_along_axis(array, order, axis=1) for array in (labels, values))
        ranked[values < 0] = -1
        if self.limits is not None:
            places = [self._within_limits(row, k) for row in ranked]
            ranked, values = _taken(ranked, places, k), _taken(values, places, k)
        is_final = (labels[:, -1] < 0) | (labels.shape[1] >= self.n_labels)
        if ranked.shape[1] >= k:
            beaten = scores[:, -1] * factors.max() if self.label_weight is not None else -1.0
            is_final |= (ranked[:, k - 1] >= 0) & (values[:, k - 1] > beaten)
        return ranked[:, :k], is_final

    def _within_limits(self, ranked: Any, k: int) -> list[int]:
        """Return the places of the first k labels whose groups are not full."""
        group_of, most = self.limits
        left, places = most.copy(), list[int]()
        for place, label in enumerate(ranked.tolist()):
            if label < 0 or len(places) == k:
                break
            group = group_of[label]
            if group < 0 or left[group] > 0:
                places.append(place)
                left[group] -= group >= 0
        return places


NO_RULES = Rules()


def _label_ids(name: str, given: Any, names: LabelNames | None, data: TuningData) -> Any:
    """Return labels by name or id, or a set of the vocabulary such as "@Places", as ids."""
    if given is None:
        return None
    given = labels_of_vocabulary(given, getattr(data.label_texts, "relations", None))
    if isinstance(given, set | frozenset):
        given = list(given)
    is_list = isinstance(given, list | tuple | np.ndarray) and all(np.ndim(label) == 0 for label in given)
    if not is_list:
        refuse(f"{name} of rules", "one list of labels for all points", given)
    ids = given if names is None else names.ids(name, given)
    return label_lists(name, ids, 1, data.Y.shape[1]).labels


def _items(data: TuningData) -> Any:
    if data.items is None or (data.items < 0).all():
        message = "{} needs data with items as features: a Dataset with an ItemEncoder and label names"
        raise InputError(message, Parameter("exclude_seen"))
    return data.items


def _describe(name: str, value: Any, ids: Any) -> str:
    words = name.replace("_", " ")
    if ids is not None:
        return f"{words} ({len(np.unique(ids)):,})"
    if name == "diversity":
        return f"{words} {value:g} (not for baselines)"
    return f"{words} {value}" if name == "beam" else words


def _parts(rows: Any, n_ranked: int) -> Iterator[Any]:
    size = max(1, _BLOCK // n_ranked)
    return (rows[first : first + size] for first in range(0, len(rows), size))


def _taken(array: Any, places: list[list[int]], k: int) -> Any:
    """Return the entries of each row at its places (n, k), padded with -1."""
    found = np.full((len(array), k), -1, array.dtype)
    for row, own in enumerate(places):
        found[row, : len(own)] = array[row, own]
    return found
