"""Features of contexts: words of a text, names in a list, or items of the past."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from labeltrees.data.logs.reading import collect
from labeltrees.data.text_dataset import default_vectorizer
from labeltrees.errors import InputError

LIST_SEPARATOR = "\x1f"  # between the names of a list kept as one text

Matrix = sparse.csr_array[np.float32]


def text_features(texts: list[str], n_train: int, vectorizer: Any = None) -> tuple[Matrix, list[str]]:
    """Return the tf-idf weights of texts' words, and the words; the vectorizer learns from the first `n_train`."""
    if vectorizer is None:
        vectorizer = default_vectorizer()
    train, test = texts[:n_train], texts[n_train:]
    try:
        X = vectorizer.transform(train) if hasattr(vectorizer, "vocabulary_") else vectorizer.fit_transform(train)
    except ValueError as error:  # no word occurs often enough
        message = f"no features can be made from the texts of {n_train:,} contexts: {error}"
        raise InputError(message) from None
    parts = [X, vectorizer.transform(test)] if test else [X]
    stacked = sparse.csr_array(sparse.vstack([sparse.csr_array(part) for part in parts], format="csr"))
    return stacked.astype(np.float32), [str(name) for name in vectorizer.get_feature_names_out()]


def split_names(values: pl.Series, separator: str) -> pl.LazyFrame:
    """Return the names in each text of `values` as a long frame: point, name, value (how often it is named)."""
    frame = pl.LazyFrame({"point": np.arange(len(values), dtype=np.int64), "name": values})
    names = frame.with_columns(pl.col("name").str.split(separator)).explode("name")
    names = names.with_columns(pl.col("name").str.strip_chars()).filter(pl.col("name") != "")
    return names.group_by("point", "name").agg(pl.len().cast(pl.Float32).alias("value"))


def name_features(long: list[pl.LazyFrame], n_points: int, n_train: int) -> tuple[Matrix, pl.Series, int]:
    """Return a matrix of names, the names, and how many entries of test points have names that train has not.

    Parameters
    ----------
    long : list of frames
        point, name (a text or a whole number), value.
    n_points, n_train : int
        The first `n_train` points are for training: their names are the columns, in order.
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
    """Return the CSR matrix of entries in any order, none twice."""
    matrix: Matrix = sparse.coo_array((values, (rows, columns)), shape=shape).tocsr()
    matrix.sort_indices()
    return matrix
