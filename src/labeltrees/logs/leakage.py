"""Leakage: test events that are older than training events."""

from __future__ import annotations

import polars as pl

from labeltrees.logs.reading import collect

SAME_CONTEXT = "test events before a training event of the same context"
ANY_CONTEXT = "test events before the last training event"


def count_leaks(events: list[pl.LazyFrame], points: pl.DataFrame, n_train: int) -> dict[str, int]:
    """Return how many events of test points are older than training events.

    Parameters
    ----------
    events : list of frames
        The events of each shard, with their moment. If contexts are sessions, group is the context.
    points : frame
        context, window, shard, point and latest, the time of the last event; the first `n_train` are for training.
    """
    last = points.filter(pl.col("point") < n_train)["latest"].max()
    same = any_context = 0
    for number, shard in enumerate(events):  # a shard has all events of its contexts
        group = "group" if "group" in shard.collect_schema() else "context"
        used = points.lazy().filter(pl.col("shard") == number)
        used = used.select("context", "window", is_train=pl.col("point") < n_train)
        joined = shard.join(used, on=["context", "window"]).select(pl.col(group).alias("group"), "is_train", "moment")
        found = collect(joined)
        train = found.filter("is_train").group_by("group").agg(pl.col("moment").max().alias("last"))
        test = found.filter(~pl.col("is_train")).join(train, on="group", how="left")
        same += int((test["moment"] < test["last"]).sum())
        any_context += int((test["moment"] < last).sum())
    return {SAME_CONTEXT: same, ANY_CONTEXT: any_context}
