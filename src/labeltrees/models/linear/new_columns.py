"""New columns: an encoder with columns for new words and items, and where the features of other encoders are in it.

New terms, items and names come last in their part, and known ones keep their order and their weights. So the columns of
later parts of a union move; `columns_in` says where to.
"""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from labeltrees._matrices import Int64s
from labeltrees._names import decode_names, encode_names
from labeltrees.data.columns import as_texts
from labeltrees.data.dataset import Dataset
from labeltrees.data.encoders import ColumnEncoder, Encoder, ItemEncoder, TextEncoder, UnionEncoder
from labeltrees.data.tfidf_learning import are_tokens, learn_part
from labeltrees.data.tfidf_parameters import TfidfParameters, union_parts
from labeltrees.data.tfidf_state import LABEL_WORDS, TfidfState, UnionState
from labeltrees.errors import InputError
from labeltrees.models.common.given import FitArguments
from labeltrees.models.common.update_labels import widen
from labeltrees.models.linear.features import are_contexts


def grow_encoder(encoder: Encoder, X: Any, given: FitArguments, n_points: int) -> Encoder:
    """Return the encoder with a column for each new word, item or name; weights of known ones do not change.

    Parameters
    ----------
    encoder : Encoder
    X : as given to `update`
        If the new points are contexts, such as texts, the columns come from them.
    given : FitArguments
        The new points. If they are features, such as those of prepared logs, the columns come from their encoder.
    n_points : int
        Number of points that the model was trained on.
    """
    contexts = _contexts(encoder, X, given)
    n_given = given.X.shape[0] if contexts is None and hasattr(given.X, "shape") else len(contexts or [])
    return _grown(encoder, contexts, given.encoder if contexts is None else None, n_points, n_given)


def _contexts(encoder: Encoder, X: Any, given: FitArguments) -> Any:
    """Return the contexts of new points as a list, or None if only features are given."""
    if isinstance(encoder, TextEncoder):
        if isinstance(X, Dataset):
            return None if X.texts is None else list(X.texts)
        return _texts(given.X)
    return list(encoder.check_contexts(given.X)) if are_contexts(given.X) else None


def _texts(contexts: Any) -> Any:
    """Return contexts that are texts or lists of tokens as a list, or None."""
    if isinstance(contexts, list | tuple) and are_tokens(contexts):
        return list(contexts)
    texts = as_texts(contexts)
    return None if texts is None else list(texts)


def _grown(encoder: Encoder, contexts: Any, other: Encoder | None, n_points: int, n_given: int) -> Encoder:
    """Return an encoder with what contexts or another encoder have."""
    if isinstance(encoder, UnionEncoder):
        parts = {}
        for number, (name, part) in enumerate(encoder.parts.items()):
            own = None if contexts is None else [_of_part(context, name, number) for context in contexts]
            own = None if own is None else [context for context in own if context is not None]
            its = other.parts.get(name) if isinstance(other, UnionEncoder) else None
            parts[name] = _grown(part, own, its, n_points, n_given)
        is_same = all(parts[name] is part for name, part in encoder.parts.items())
        return encoder if is_same else UnionEncoder(parts, weights=encoder.weights)
    if isinstance(encoder, TextEncoder):
        return _with_words(encoder, None if contexts is None else _texts(contexts), other, n_points, n_given)
    assert isinstance(encoder, ItemEncoder)
    return _with_items(encoder, contexts, other)


def _of_part(context: Any, name: str, number: int) -> Any:
    """Return the context of one part of a union; None if it is missing. What has another form is refused later."""
    if isinstance(context, dict):
        return context.get(name)
    return context[number] if isinstance(context, tuple) and number < len(context) else None


# Items.


