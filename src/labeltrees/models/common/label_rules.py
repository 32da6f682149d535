"""Label sets, weights and limits that a fitted model prepares for its searches, and label sets of its vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from labeltrees import _core
from labeltrees.data.label_relations import LabelRelations
from labeltrees.errors import InputError
from labeltrees.models.common.error_costs import ids_and_values, values_by_label
from labeltrees.models.common.label_names import LabelNames
from labeltrees.search.queries import LabelBoosts
from labeltrees.search.queries import label_limits as prepare_limits
from labeltrees.search.request import SearchRequest

SET_MARK = "@"  # prefix of the name of a label set


def labels_of_vocabulary(labels: Any, relations: LabelRelations | None) -> Any:
    """Return the label ids of a vocabulary set such as "@Places"; return other values unchanged."""
    if not isinstance(labels, str) or not labels.startswith(SET_MARK):
        return labels
    if relations is None:
        message = f"{labels}: without a SKOS vocabulary there are no named sets; give one as label texts for training"
        raise InputError(message)
    return relations.labels_of(labels.removeprefix(SET_MARK))


def predictor_under_rules(model: Any, request: SearchRequest, items: Any = None) -> Callable[..., Any]:
    """Return a predictor whose calls have the candidates and the excluded labels of a completed request.

    A predictor takes label sets with each call; they are prepared here, as a server does.

    Parameters
    ----------
    model : fitted model
    request : SearchRequest
        With one list of label ids for all calls.
    items : array (d,), optional
        The label of each feature that is an item, else -1: labels to leave out.
    """
    sets = {"candidates": request.candidates, "exclude": request.exclude}
    given = {name: model.label_set(ids, packed=name == "candidates") for name, ids in sets.items() if ids is not None}
    seen = {} if items is None else {"label_of_feature": items}
    return partial(model.searcher_.predictor(replace(request, candidates=None, exclude=None), **seen), **given)


class LabelRulesMixin:
    """Rules by label for an estimator that has a searcher and, if its labels have names, `_label_names`."""

    searcher_: Any
    _label_names: LabelNames | None

    def _native_names(self) -> _core.Names | None:
        return None if self._label_names is None else self._label_names.native

    @property
    def label_relations_(self) -> LabelRelations | None:
        """Broader labels, and members of schemes, types and collections, from the vocabulary; None without one."""
        texts = getattr(self, "label_texts_", None)
        return None if texts is None else texts.relations

    def label_set(self, labels: Any, *, packed: bool = False) -> _core.LabelSet:
        """Return labels prepared for many searches, as `candidates` or `exclude` of this model and its predictors.

        Parameters
        ----------
        labels : names or ids
            A list, tuple, set or array. Names that the model does not know are left out; `n_unknown` of the set counts
            them, and `len` of the set is its number of distinct labels. A string such as ``"@Places"`` names a scheme,
            type or collection of the SKOS vocabulary that the model was fitted with.
        packed : bool
            Also pack the classifiers that lead to the labels. Exact searches of a large linear model among up to a
            tenth of its labels are then 2 to 20 times as fast; lists stay the same. Takes up to half a second in a
            model of 250,000 labels, and memory (`nbytes` of the set). Without effect in small models and text models.
            `predict_topk` packs by itself if it is given the same candidates for at least 512 points.
        """
        check_is_fitted(self, "searcher_")
        names = None if isinstance(labels, str) else self._native_names()
        found: _core.LabelSet = self.searcher_.label_set(self.vocabulary_set(labels), names, packed=packed)
        return found

    def vocabulary_set(self, labels: Any) -> Any:
        """Return the label ids of a vocabulary set such as "@Places"; return other values unchanged."""
        return labels_of_vocabulary(labels, self.label_relations_)

    def label_weights(self, weights: Any) -> _core.LabelWeights:
        """Return weights of labels prepared for many searches, as `label_weight` of this model and its predictors.

        Parameters
        ----------
        weights : array (L,), or mapping from labels (names, or ids if they have no names) to numbers
            Numbers of at least 0. Labels missing from a mapping have the weight 1.
        """
        check_is_fitted(self, "searcher_")
        found: _core.LabelWeights = self.searcher_.label_weights(self._label_weight_array(weights))
        return found

    def label_limits(self, groups: Any, m: Any) -> _core.LabelLimits:
        """Return group limits prepared for many searches, as `limits` of this model and its predictors.

        Parameters
        ----------
        groups : one group per label, or mapping from labels (names, or ids if they have no names) to groups
            Texts or numbers; -1 or None for a label without a group.
        m : int, or mapping from groups to ints
            Maximum number of labels of each group in a list. Groups missing from a mapping have no limit.
        """
        check_is_fitted(self, "searcher_")
        prepared: _core.LabelLimits = self._group_limits((groups, m))
        return prepared

    def _group_limits(self, limits: Any) -> Any:
        """Return prepared limits, with label names resolved to ids; return None unchanged."""
        if limits is None or isinstance(limits, _core.LabelLimits):
            return limits
        if self._label_names is not None and isinstance(limits, Sequence) and isinstance(limits[0], Mapping):
            ids = self._label_names.ids("the labels of limits", list(limits[0]))
            limits = (dict(zip(np.asarray(ids).tolist(), limits[0].values(), strict=True)), *limits[1:])
        return prepare_limits(limits, self.searcher_.n_labels)

    def _label_boosts(self, weights: Any) -> Any:
        """Return the weights of a mapping as `LabelBoosts`, and other weights unchanged."""
        if not isinstance(weights, Mapping):
            return weights
        ids, values = ids_and_values("label_weight", weights, self.searcher_.n_labels, self._label_names, low=0)
        return LabelBoosts(ids, values)

    def _label_weight_array(self, weights: Any) -> Any:
        """Return the weights of a mapping as an array (L,), and other weights unchanged."""
        if not isinstance(weights, Mapping):
            return weights
        return values_by_label("label_weight", weights, self.searcher_.n_labels, self._label_names, low=0)
