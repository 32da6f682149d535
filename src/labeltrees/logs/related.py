"""Related items: from baskets to pairs of items, with the number of baskets that they share.

The pairs become the events of a new log: the context is an item, the item is a related item. The later stages are those
of any log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from labeltrees.errors import InputError, Parameter
from labeltrees.logs.clean import TRAINING
from labeltrees.logs.events import collect
from labeltrees.logs.features import LIST_SEPARATOR, most_common
from labeltrees.logs.folder import LogSummary
from labeltrees.logs.settings import LOW_ENGAGEMENT, LogSettings
from labeltrees.logs.shards import Kept, ShardWork, keep
from labeltrees.tasks import Outcome, Results

# A basket of n items has n * (n - 1) pairs: one of 1,000 items has a million, and says little about each.
MAX_BASKET = 1_000
# Pairs that are counted at a time, at most 90 bytes each, before most of them are dropped.
PAIRS_AT_A_TIME = 8_000_000
_SHARE_WITH_WORDS = 0.1  # share of ids with several words: below it, ids are not texts
_ALONE = "basket of one item"
_LARGE = f"basket of more than {MAX_BASKET:,} items"
_LOW, _BEYOND = "pair of low engagement", "beyond the most related items"


@dataclass(frozen=True)
class Related:
    """The pairs of related items as events, and how the log was used.

    Attributes
    ----------
    events : Kept
        context (an item), item (a related one), weight (the number of shared baskets), window and feature.
    traffic : frame
        item, and its number of events in the log.
    counts : dict
        Events in baskets of one item and in too large baskets; pairs seen, of low engagement and beyond the maximum.
    """

    events: Kept
    traffic: pl.DataFrame
    counts: dict[str, int]

    def settings(self, settings: LogSettings) -> LogSettings:
        """Return the settings of the stages that follow."""
        return replace(
            settings,
            features="column",
            feature_column="feature",
            session=None,
            session_gap=None,
            min_engagement=0.0,
            drop_duplicates=False,
        )

    def with_traffic(self, points: pl.DataFrame) -> pl.DataFrame:
        """Return points with the events of the item itself as their events."""
        own = self.traffic.rename({"item": "context"})
        return points.drop("events").join(own, on="context", how="left", maintain_order="left")

    def dropped(self) -> dict[str, int]:
        """Return the events of baskets that were left out, by reason."""
        return {name: self.counts[name] for name in (_ALONE, _LARGE)}

    def counted(
        self, settings: LogSettings, n_kept: int, summary: LogSummary, contexts: Counter[str]
    ) -> dict[str, Any]:
        """Return the fields of the summary that count events and items of the log instead of the pairs made from it.

        Parameters
        ----------
        settings : LogSettings
            The settings of the user.
        n_kept : int
            Valid events.
        summary : LogSummary
            Of the stages that followed.
        contexts : counter
            Of the stages that followed: items with related items.
        """
        later = {name: count for name, count in summary.pairs.items() if name not in ("seen", _LOW)}
        n_items, without, used = self.traffic.height, contexts["without features"], contexts["used"]
        return {
            "events_used": {"shared baskets": n_kept - sum(self.dropped().values())},
            "pairs": {name: self.counts[name] for name in ("seen", _LOW, _BEYOND)} | later,
            "contexts": {
                "seen": n_items,
                "without features": without,
                "empty (no pair left)": n_items - without - used,
                "used": used,
            },
            "items": {
                name: count + n_items - summary.items["seen"] if name != "used" else count
                for name, count in summary.items.items()
            },
            "settings": replace(settings, min_engagement=least_shared(settings), points_per_context=1).to_json(),
        }


def least_shared(settings: LogSettings) -> float:
    """Return the minimum number of baskets that two items must share."""
    return LOW_ENGAGEMENT if settings.min_engagement == "auto" else float(settings.min_engagement)


def relate_items(events: list[Kept], settings: LogSettings, work: ShardWork) -> Related:
    """Count the baskets that two items share, and keep the most related items of each."""
    (name,) = work.run("counting shared baskets", count_shared, [{"events": events}], settings=settings)
    values = work.results[name].values
    related = Related(Kept([name], "related"), collect(Kept([name], "traffic").frame(work.results)), values["counts"])
    if values["n_kept"] == 0:
        message = "no two items share {:g} contexts: lower {}, or is {} not the column of the basket?"
        parts = (least_shared(settings), Parameter("min_engagement"), repr(settings.session or settings.context))
        raise InputError(message, *parts)
    return related


def count_shared(results: Results, *, events: list[Kept], settings: LogSettings) -> Outcome:
    """Keep the related items and the number of events of every item; return the counts.

    Memory is needed for the distinct pairs of basket and item (about 60 bytes each), the pairs of items that are
    counted at a time, and the result.
    """
    shards = [shard.frame(results) for shard in events]
    traffic = collect(pl.concat([shard.select("item") for shard in shards]).group_by("item").agg(events=pl.len()))
    traffic = traffic.sort("item")
    bought, counts = _baskets(shards, traffic["item"])
    kept: list[SharedCounts] = []
    for block in count_pairs(bought, least_shared(settings), settings.max_items):
        kept.append(block.pairs)
        counts["seen"] += block.n_seen
        counts[_LOW] += block.n_seen - block.n_strong
        counts[_BEYOND] += block.n_strong - len(block.pairs.shared)
    rows, columns, shared = (np.concatenate([pairs[field] for pairs in kept]) for field in range(3))
    related = pl.DataFrame(
        {
            "context": traffic["item"][rows],
            "item": traffic["item"][columns],
            "weight": shared.astype(np.float64),
        }
    ).with_columns(pl.lit(TRAINING, pl.UInt8).alias("window"))
    words = _words(shards, traffic["item"]).rename({"item": "context"})
    related = related.join(words, on="context", how="left", maintain_order="left")
    return {}, {
        "related": keep(results, "related", related),
        "traffic": keep(results, "traffic", traffic),
        "counts": counts,
        "n_kept": related.height,
    }


def _baskets(shards: list[pl.LazyFrame], items: pl.Series) -> tuple[sparse.csr_array[np.int64], dict[str, int]]:
    """Return which items (rows) are in which baskets (columns), and the counts of events in baskets left out."""
    counts = dict.fromkeys((_ALONE, _LARGE, "seen", _LOW, _BEYOND), 0)
    numbers = items.to_frame().with_columns(row=pl.int_range(pl.len(), dtype=pl.UInt32))
    rows, columns, n_baskets = [], [], 0
    for shard in shards:  # each has all events of its contexts
        pairs = collect(shard.group_by("context", "item").agg(events=pl.len()))
        pairs = pairs.with_columns(size=pl.len().over("context"))
        for reason, left_out in ((_ALONE, pl.col("size") == 1), (_LARGE, pl.col("size") > MAX_BASKET)):
            counts[reason] += int(pairs.filter(left_out)["events"].sum())
        pairs = pairs.filter(pl.col("size").is_between(2, MAX_BASKET)).join(numbers, on="item")
        basket = pairs["context"].rank("dense").to_numpy().astype(np.int64) - 1
        rows.append(pairs["row"].to_numpy())
        columns.append(basket + n_baskets)
        n_baskets += pairs["context"].n_unique()
    row, column = np.concatenate(rows), np.concatenate(columns)
    shape = (len(items), n_baskets)
    return sparse.coo_array((np.ones(len(row), np.int64), (row, column)), shape=shape).tocsr(), counts


class SharedCounts(NamedTuple):
    """Pairs of items by their rows, and the baskets that they share."""

    rows: NDArray[np.int64]
    others: NDArray[np.int64]
    shared: NDArray[np.int64]


class CountedBlock(NamedTuple):
    """The pairs kept for some items, the number of their pairs, and how many of these share enough baskets."""

    pairs: SharedCounts
    n_seen: int
    n_strong: int


def count_pairs(bought: sparse.csr_array[np.int64], least: float, most: int) -> Iterator[CountedBlock]:
    """Yield related items in blocks of items: those that share the most baskets; ties go to the first item.

    Parameters
    ----------
    bought : (n_items, n_baskets) CSR of ones
    least : float
        The minimum number of baskets that two items must share.
    most : int
        The maximum number of related items per item.
    """
    baskets = bought.T.tocsr()
    ends = np.cumsum(bought @ np.diff(baskets.indptr).astype(np.int64))  # bound of the pairs of items up to each one
    starts = np.flatnonzero(np.diff(ends // PAIRS_AT_A_TIME, prepend=-1)).tolist()
    for start, end in zip(starts, [*starts[1:], bought.shape[0]], strict=True):
        together = (bought[start:end] @ baskets).tocoo()
        rows, others = (ids.astype(np.int64) for ids in (together.row + start, together.col))
        shared = together.data
        distinct = rows != others
        strong = np.flatnonzero(distinct & (shared >= least))
        order = strong[np.lexsort((others[strong], -shared[strong], rows[strong]))]
        place = np.arange(len(order)) - np.searchsorted(rows[order], rows[order])  # among the items of the same row
        order = order[place < most]
        kept = SharedCounts(rows[order], others[order], shared[order])
        yield CountedBlock(kept, int(distinct.sum()), len(strong))


def _words(shards: list[pl.LazyFrame], items: pl.Series) -> pl.DataFrame:
    """Return the features of items: item, and feature (a text, or a list of names).

    They are the most common value of the feature column, else the most common name. Without both, they are the words of
    the ids, or the ids themselves if these have no words.
    """
    schema = shards[0].collect_schema()
    source = next((name for name in ("feature", "name") if name in schema), None)
    if source is None:
        words = pl.DataFrame({"item": items, "name": items.cast(pl.String)})
        lists = bool(words["name"].str.strip_chars().str.contains(r"\s").sum() < _SHARE_WITH_WORDS * len(items))
    else:
        lists = isinstance(schema[source], pl.List)
        value = pl.col(source)
        value = value.list.drop_nulls().list.join(LIST_SEPARATOR) if lists else value
        words = most_common([shard.select("item", value.alias("name")) for shard in shards])
    feature = pl.col("name").str.split(LIST_SEPARATOR) if lists else pl.col("name")
    return words.select("item", feature.alias("feature"))