def _with_items(encoder: ItemEncoder, contexts: Any, other: Encoder | None) -> ItemEncoder:
    names, ids = encoder.feature_names.tolist(), encoder.item_ids
    title_of: dict[str, str] = {}
    if contexts is not None:
        known = {*names, *ids}
        found = dict.fromkeys(name for context in contexts for name in _items(encoder, context))
    elif type(other) is type(encoder):
        known, found = set(names), dict.fromkeys(other.feature_names.tolist())
        title_of = dict(zip(found, other.item_ids, strict=False))
    else:
        return encoder
    added = [name for name in found if name not in known]
    if not added:
        return encoder
    if isinstance(encoder, ColumnEncoder):
        return ColumnEncoder(
            [*names, *added], separator=encoder.separator, weighting=encoder.weighting, norm=encoder.norm
        )
    taken, titles = set(ids), []
    for name in added:
        title = title_of.get(name, name)
        titles.append(name if title in taken else title)  # ids must differ
        taken.add(titles[-1])
    other_names = [*ids, *titles] if ids else None
    return ItemEncoder([*names, *added], ids=other_names, weighting=encoder.weighting, norm=encoder.norm)


def _items(encoder: ItemEncoder, context: Any) -> list[str]:
    """Return the names in a context, read as native code reads them."""
    is_column = isinstance(encoder, ColumnEncoder)
    separator = encoder.separator if isinstance(encoder, ColumnEncoder) else None
    if isinstance(context, str):
        entries: Any = [] if separator is None else context.split(separator)
    else:
        entries = context.tolist() if hasattr(context, "tolist") else context
        if not isinstance(entries, list | tuple | set | frozenset | dict):
            return []
    names = []
    for entry in entries:
        item = entry[0] if isinstance(entry, list | tuple) and len(entry) == 2 else entry
        try:
            name = item if isinstance(item, str) else str(operator.index(item))
            name.encode()
        except (TypeError, UnicodeEncodeError):  # refused or ignored by the encoder itself
            continue
        name = name.strip() if is_column else name
        if name or not is_column:
            names.append(name)
    return names


# Words.


def _with_words(encoder: TextEncoder, texts: Any, other: Encoder | None, n_points: int, n_given: int) -> TextEncoder:
    """Return the encoder with new terms; parts with hashed terms or with a given vocabulary do not change."""
    vectorizer = encoder.vectorizer
    state = vectorizer.get_state()
    seen: list[TfidfState | None]
    if texts:
        seen, n_texts = [_learned(part.parameters, texts) for part in union_parts(clone(vectorizer))], len(texts)
    elif isinstance(other, TextEncoder) and _same_kinds(other.vectorizer.get_state(), state):
        # Prepared logs have features made from their own words.
        seen, n_texts = [*_own_parts(other.vectorizer.get_state())], n_given
    else:
        return encoder
    seen += [None] * (len(state.parts) - len(seen))  # words of label texts stay as they are
    # Smoothed idf is 1 + log((1 + n) / (1 + df)): the same df, with n the number of old and new points.
    shift = np.log((1 + n_points + n_given) / (1 + n_texts))
    parts = [_with_terms_of(old, own, shift) for old, own in zip(state.parts, seen, strict=True)]
    if parts == state.parts:
        return encoder
    grown = clone(vectorizer)
    grown.set_state(replace(state, parts=parts))
    return TextEncoder(grown)


def _same_kinds(state: UnionState, other: UnionState) -> bool:
    """Return whether two vectorizers make the same kinds of terms, perhaps with different vocabularies."""
    kinds = [[part.settings for part in _own_parts(own)] for own in (state, other)]
    names = [[name for name in own.part_names or [] if name != LABEL_WORDS] for own in (state, other)]
    return names[0] == names[1] and kinds[0] == kinds[1]


def _own_parts(state: UnionState) -> list[TfidfState]:
    """Return the parts of a vectorizer without that for words of label texts."""
    is_last = state.part_names is not None and state.part_names[-1] == LABEL_WORDS
    return list(state.parts[:-1] if is_last else state.parts)


def _learned(parameters: TfidfParameters, texts: Any) -> TfidfState | None:
    """Return one kind of terms as found in texts; None if it is fixed, or if no term is frequent enough."""
    if parameters.hashing is not None or parameters.vocabulary is not None:
        return None
    try:
        return learn_part(parameters, texts)
    except InputError:
        return None


