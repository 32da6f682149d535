"""The paper's datasets (its Tables 1 and 2) and ours: real sets, the bundled set, logs, and synthetic sets.

A set's name may end with other settings of the model: ", weights per node" is the other reading of the paper
(`weights_of="node"`), ", 2 paths" a search that keeps 2 paths instead of 10. They are sets of their own in the records.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

import labeltrees as lt
from benchmarks.paper.records import VARIANTS, grid_of
from benchmarks.scale.logs import CUT, DAYS, synthetic_events
from benchmarks.scale.shapes import SHAPES, load_shape
from benchmarks.shared_data import VECTORIZER, cached_pair, data_folder, load
from labeltrees.logs import PreparedLogs

MIN_ENGAGEMENT = 2  # an article bought once in an invoice is a pair of low engagement
TEST_SHARE = 0.15  # the paper's 5 % would leave 700 invoices


def load_shop(weighted: bool, quick: bool = False) -> tuple[lt.Dataset, lt.Dataset]:
    """Return training and test points of the log; `weighted` by context frequency, or all alike."""
    pair = []
    for part in _quick_log() if quick else _shop():
        weight = part.sample_weight if weighted else None
        pair.append(lt.Dataset(part.X, part.Y, sample_weight=weight))
    return pair[0], pair[1]


@lru_cache(maxsize=1)
def _shop() -> PreparedLogs:
    """Prepare "Online Retail": a context is an invoice, its features are the articles the customer bought before.

    The frequency of a context is its number of valid events: lines of the invoice.
    """
    from examples.online_shop import read_invoices

    with contextlib.redirect_stdout(sys.stderr):  # it prints how many lines are not about an article
        invoices = read_invoices(str(data_folder("online-retail") / "events.csv.xz"))
    return lt.prepare_logs(
        invoices,
        lt.Columns(item="StockCode", weight="Quantity", time="InvoiceDate", feature_column="past"),
        min_engagement=MIN_ENGAGEMENT,
        min_item_contexts=5,
        point_weights="events",
        test_share=TEST_SHARE,
    )


@lru_cache(maxsize=1)
def _quick_log() -> PreparedLogs:
    """Prepare a small synthetic log, for --quick."""
    options = argparse.Namespace(events=30_000, contexts=1_500, items=1_000)
    events: pl.DataFrame = synthetic_events(options.events, 0, DAYS, (0,), options)
    return lt.prepare_logs(
        events, history_before=CUT, min_engagement=MIN_ENGAGEMENT, point_weights="events", test_share=TEST_SHARE
    )


Pair = tuple[lt.Dataset, lt.Dataset]

# "Products related to this item": at least this many invoices with both articles, and this many articles at most.
SHARED_INVOICES, RELATED = 10, 6


@lru_cache(maxsize=1)
def _related() -> tuple[list[str], sparse.csr_array]:
    """Return the words of each article of "Online Retail", and the articles most often on the same invoices (n, n)."""
    from examples.online_shop import read_articles

    with contextlib.redirect_stdout(sys.stderr):
        lines = read_articles(str(data_folder("online-retail") / "events.csv.xz"))
    names = lines.group_by("StockCode").agg(pl.col("Description").drop_nulls().mode().sort().first()).sort("StockCode")
    codes = [np.unique(lines[column].to_numpy(), return_inverse=True)[1] for column in ("InvoiceNo", "StockCode")]
    bought = sparse.csr_array((np.ones(len(lines), np.float32), codes))
    bought.data[:] = 1
    together = sparse.csr_array(bought.T @ bought)
    together.setdiag(0)
    kept = [row_of_largest(together, row) for row in range(together.shape[0])]
    ends = np.cumsum([0, *map(len, kept)])
    related = sparse.csr_array((np.ones(ends[-1], np.float32), np.concatenate(kept), ends), shape=together.shape)
    return [name or "" for name in names["Description"]], related


def row_of_largest(counts: sparse.csr_array, row: int) -> NDArray[np.int64]:
    """Return the columns of the largest counts of a row, ascending; of equal counts the first."""
    begin, end = counts.indptr[row], counts.indptr[row + 1]
    columns, values = counts.indices[begin:end].astype(np.int64), counts.data[begin:end]
    order = np.lexsort((columns, -values))[:RELATED]
    return np.sort(columns[order[values[order] >= SHARED_INVOICES]])


def load_related(split: int) -> Pair:
    """Return points that are articles, with their words as features and related articles as labels.

    A random 5 % of the articles that have related ones are for test, others in each split.
    """
    words, related = _related()
    rows = np.flatnonzero(np.diff(related.indptr))
    order = np.random.default_rng(split).permutation(len(rows))
    n = round(0.05 * len(rows))
    train, test = np.sort(rows[order[n:]]), np.sort(rows[order[:n]])
    seen = np.flatnonzero(np.bincount(related[train].indices, minlength=related.shape[1]))
    test = test[np.diff(related[test][:, seen].indptr) > 0]
    vectorizer = clone(VECTORIZER).fit([words[row] for row in train])
    parts = [lt.Dataset(vectorizer.transform([words[r] for r in own]), related[own][:, seen]) for own in (train, test)]
    return parts[0], parts[1]


GIT_CUT = "2025-05-08"  # about 5 % of the commits are later


def load_git(by_time: bool) -> Pair:
    """Return the points of "git-commits": a context is a commit with the words of its subject line, items are files.

    Items of a single commit are left out. 5 % of the commits are for test: drawn at random, or the last ones.
    """
    name = "git-commits by time" if by_time else "git-commits"
    settings = _git_settings(by_time)
    source = [_git_events().stat().st_size, repr(settings)]
    train, test = cached_pair(name, source, lambda: prepare_git(settings))
    return lt.Dataset(train.X, train.Y), lt.Dataset(test.X, test.Y)


def load_git_texts() -> list[tuple[list[str], list[list[str]]]]:
    """Return texts and labels of the same training and test points, split at random."""
    return [
        ([str(text) for text in part.texts], [part.labels_of(row) for row in range(part.n_points)])
        for part in prepare_git(_git_settings(by_time=False))
    ]


def prepare_git(settings: dict[str, Any]) -> PreparedLogs:
    return lt.prepare_logs(_git_events(), lt.Columns(feature_column="query"), **settings)


def _git_events() -> Path:
    return data_folder("git-commits") / "events.csv.xz"


def _git_settings(by_time: bool) -> dict[str, Any]:
    how = {"test_since": GIT_CUT} if by_time else {"test_share": 0.05}
    return {"min_engagement": 0, "min_item_contexts": 2, "features": VECTORIZER, **how}


# name: training points, features, labels, test points, labels per point
PAPER = {
    "AmazonCat-13K": ("1.2M", "204K", "13K", "307K", 5.04),
    "Wiki-500K": ("1.8M", "2.4M", "501K", "784K", 4.77),
    "Amazon-670K": ("490K", "136K", "670K", "153K", 5.45),
    "Amazon-705K (log)": ("951K", "207K", "705K", "50K", 2.94),
    "Amazon-1M (log)": ("1.3M", "200K", "1.2M", "66K", 2.94),
    "Amazon-2M (log)": ("2.4M", "486K", "2.5M", "127K", 2.28),
    "Amazon-3M (log)": ("7.9M", "794K", "2.7M", "364K", 3.12),
    "Amazon-10M (log)": ("29.9M", "1.6M", "9.9M", "1.6M", 6.03),
}

SMALL = ["debian", "bibtex", "delicious", "eurlex4k", "debian-depends"]
LOGS = ["online-retail", "online-retail, weighted", "related items"]
SPLIT_BY_SEED = ["related items"]  # other test points for every seed
LARGE = ["arxiv-authors", "git-commits", "git-commits by time"]
PER_NODE = [f"{name}, weights per node" for name in SMALL if name != "bibtex"]  # the other reading of the paper
FEW_PATHS = ["debian-depends, 2 paths", "debian-depends, 3 paths"]  # search as hard as the paper's
DEFAULT_SETS = [*SMALL, *LOGS, *PER_NODE, *FEW_PATHS]
# Figure 1 and the claim about imbalance use every set at hand.
IMBALANCE_SETS = [*SMALL, "cooking", "arxiv-authors", "git-commits", "online-retail"]


class SetName(NamedTuple):
    """The parts of a set's name: its data, and settings of the model."""

    data: str
    weights_of: str = "root"
    beam: int = 10


