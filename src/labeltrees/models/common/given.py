"""Arguments of `fit`: reading them from a Dataset, and preparing a given tree."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labeltrees._matrices import Float64s
from labeltrees._names import check_texts
from labeltrees._validation import refuse
from labeltrees.data.dataset import Dataset
from labeltrees.data.encoders import Encoder, TextEncoder
from labeltrees.data.parts.parts_dataset import PartsDataset
from labeltrees.data.tfidf import TfidfVectorizer
from labeltrees.errors import InputError
from labeltrees.tree.baselines import flat_tree
from labeltrees.tree.label_tree import LabelTree


class FitArguments(NamedTuple):
    """The arguments of `fit`."""

    X: Any
    Y: Any
    sample_weight: Any = None
    label_names: Any = None
    feature_names: Any = None
    encoder: Encoder | None = None
    label_texts: Any = None
    times: Any = None
    groups: Any = None
    texts: Any = None  # of the points, if X is features that were made from them


def arguments_of(
    X: Any, Y: Any, sample_weight: Any, label_texts: Any = None, times: Any = None, groups: Any = None
) -> FitArguments:
    """Return the arguments of `fit`; if X is a Dataset, it supplies those that are not given.

    Feature names are left out if the encoder has them.
    """
    if isinstance(X, FitArguments):  # calls from inside the library
        return X
    if not isinstance(X, Dataset):
        if Y is None:
            message = "requires y to be passed, but the target y is None: pass Y, or one Dataset with the labels in it"
            raise InputError(message)
        return FitArguments(X, Y, sample_weight, None, None, None, label_texts, times, groups)
    if Y is not None:
        message = "Y must be left out if X is a Dataset, which has its own labels"
        raise InputError(message)
    train, encoder = X, X.encoder
    if encoder is None and isinstance(train.vectorizer, TfidfVectorizer):
        encoder = TextEncoder(train.vectorizer)
    has_names = encoder is not None and encoder.feature_names is not None
    is_text = train.n_features == 0 and train.texts is not None and encoder is None
    return FitArguments(
        train.texts if is_text else train.X,
        train.Y,
        train.sample_weight if sample_weight is None else sample_weight,
        train.label_names,
        None if has_names else train.feature_names,
        encoder,
        train.label_texts if label_texts is None else label_texts,
        train.times if times is None else times,
        train.groups if groups is None else groups,
        train.texts,
    )


def arguments_of_parts(data: PartsDataset, label_names: Any = None) -> FitArguments:
    """Return the arguments of `fit` from a dataset in parts, without its X, Y and weights."""
    encoder = data.encoder
    has_names = encoder is not None and encoder.feature_names is not None
    names = (
        data.label_names if label_names is None else check_texts("label_names", label_names, data.n_labels, unique=True)
    )
    return FitArguments(None, None, None, names, None if has_names else data.feature_names, encoder)


def place_labels(tree: LabelTree | str, n_labels: int, frequencies: Float64s) -> LabelTree:
    """Return the tree to train, for a given tree or "flat": it places only labels with a frequency above 0."""
    if isinstance(tree, str):
        return flat_tree(n_labels, frequencies=frequencies)
    if tree.n_labels != n_labels:
        refuse("tree", f"a LabelTree over the {n_labels} labels of Y", tree)
    return keep_labels(tree, frequencies > 0)


def keep_labels(tree: LabelTree, kept: NDArray[np.bool_]) -> LabelTree:
    """Return `tree` with only the `kept` labels (L,), and without nodes that have none of them below.

    The order of nodes and children does not change. If all labels are kept, `tree` itself is returned.

    Examples
    --------
    >>> import numpy as np
    >>> tree = LabelTree([0, 2, 4, 5], [1, 2, ~0, ~1, ~2], n_labels=3)
    >>> keep_labels(tree, np.array([False, True, False])).children.tolist()
    [1, -2]
    """
    children = tree.children
    is_label = children < 0
    n_kept = tree.mass(kept.astype(np.float64))  # kept labels below each node
    if not n_kept[0] > 0:
        refuse("tree", "a LabelTree with some of the labels of Y placed", tree)
    stays = np.empty(len(children), dtype=bool)
    stays[is_label] = kept[~children[is_label]]
    stays[~is_label] = n_kept[children[~is_label]] > 0
    if stays.all():
        return tree
    has_any = n_kept > 0
    new_id: Any = (np.cumsum(has_any) - 1).astype(np.int32)
    renumbered = children.copy()
    renumbered[~is_label] = new_id[children[~is_label]]
    n_children = np.add.reduceat(stays.astype(np.int64), tree.child_ptr[:-1])[has_any]
    child_ptr = np.concatenate([[0], np.cumsum(n_children)])
    return LabelTree(
        child_ptr,
        renumbered[stays],
        tree.n_labels,
        label_names=tree.label_names,
        label_weights=tree.label_weights,
    )
