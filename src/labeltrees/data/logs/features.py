"""Features of contexts: words of a text, names in a list, or items of the history."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from labeltrees.data.logs.reading import collect
from labeltrees.data.text_dataset import default_vectorizer
from labeltrees.errors import InputError

_SHARE_OF_IDS = 0.9
LIST_SEPARATOR = "\x1f"  # between the names of a list kept as one text

Matrix = sparse.csr_array[np.float32]


def text_features(texts: list[str], n_train: int, vectorizer: Any = None) -> tuple[Matrix, list[str] | None, Any]:
    """Return the tf-idf weights of the words in texts, the words, and the fitted vectorizer.

    The first `n_train` texts fit the vectorizer, unless it is fitted already.
    """
    if vectorizer is None:
        vectorizer = default_vectorizer()
    train, test = texts[:n_train], texts[n_train:]
    try:
        X = vectorizer.transform(train) if hasattr(vectorizer, "vocabulary_") else vectorizer.fit_transform(train)
    except ValueError as error:  # no word occurs often enough
        raise InputError(_no_words(texts)) from error
    parts = [X, vectorizer.transform(test)] if test else [X]
    stacked = sparse.csr_array(sparse.vstack([sparse.csr_array(part) for part in parts], format="csr"))
    if stacked.shape[1] == 0 or stacked.nnz == 0:
        raise InputError(_no_words(texts))
    hashed = getattr(vectorizer, "hashing", None) is not None
    names = None if hashed else [str(name) for name in vectorizer.get_feature_names_out()]
    return stacked.astype(np.float32), names, vectorizer


def check_words(texts: pl.Series) -> None:
    """Refuse contexts that look like ids: nearly all are one word with a digit in it."""
    text = texts.str.strip_chars()
    is_id = ~text.str.contains(r"\s") & text.str.contains(r"\d")
    if len(texts) > 0 and is_id.sum() >= _SHARE_OF_IDS * len(texts):
        raise InputError(_looks_like_ids(text.filter(is_id)[0]))


def _no_words(texts: list[str]) -> str:
    one_word = sum(len(text.split()) < 2 for text in texts)
    if one_word >= _SHARE_OF_IDS * len(texts):
        return _looks_like_ids(texts[0])
    return (
        f"no word occurs in two of the {len(texts):,} texts, so there are no features: "
        "use features='history', features='basket' or features='column', or give a vectorizer with min_df=1"
    )


def _looks_like_ids(example: str) -> str:
    return (
        f"the contexts look like ids (such as {example!r}), which have no words in common: use features='history' "
        "with history_before (items before a time), features='basket' (the other items of the same context), "
        "or features='column' with feature_column"
    )


def split_names(values: pl.Series, separator: str) -> pl.LazyFrame:
    """Return the names in each text of `values` as a long frame: point, name, value (its count)."""
    frame = pl.LazyFrame({"point": np.arange(len(values), dtype=np.int64), "name": values})
    names = frame.with_columns(pl.col("name").str.split(separator)).explode("name")
    names = names.with_columns(pl.col("name").str.strip_chars()).filter(pl.col("name") != "")
    return names.group_by("point", "name").agg(pl.len().cast(pl.Float32).alias("value"))


def name_features(long: list[pl.LazyFrame], n_points: int, n_train: int) -> tuple[Matrix, pl.Series, int]:
    """Return a matrix of names, the names, and how many entries of test points have names not in train.

    Parameters
    ----------
    long : list of frames
        point, name (a text or an integer), value.
    n_points, n_train : int
        The first `n_train` points are the training points: their names, sorted, are the columns.
    """
    known = collect(pl.concat(long).filter(pl.col("point") < n_train).select(pl.col("name").unique())).sort("name")
    names = known.with_columns(pl.int_range(pl.len(), dtype=pl.Int32).alias("column"))
    rows, columns, values = [], [], []
    n_unknown = 0
    for frame in long:
        found = collect(frame.join(names.lazy(), on="name", how="left"))
        n_unknown += found["column"].null_count()
        found = found.drop_nulls("column")
        rows.append(found["point"].to_numpy())
        columns.append(found["column"].to_numpy())
        values.append(found["value"].to_numpy().astype(np.float32))
    X = entries_matrix(np.concatenate(rows), np.concatenate(columns), np.concatenate(values), (n_points, len(names)))
    return X, known["name"], n_unknown


def entries_matrix(
    rows: NDArray[Any], columns: NDArray[Any], values: NDArray[np.float32], shape: tuple[int, int]
) -> Matrix:
    """Return the CSR matrix of distinct entries, given in any order."""
    matrix: Matrix = sparse.coo_array((values, (rows, columns)), shape=shape).tocsr()
    matrix.sort_indices()
    return matrix
