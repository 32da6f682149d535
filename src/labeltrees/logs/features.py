"""Steps from contexts to features: names in a list, items of the history, and refusing contexts without words."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from labeltrees.errors import InputError
from labeltrees.logs.reading import collect

_SHARE_OF_IDS = 0.9
LIST_SEPARATOR = "\x1f"  # between the names of a list kept as one text

Matrix = sparse.csr_array[np.float32]


def check_words(texts: pl.Series) -> None:
    """Refuse contexts that look like ids: nearly all are one word with a digit in it."""
    text = texts.str.strip_chars()
    is_id = ~text.str.contains(r"\s") & text.str.contains(r"\d")
    if len(texts) > 0 and is_id.sum() >= _SHARE_OF_IDS * len(texts):
        raise InputError(_looks_like_ids(text.filter(is_id)[0]))


def no_words(texts: list[str]) -> str:
    """Return the message for texts that have no words in common."""
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


def split_names(values: pl.LazyFrame, separator: str) -> pl.LazyFrame:
    """Return the names in each text of a frame (point, value) as a long frame: point, name, value (its count)."""
    names = values.select("point", pl.col("value").str.split(separator).alias("name")).explode("name")
    names = names.with_columns(pl.col("name").str.strip_chars()).filter(pl.col("name") != "")
    return names.group_by("point", "name").agg(pl.len().cast(pl.Float32).alias("value"))


def known_names(long: list[pl.LazyFrame], n_train: int) -> pl.Series:
    """Return the names that training points have, sorted.

    Parameters
    ----------
    long : list of frames
        point, name (a text or an integer), value.
    n_train : int
        The first `n_train` points are the training points.
    """
    return collect(pl.concat(long).filter(pl.col("point") < n_train).select(pl.col("name").unique())).sort("name")[
        "name"
    ]


def with_columns(names: pl.Series) -> pl.DataFrame:
    """Return names with the number of their column."""
    return names.to_frame("name").with_columns(pl.int_range(pl.len(), dtype=pl.Int32).alias("column"))


def entries_matrix(
    rows: NDArray[Any], columns: NDArray[Any], values: NDArray[np.float32], shape: tuple[int, int]
) -> Matrix:
    """Return the CSR matrix of distinct entries, given in any order."""
    matrix: Matrix = sparse.coo_array((values, (rows, columns)), shape=shape).tocsr()
    matrix.sort_indices()
    return matrix
