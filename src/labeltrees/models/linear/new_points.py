"""The points of an update: features and labels of old and new points, in the model's columns and new columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from labeltrees._matrices import Int64s, is_sparse
from labeltrees._names import encode_names
from labeltrees._validation import refuse
from labeltrees.data.columns import as_texts
from labeltrees.data.dataset import Dataset
from labeltrees.data.encoders import ColumnEncoder, Encoder, ItemEncoder, TextEncoder
from labeltrees.data.label_texts import read_label_texts
from labeltrees.data.tfidf_learning import are_tokens, learn_part
from labeltrees.data.tfidf_parameters import TfidfParameters, union_parts
from labeltrees.data.tfidf_state import LABEL_WORDS, TfidfState, UnionState
from labeltrees.errors import InputError
from labeltrees.models.common.error_costs import point_costs
from labeltrees.models.common.given import FitArguments, arguments_of
from labeltrees.models.common.label_names import LabelNames
from labeltrees.models.common.update_labels import new_labels, old_labels, read_replay, widen
from labeltrees.models.linear.features import encode, encoder_of, feature_names_of, unit_rows, with_last_columns
from labeltrees.models.linear.retrain import UpdatePoints

if TYPE_CHECKING:
    from labeltrees.models.linear.estimator import LabelTreeClassifier


@dataclass(frozen=True, eq=False)
class UpdateData:
    """The points that an update trains on, and the data that the model keeps.

    Parameters
    ----------
    points : UpdatePoints
        Old points first, then new ones.
    n_labels, n_features : int
        Including new ones.
    columns : int64 array
        The column of each feature that the model knows, ascending; the other columns are new features.
    names : LabelNames, optional
    encoder : Encoder, optional
    feature_names : array of str, optional
    times, groups : array (n,), optional
    n_dropped : int
        Pairs of old points with labels that the model does not know.
    new_texts : list of lists of str
        The texts of the new labels; empty if they have none.
    """

    points: UpdatePoints
    n_labels: int
    n_features: int
    columns: Int64s
    names: LabelNames | None
    encoder: Encoder | None
    feature_names: Any
    times: Any
    groups: Any
    n_dropped: int
    new_texts: list[list[str]]


def read_update(model: LabelTreeClassifier, X: Any, Y: Any, replay: Any, *, grow: bool = True) -> UpdateData:
    """Return the points of an update, checked. Without `grow`, X has old points: no new columns, no new labels."""
    given = arguments_of(X, Y, None)
    old = None if replay is None else read_replay(replay)
    encoder = encoder_of(model)
    texts = _contexts(encoder, X, given)
    grown = encoder if encoder is None or not grow else grow_encoder(encoder, texts, given, model.n_points_)
    n_features = model.n_features_in_ if grown is None else grown.n_features
    names = feature_names_of(model) if grown is None else grown.feature_names
    blocks = []
    for own, source in ((given, X), (old, replay)):
        if own is None:
            continue
        rows, names = _rows(model, grown, own, source, n_features, names)
        n_features = rows.shape[1]
        blocks.append(rows)
    renamed, n_dropped = model.stats_.get("renamed", {}), 0
    if grow:
        label_names, matrix, n_labels = new_labels(model, given, blocks[0].shape[0])
    else:
        label_names, n_labels = model._label_names, model.searcher_.n_labels
        matrix, n_dropped = old_labels(label_names, renamed, given, blocks[0].shape[0], n_labels)
    matrices, weights = [matrix], [point_costs(given.sample_weight, blocks[0].shape[0])]
    if old is not None:
        known, n_dropped = old_labels(label_names, renamed, old, blocks[1].shape[0], n_labels)
        matrices.append(known)
        weights.append(point_costs(old.sample_weight, blocks[1].shape[0]))
    order = [1, 0] if old is not None else [0]  # old points first
    rows = _stack([widen(blocks[i], n_features) for i in order])
    labels = sp.csr_array(sp.vstack([widen(matrices[i], n_labels) for i in order], "csr"))
    labels.sort_indices()
    all_weights = None
    if any(own is not None for own in weights):
        filled = [np.ones(block.shape[0]) if own is None else own for own, block in zip(weights, blocks, strict=True)]
        all_weights = np.concatenate([filled[i] for i in order])
    is_new = np.concatenate([np.full(blocks[i].shape[0], i == 0) for i in order])
    if model.normalize:
        rows = unit_rows(rows)
    pair = (given, old)
    times, groups = (_join([getattr(pair[i], name) for i in order]) for name in ("times", "groups"))
    points = UpdatePoints(rows, labels, all_weights, is_new)
    new_texts = _texts_of_new(given, label_names, model.searcher_.n_labels)
    columns = known_columns(encoder, grown, model.n_features_in_)
    return UpdateData(
        points, n_labels, n_features, columns, label_names, grown, names, times, groups, n_dropped, new_texts
    )


def _texts_of_new(given: FitArguments, names: LabelNames | None, n_known: int) -> list[list[str]]:
    """Return the texts that come with the labels from `n_known` on; empty if none come."""
    if given.label_texts is None or names is None or given.label_names is None:
        return []
    own = np.asarray(given.label_names).tolist()
    texts, _ = read_label_texts(given.label_texts, own, len(own))
    place = {name: number for number, name in enumerate(own)}
    return [texts.of(place[name]) if name in place else [] for name in names.array[n_known:].tolist()]


# Features.


def _contexts(encoder: Encoder | None, X: Any, given: FitArguments) -> Any:
    """Return the texts or lists of items of new points, or None if only features are given."""
    if isinstance(encoder, TextEncoder):
        if isinstance(X, Dataset):
            return None if X.texts is None else list(X.texts)
        if isinstance(given.X, list | tuple) and are_tokens(given.X):
            return given.X
        texts = as_texts(given.X)
        return None if texts is None else list(texts)
    if isinstance(given.X, list | tuple):
        return given.X
    return None


def _rows(
    model: LabelTreeClassifier, encoder: Encoder | None, given: FitArguments, source: Any, n_features: int, names: Any
) -> tuple[Any, Any]:
    """Return features in the columns of the model, and the names of all columns."""
    X: Any = given.X
    if isinstance(encoder, TextEncoder) and isinstance(source, Dataset) and source.texts is not None:
        X = list(source.texts)  # encoded by the model's own vectorizer
    elif given.encoder is not None or given.feature_names is not None:
        own = given.feature_names if given.encoder is None else given.encoder.feature_names
        if own is not None and names is not None and is_sparse(X):
            return _align_columns(sp.csr_array(X), own, names, fixed=encoder is not None)
    X = encode(encoder, X, model.n_jobs)
    X = sp.csr_array(X, dtype=np.float32) if is_sparse(X) else np.ascontiguousarray(X, dtype=np.float32)
    values: Any = X.data if is_sparse(X) else X
    if X.ndim != 2 or not np.isfinite(values).all():
        refuse("X", "a matrix of finite numbers, one row per point", f"shape {X.shape}")
    if is_sparse(X):
        X = with_last_columns(model, X)
    if X.shape[1] < n_features:
        refuse("X", f"of at least {n_features} columns, those of the model", f"{X.shape[1]} columns")
    if X.shape[1] > n_features and encoder is not None:
        refuse("X", f"of {n_features} columns, those of the model's encoder", f"{X.shape[1]} columns")
    if is_sparse(X) != (not model.searcher_.stores[0].matrices):
        X = sp.csr_array(X) if not is_sparse(X) else X.toarray()
    if is_sparse(X):
        X.sum_duplicates()
        X.sort_indices()
    if names is not None and X.shape[1] > len(names):
        refuse(
            "X", f"of {len(names)} columns, whose names the model knows; give a Dataset with feature_names", X.shape[1]
        )
    return X, names


def _align_columns(X: Any, own: Any, names: Any, *, fixed: bool) -> tuple[Any, Any]:
    """Return X with columns ordered as in `names`; columns with unknown names are appended, or dropped if `fixed`."""
    place = {name: column for column, name in enumerate(np.asarray(names).tolist())}
    new = [name for name in np.asarray(own).tolist() if name not in place]
    if not fixed:
        place |= {name: len(names) + number for number, name in enumerate(new)}
        names = np.concatenate([np.asarray(names, dtype=object), np.array(new, dtype=object)])
    columns = np.array([place.get(name, -1) for name in np.asarray(own).tolist()], dtype=np.int64)
    pairs = X.tocoo()
    known = columns[pairs.col] >= 0
    moved = (pairs.data[known].astype(np.float32), (pairs.row[known], columns[pairs.col[known]]))
    matrix = sp.csr_array(moved, shape=(X.shape[0], len(names)))
    matrix.sort_indices()
    return matrix, names


def grow_encoder(encoder: Encoder, contexts: Any, given: FitArguments, n_points: int | None) -> Encoder:
    """Return the encoder with a column for each new word or item; weights of known ones do not change.

    Parts of a vectorizer with hashed terms or with a given vocabulary are not changed.
    """
    if isinstance(encoder, TextEncoder):
        return _grow_words(encoder, contexts, given, n_points or 0)
    if type(encoder) is not ItemEncoder:
        return encoder
    known = set(encoder.feature_names.tolist()) | set(encoder.item_ids)
    if contexts is not None:
        new = list(dict.fromkeys(str(item) for context in contexts for item in _items(context)))
    elif isinstance(given.encoder, ItemEncoder) and not isinstance(given.encoder, ColumnEncoder):
        new = given.encoder.feature_names.tolist()
    else:
        return encoder
    added = [name for name in new if name not in known]
    if not added:
        return encoder
    ids = encoder.item_ids
    own = given.encoder if isinstance(given.encoder, ItemEncoder) else None
    id_of = {} if own is None else dict(zip(own.feature_names.tolist(), own.item_ids, strict=False))
    taken, other = set(ids), []
    for name in added:
        title = id_of.get(name, name)
        other.append(name if title in taken else title)  # ids must differ
        taken.add(other[-1])
    return ItemEncoder(
        [*encoder.feature_names.tolist(), *added],
        ids=[*ids, *other] if ids else None,
        weighting=encoder.weighting,
        norm=encoder.norm,
    )


def _items(context: Any) -> Any:
    if isinstance(context, dict):
        return context.keys()
    if not isinstance(context, list | tuple | set | frozenset):
        return []
    return [item[0] if isinstance(item, list | tuple) and len(item) == 2 else item for item in context]


def _grow_words(encoder: TextEncoder, texts: Any, given: FitArguments, n_points: int) -> TextEncoder:
    vectorizer = encoder.vectorizer
    state = vectorizer.get_state()
    seen: list[TfidfState | None]
    if texts:
        seen = [_learned(part.parameters, texts) for part in union_parts(clone(vectorizer))]
    elif isinstance(given.encoder, TextEncoder) and _same_kinds(given.encoder.vectorizer.get_state(), state):
        # Prepared logs have features made from their own words.
        seen = [*_own_parts(given.encoder.vectorizer.get_state())]
    else:
        return encoder
    n_texts = len(texts) if texts else given.X.shape[0]
    seen += [None] * (len(state.parts) - len(seen))  # words of label texts stay as they are
    parts = [_with_terms_of(old, own, n_points, n_texts) for old, own in zip(state.parts, seen, strict=True)]
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


def _with_terms_of(old: TfidfState, seen: TfidfState | None, n_points: int, n_texts: int) -> TfidfState:
    """Return one kind of terms with those that other texts have, too, after the known ones."""
    if seen is None or seen.terms is None or old.terms is None:
        return old
    names, known = seen.names(), set(old.names())
    added = [number for number, name in enumerate(names) if name not in known]
    if not added:
        return old
    idf = old.idf
    if idf is not None and seen.idf is not None:
        # Smoothed idf is 1 + log((1 + n) / (1 + df)): the same df, with n the number of old and new points.
        shift = np.log((1 + n_points + n_texts) / (1 + n_texts))
        idf = np.concatenate([idf, (seen.idf[added] + shift).astype(idf.dtype)])
    terms = encode_names([*old.names(), *(names[number] for number in added)])
    return replace(old, n_features=old.n_features + len(added), terms=terms, idf=idf, source="vectorizer")


def known_columns(old: Encoder | None, grown: Encoder | None, n_features: int) -> Int64s:
    """Return the column of each of the `n_features` known features after an encoder has grown.

    A vectorizer's parts are side by side, so new terms of one part move the columns of the next ones.
    """
    if not isinstance(old, TextEncoder) or not isinstance(grown, TextEncoder):
        return np.arange(n_features)
    sizes, wider = ([part.n_features for part in own.vectorizer.get_state().parts] for own in (old, grown))
    shift = np.cumsum([0, *(after - before for before, after in zip(sizes, wider, strict=True))])[:-1]
    moved: Int64s = np.arange(n_features) + np.repeat(shift, sizes)
    return moved


def _join(values: list[Any]) -> Any:
    return None if any(own is None for own in values) else np.concatenate([np.asarray(own) for own in values])


def _stack(blocks: list[Any]) -> Any:
    if len(blocks) == 1:
        return blocks[0]
    if isinstance(blocks[0], np.ndarray):
        return np.concatenate(blocks)
    stacked = sp.csr_array(sp.vstack(blocks, "csr"))
    stacked.sort_indices()
    return stacked