def parse_name(name: str) -> SetName:
    """Return the parts of a name.

    Examples
    --------
    >>> parse_name("eurlex4k, 2 paths")
    SetName(data='eurlex4k', weights_of='root', beam=2)
    """
    data, node, _ = name.partition(", weights per node")
    paths = re.fullmatch(r"(.*), (\d+) paths", data)
    return SetName(paths[1] if paths else data, "node" if node else "root", int(paths[2]) if paths else 10)


def is_per_node(name: str) -> bool:
    """Whether the label weights are computed in each node."""
    return parse_name(name).weights_of == "node"


def is_variant(name: str) -> bool:
    """Whether a set has other settings of the model than the paper's main experiment."""
    return parse_name(name) != SetName(parse_name(name).data)


def is_log(name: str) -> bool:
    """Whether the paper's experiment on logs is repeated on this set: the paper's own variant only."""
    return name in LOGS or name.startswith("quick log")


def variants_of(name: str) -> list[str]:
    """Return the variants to train on a set."""
    return ["marginal"] if is_log(name) or name in FEW_PATHS else list(VARIANTS)


def tradeoffs_of(name: str) -> list[float]:
    """Return the paper's grid for a set."""
    return grid_of("logs" if is_log(name) else "parabel")


def load_set(name: str, seed: int = 0) -> Pair:
    """Return training and test points of a set; the weighted log has sample weights."""
    return load_related(seed) if name in SPLIT_BY_SEED else _load_data(parse_name(name).data)


