"""Changing labels without training, for all model families: retire, restore, rename, compact."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from labeltrees._matrices import Int32s
from labeltrees._names import nfc
from labeltrees._validation import refuse
from labeltrees.data.label_sets import check_unicode
from labeltrees.errors import InputError, Phrase
from labeltrees.models.common.label_names import LabelNames

# Old names that a model remembers: its manifest, which has them, must stay small.
MOST_RENAMED = 20_000


class LabelChangesMixin:
    """Changes to the labels of a fitted model that need no training."""

    searcher_: Any
    stats_: dict[str, Any]
    _label_names: LabelNames | None

    @property
    def retired_(self) -> Any:
        """The labels that no search returns: names, or ids if labels have no names."""
        ids = self.searcher_.retired.astype(np.int64)
        return ids if self._label_names is None else self._label_names.take(ids)

    def retire(self, labels: Any) -> Self:
        """Stop returning these labels, at once, from this model and from its existing predictors.

        Weights stay, so `restore` can bring the labels back. Searches skip nodes that have no other labels, so they do
        not become slower. `save` stores which labels are retired, and `compact` removes these labels.

        Parameters
        ----------
        labels : names or ids
            A list, tuple, set or array; or one name.

        Examples
        --------
        >>> import labeltrees as lt
        >>> model = lt.LabelTreeClassifier().fit(["red apple", "green pear"] * 5, [["apple"], ["pear"]] * 5)
        >>> model.retire(["apple"]).predict_topk(["a red apple"], k=1)[0].tolist()
        [['pear']]
        """
        self._set_retired(np.union1d(self.searcher_.retired, self._label_ids(labels)))
        return self

    def restore(self, labels: Any) -> Self:
        """Let searches return retired labels again; labels that are not retired do not change.

        A label without a classifier, such as one that `compact` or `forget` has removed, is not returned until
        `update` has trained it on new points.
        """
        self._set_retired(np.setdiff1d(self.searcher_.retired, self._label_ids(labels)))
        return self

    def rename(self, old: Any, new: Any) -> Self:
        """Give labels new names.

        The model remembers the last 20,000 old names: `replay` of `update` and `forget` may have them. New points
        must have the new names.

        Parameters
        ----------
        old, new : str, or lists of str of the same length
            A new name must not be the name of another label, even a retired one.
        """
        check_is_fitted(self, "searcher_")
        if self._label_names is None:
            message = "labels have no names to change: {}"
            raise InputError(message, Phrase.FIT_WITH_NAMES)
        old, new = ([value] if isinstance(value, str) else list(value) for value in (old, new))
        if len(old) != len(new):
            refuse("new", f"{len(old)} names, one for each name to change", f"{len(new)} names")
        if not all(isinstance(name, str) for name in new):
            refuse("new", "names (str)", new)
        ids = self._label_ids(old)
        if len(set(ids.tolist())) < len(ids):
            refuse("old", "different names", old)
        names = self._label_names.array.copy()
        before = names[ids].tolist()
        names[ids] = new
        check_unicode(names[ids])
        keys = [nfc(name) for name in names.tolist()]
        if len(set(keys)) < len(keys):
            taken = set(keys[label] for label in set(range(len(keys))) - set(ids.tolist()))
            double = next((name for name in new if nfc(name) in taken), new[0])
            refuse("new", "names that no other label has (retired labels keep theirs until `compact`)", double)
        self._label_names = LabelNames(names, self._label_names.kind)
        self.stats_ = {**self.stats_, "renamed": _renamed(self.stats_.get("renamed", {}), before, new)}
        return self

    def compact(self) -> Self:
        """Remove retired labels, their classifiers and nodes without other labels.

        The scores of the other labels stay the same, up to rounding. Labels with names get new ids, without gaps.
        Labels without names keep their ids.
        """
        check_is_fitted(self, "searcher_")
        retired = self.searcher_.retired
        if len(retired) == 0:
            return self
        kept = np.ones(self.searcher_.n_labels, dtype=bool)
        kept[retired] = False
        if not (kept & self._has_classifier()).any():
            message = "all labels are retired, and a model needs at least one label"
            raise InputError(message)
        self._compact(kept)
        return self

    @abstractmethod
    def _compact(self, kept: NDArray[np.bool_]) -> None:
        """Remove all labels except the `kept` ones (L,)."""

    @abstractmethod
    def _has_classifier(self) -> NDArray[np.bool_]:
        """Return which labels (L,) are in the tree."""

    def _set_retired(self, labels: Any) -> None:
        self.searcher_.set_retired(labels)

    def _label_ids(self, labels: Any) -> Int32s:
        """Return the ids of labels, given as names or ids; raise `InputError` for unknown ones."""
        check_is_fitted(self, "searcher_")
        if isinstance(labels, str):
            labels = [labels]
        if self._label_names is not None:
            labels = self._label_names.ids("labels", labels)
        try:
            given = np.asarray(list(labels))
        except TypeError:
            refuse("labels", "a list of labels", labels)
        if given.size == 0:
            return np.zeros(0, np.int32)
        if given.ndim != 1 or given.dtype.kind not in "iu":
            refuse("labels", "names of labels that the model knows, or ids", labels)
        n_labels = self.searcher_.n_labels
        if given.min() < 0 or given.max() >= n_labels:
            wrong = given[(given < 0) | (given >= n_labels)][0]
            refuse("labels", f"ids of labels, in [0, {n_labels})", wrong)
        return given.astype(np.int32)


def _renamed(earlier: dict[str, str], old: list[str], new: list[str]) -> dict[str, str]:
    """Return the present name of each old name, after another change of names."""
    changed = {nfc(name): nfc(other) for name, other in zip(old, new, strict=True)}
    names = {name: changed.get(present, present) for name, present in earlier.items()} | changed
    kept = [(name, present) for name, present in names.items() if name != present]
    return dict(kept[-MOST_RENAMED:])
