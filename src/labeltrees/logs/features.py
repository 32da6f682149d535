"""Features of points: words of texts, names in lists, hidden items of baskets; and readable names of items."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from labeltrees.data.texts import default_vectorizer
from labeltrees.errors import InputError, Parameter
from labeltrees.logs.events import collect

_SHARE_OF_IDS = 0.9
# Characters that some readers take for a line end (files have one name per line), and other control characters.
_LINE_BREAKS = r"[\x00-\x1f\x7f\x{85}\x{2028}\x{2029}]+"
_N_EXAMPLES = 1000  # texts that decide which error is raised
# A training point hides at least this share of its basket's items. If one item is hidden for test, hiding only
# one for training, too, halves nDCG: the model then mostly learns that visible items are not labels.
LEAST_HIDDEN = 0.3
LIST_SEPARATOR = "\x1f"  # between the names of a list kept as one text

Matrix = sparse.csr_array[np.float32]


def check_words(texts: pl.Series) -> None:
    """Refuse contexts that look like ids: nearly all are one word with a digit in it."""
    text = texts.str.strip_chars()
    is_id = ~text.str.contains(r"\s") & text.str.contains(r"\d")
    if len(texts) > 0 and is_id.sum() >= _SHARE_OF_IDS * len(texts):
        raise _looks_like_ids(text.filter(is_id)[0])


def no_words(texts: list[str]) -> InputError:
    """Return the error for texts that have no words in common."""
    one_word = sum(len(text.split()) < 2 for text in texts)
    if one_word >= _SHARE_OF_IDS * len(texts):
        return _looks_like_ids(texts[0])
    message = (
        "no word occurs in two of the {} texts, so there are no features: use {}, {} or {}, or give a vectorizer with "
        "min_df=1"
    )
    kinds = (Parameter("features", kind) for kind in ("history", "basket", "column"))
    return InputError(message, f"{len(texts):,}", *kinds)


def _looks_like_ids(example: str) -> InputError:
    message = (
        "the contexts look like ids (such as {}), which have no words in common: use {} with {} (items before a time), "
        "{} (the other items of the same context), or {} with {}"
    )
    return InputError(
        message,
        repr(example),
        Parameter("features", "history"),
        Parameter("history_before"),
        Parameter("features", "basket"),
        Parameter("features", "column"),
        Parameter("feature_column"),
    )


def split_names(values: pl.LazyFrame, separator: str) -> pl.LazyFrame:
    """Return the names in each text of a frame (point, value) as a long frame: point, name, value (its count)."""
    names = values.select("point", pl.col("value").str.split(separator).alias("name"))
    names = names.explode("name", empty_as_null=True)  # the default has changed; a split text has at least one name
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


class TextFeatures:
    """A vectorizer, fitted on the training texts unless it is fitted already.

    Parameters
    ----------
    vectorizer : optional
        By default tf-idf of the words that occur in at least two texts.
    texts : callable
        Returns an iterator over the texts of the training points.
    """

    def __init__(self, vectorizer: Any, texts: Callable[[], Iterator[str]]) -> None:
        self.vectorizer = default_vectorizer() if vectorizer is None else vectorizer
        self._texts = texts
        self._n_values = 0
        if not hasattr(self.vectorizer, "vocabulary_"):
            try:
                self.vectorizer.fit(texts())
            except ValueError as error:  # no word occurs often enough
                raise self._fault() from error
        self.n_features = self.rows(list(itertools.islice(texts(), 1))).shape[1]
        if self.n_features == 0:
            raise self._fault()
        self._n_values = 0

    @property
    def feature_names(self) -> list[str] | None:
        """The names of the features; None if they are hashed."""
        if getattr(self.vectorizer, "hashing", None) is not None:
            return None
        return [str(name) for name in self.vectorizer.get_feature_names_out()]

    def rows(self, texts: list[str]) -> Matrix:
        """Return the features of texts."""
        rows = sparse.csr_array(self.vectorizer.transform(texts)).astype(np.float32)
        self._n_values += rows.nnz
        return rows

    def check_found(self) -> None:
        """Refuse features that are all 0, after the last block."""
        if self._n_values == 0:
            raise self._fault()

    def _fault(self) -> InputError:
        return no_words(list(itertools.islice(self._texts(), _N_EXAMPLES)))


class Masked(NamedTuple):
    """Points made from baskets: visible items X, hidden items Y, and the row of each point's basket, ascending."""

    X: Matrix
    Y: Matrix
    baskets: NDArray[np.int64]