@lru_cache(maxsize=2)
def _load_data(name: str) -> Pair:
    for known, loader in _LOADERS.items():
        if known == name:
            return loader()
    shape = re.fullmatch(r"(.*-shape)(?: at (\d+) %)?", name)
    if shape and shape.group(1) in SHAPES:
        return load_shape(shape.group(1), int(shape.group(2) or 100) / 100)
    quick = re.fullmatch(r"quick (.*)", name)
    if quick:
        return _QUICK[quick.group(1)]()
    return load(name)


def _debian() -> Pair:
    train, test = lt.datasets.load_debian()
    return lt.Dataset(train.X, train.Y), lt.Dataset(test.X, test.Y)


def _quick_debian() -> Pair:
    """Return the bundled set cut to an eighth of its training points, for trees that train in seconds."""
    train, test = _debian()
    X, Y = train.X[::8], train.Y[::8]
    seen = np.flatnonzero(np.bincount(Y.indices, minlength=Y.shape[1]))
    return lt.Dataset(X, Y[:, seen]), lt.Dataset(test.X[::2], test.Y[::2][:, seen])


_LOADERS: dict[str, Callable[[], Pair]] = {
    "debian": _debian,
    "online-retail": lambda: load_shop(weighted=False),
    "online-retail, weighted": lambda: load_shop(weighted=True),
    "git-commits": lambda: load_git(by_time=False),
    "git-commits by time": lambda: load_git(by_time=True),
}
_QUICK: dict[str, Callable[[], Pair]] = {
    "debian": _quick_debian,
    "log": lambda: load_shop(weighted=False, quick=True),
    "log, weighted": lambda: load_shop(weighted=True, quick=True),
}