def _with_terms_of(old: TfidfState, seen: TfidfState | None, shift: float) -> TfidfState:
    """Return one kind of terms with those that other texts have, too, after the known ones."""
    if seen is None or seen.terms is None or old.terms is None:
        return old
    names, known = seen.names(), set(old.names())
    added = [number for number, name in enumerate(names) if name not in known]
    if not added:
        return old
    idf = old.idf
    if idf is not None and seen.idf is not None:
        idf = np.concatenate([idf, (seen.idf[added] + shift).astype(idf.dtype)])
    terms = encode_names([*old.names(), *(names[number] for number in added)])
    return replace(old, n_features=old.n_features + len(added), terms=terms, idf=idf, source="vectorizer")


# Columns.


def columns_in(own: Encoder, wider: Encoder) -> Int64s:
    """Return for each feature of an encoder its column in another one, or -1."""
    if isinstance(own, UnionEncoder) and isinstance(wider, UnionEncoder):
        starts = wider.offsets
        return _side_by_side(
            (part.n_features, columns_in(part, wider.parts[name]) if name in wider.parts else None, starts.get(name, 0))
            for name, part in own.parts.items()
        )
    if isinstance(own, TextEncoder) and isinstance(wider, TextEncoder):
        state, other = own.vectorizer.get_state(), wider.vectorizer.get_state()
        if _same_kinds(state, other):
            starts_of = np.cumsum([0, *(part.n_features for part in other.parts)]).tolist()
            n_parts = len(other.parts)  # one less if only the first encoder has words of label texts, its last part
            return _side_by_side(
                (part.n_features, _terms_in(part, other.parts[i]) if i < n_parts else None, starts_of[i])
                for i, part in enumerate(state.parts)
            )
    if type(own) is type(wider) and isinstance(own, ItemEncoder) and isinstance(wider, ItemEncoder):
        return _names_in(own._names, wider._names)
    if own.feature_names is not None and wider.feature_names is not None:
        place = {name: column for column, name in enumerate(wider.feature_names.tolist())}
        return np.array([place.get(name, -1) for name in own.feature_names.tolist()], np.int64)
    return np.arange(own.n_features) if own.n_features == wider.n_features else np.full(own.n_features, -1)


def _side_by_side(parts: Any) -> Int64s:
    """Return the columns of all parts, given as size, columns within the other part (None: none) and its start."""
    found = []
    for size, columns, start in parts:
        found.append(np.full(size, -1) if columns is None else np.where(columns < 0, -1, columns + start))
    return np.concatenate(found).astype(np.int64)


def _terms_in(own: TfidfState, wider: TfidfState) -> Int64s:
    if own.terms is None or wider.terms is None:  # hashed
        is_same = own.terms is wider.terms and own.n_features == wider.n_features
        return np.arange(own.n_features) if is_same else np.full(own.n_features, -1)
    return _names_in(own.terms, wider.terms)


def _names_in(own: tuple[Any, Any], wider: tuple[Any, Any]) -> Int64s:
    """Return the place of each of some names among others, both in the form of `encode_names`, or -1."""
    (text, ends), (its_text, its_ends) = own, wider
    n_bytes = int(ends[-1])
    if np.array_equal(ends, its_ends[: len(ends)]) and np.array_equal(text[:n_bytes], its_text[:n_bytes]):
        return np.arange(len(ends) - 1)  # the usual case: the other one has grown from this one
    place = {name: number for number, name in enumerate(decode_names(its_text, its_ends))}
    return np.array([place.get(name, -1) for name in decode_names(text, ends)], np.int64)


def move_features(X: Any, columns: Int64s, n_features: int) -> Any:
    """Return sparse rows with features in other columns; those with column -1 are left out."""
    if np.array_equal(columns, np.arange(len(columns))):
        return widen(X, n_features)
    pairs = sp.coo_array(X)
    moved = columns[pairs.col]
    known = moved >= 0
    if pairs.nnz and not known.any():
        message = "X has no feature that the model knows: another encoder made it, or its features have other names"
        raise InputError(message)
    entries = (pairs.data[known].astype(np.float32), (pairs.row[known], moved[known]))
    matrix = sp.csr_array(entries, shape=(X.shape[0], n_features))
    matrix.sort_indices()
    return matrix