def hide_items(
    baskets: Matrix,
    hide: float,
    random: np.random.Generator,
    times: int = 1,
    more: np.random.Generator | None = None,
    least: float = 0.0,
) -> Masked:
    """Return points with some items of a basket visible and the others hidden.

    The items of a basket are shuffled and cut into pieces of the size to hide. Every point hides one piece; after the
    last piece the items are shuffled again. So all items are hidden about equally often.

    Parameters
    ----------
    baskets : (n_baskets, n_items) CSR with sorted indices
        Each row has at least two items.
    hide : float
        The share of items to hide (below 1), or their number. At least one item is hidden and one stays visible.
    random : Generator
        For the first shuffle. The same baskets and seed hide the same items, also if the baskets are given in
        consecutive blocks.
    times : int
        Points per basket; a basket with fewer items gets one point per item.
    more : Generator, optional
        For the other shuffles; needed if `times` is above 1.
    least : float
        At least this share of the items is hidden.
    """
    sizes = np.diff(baskets.indptr)
    n_hidden = np.full(len(sizes), hide) if hide >= 1 else np.floor(hide * sizes + 0.5)
    n_hidden = np.maximum(n_hidden, np.floor(least * sizes + 0.5))
    n_hidden = np.clip(n_hidden, 1, np.maximum(sizes - 1, 1)).astype(np.int64)
    n_pieces = np.maximum(sizes // n_hidden, 1)
    row = np.repeat(np.arange(len(sizes)), sizes)
    numbers = [random.random(baskets.nnz)]
    if more is not None and times > 1:
        numbers += [*more.random((baskets.nnz, times - 1)).T]  # by item, so that blocks draw the same numbers
    place = np.empty((times, baskets.nnz), dtype=np.int64)
    for order_of, own in zip(numbers, place, strict=True):
        own[np.lexsort((order_of, row))] = np.arange(baskets.nnz) - np.repeat(baskets.indptr[:-1], sizes)
    n_points = np.minimum(times, np.maximum(sizes, 1))
    visible, hidden, owners = [], [], []
    for number in range(times):
        has_point = n_points > number
        turn, piece = np.divmod(number, n_pieces)
        own = place[turn[row], np.arange(baskets.nnz)]
        is_hidden = own // n_hidden[row] == piece[row]
        kept = has_point[row]
        visible.append(_some(baskets, kept & ~is_hidden)[has_point])
        hidden.append(_some(baskets, kept & is_hidden, binary=True)[has_point])
        owners.append(np.flatnonzero(has_point))
    if times == 1:
        return Masked(visible[0], hidden[0], owners[0])
    owner = np.concatenate(owners)
    order = np.argsort(owner, kind="stable")  # the points of a basket are neighbours, so that blocks can be joined
    X, Y = (_stack(rows)[order] for rows in (visible, hidden))
    return Masked(X, Y, owner[order])


def _stack(blocks: list[Matrix]) -> Matrix:
    stacked: Matrix = sparse.vstack(blocks, format="csr")
    return stacked


def _some(matrix: Matrix, keep: np.ndarray, binary: bool = False) -> Matrix:
    indptr = np.concatenate([[0], np.cumsum(keep)])[matrix.indptr]
    values = np.ones(int(indptr[-1]), dtype=np.float32) if binary else matrix.data[keep]
    return sparse.csr_array((values, matrix.indices[keep], indptr.astype(matrix.indptr.dtype)), shape=matrix.shape)


class ItemNames(NamedTuple):
    """The ids of items as texts, their names (None if the log has none), and the number of changed ones by reason.

    `others` has a second, unique name of each item: its name, with the id if several items have this name. Without
    names it is the item as written in the log.
    """

    ids: list[str]
    names: list[str | None] | None
    others: list[str]
    changed: dict[str, int]


def name_items(items: pl.Series, events: list[pl.LazyFrame] | None) -> ItemNames:
    """Return the ids and names of `items`.

    Parameters
    ----------
    items : series
        The items, texts or integers, all different.
    events : list of frames, optional
        With the columns item and name. An item gets its most common name; ties go to the name that sorts first.
    """
    named = pl.DataFrame({"item": items, "name": items.cast(pl.String)})
    ids, changed = _one_line_each(named["name"], named["name"])
    if events is None:
        return ItemNames(ids, None, named["name"].to_list(), changed)
    named = named.join(most_common(events), on="item", how="left", suffix="_given", maintain_order="left")
    names = named.select(pl.coalesce("name_given", "name").alias("shown"))["shown"]
    others, changed = _one_line_each(names, named["name"])
    if named["name_given"].null_count():
        changed = {"items without a name": named["name_given"].null_count()} | changed
    return ItemNames(ids, named.select(one_line(pl.col("name_given")))["name_given"].to_list(), others, changed)


def _one_line_each(names: pl.Series, ids: pl.Series) -> tuple[list[str], dict[str, int]]:
    """Return names that are one line each and all different, and how many were changed, by reason."""
    named = pl.DataFrame({"name": names, "id": ids}).with_columns(one_line(pl.col("name")).alias("line"))
    repeated = named["line"].is_duplicated()
    with_id = pl.concat_str(pl.col("line"), pl.lit(" ["), one_line(pl.col("id")), pl.lit("]"))
    unique = named.select(pl.when(repeated).then(with_id).otherwise(pl.col("line")).alias("unique"))["unique"]
    counts = {
        "names with line breaks (a space is put)": int((named["line"] != named["name"]).sum()),
        "names of several items (their id is added)": int(repeated.sum()),
    }
    return _make_different(unique.to_list()), {what: count for what, count in counts.items() if count}


def one_line(text: pl.Expr) -> pl.Expr:
    """Replace every run of line breaks and control characters in texts by a space."""
    return text.str.replace_all(_LINE_BREAKS, " ")


def most_common(events: list[pl.LazyFrame]) -> pl.DataFrame:
    """Return the most common name of each item that has any: item, name. Ties go to the name that sorts first."""
    counted = pl.concat([shard.select("item", "name") for shard in events]).filter(
        pl.col("name").str.strip_chars() != ""
    )
    counted = counted.with_columns(pl.col("name").str.strip_chars()).group_by("item", "name").len("n")
    ordered = collect(counted).sort("n", "name", descending=[True, False])
    return ordered.group_by("item", maintain_order=True).agg(pl.col("name").first())


def _make_different(names: list[str]) -> list[str]:
    """Return names that are all different, by adding numbers where needed."""
    if len(set(names)) == len(names):
        return names
    seen: set[str] = set(names)
    taken: set[str] = set()
    result = []
    for name in names:
        new, number = name, 2
        while new in taken or (new != name and new in seen):
            new, number = f"{name} ({number})", number + 1
        taken.add(new)
        result.append(new)
    return result
