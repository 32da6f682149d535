"""The synthetic log: power-law items, seasons and drift, from a seed."""

from argparse import Namespace

import numpy as np
import polars as pl
import pytest

from benchmarks.scale import logs

OPTIONS = Namespace(events=200_000, contexts=5_000, items=5_000, seed=3)


@pytest.fixture(scope="module")
def year():
    return logs.synthetic_events(200_000, 0, logs.DAYS, (3, 0), OPTIONS)


def test_items_follow_a_power_law(year):
    counts = year["item"].drop_nulls().value_counts(sort=True)["count"].to_numpy()
    top = counts[: len(counts) // 100].sum() / counts.sum()
    assert top > 0.1  # 1 % of the items would have 1 % of the events if all were alike
    assert len(counts) > 2000
    ranks = np.arange(1, 500)
    slope = np.polyfit(np.log(ranks), np.log(counts[:499]), 1)[0]
    assert -1.5 < slope < -0.2


def test_items_have_seasons_and_drift(year):
    topic = pl.col("item").str.slice(1).cast(pl.Int64) // logs.ITEMS_PER_TOPIC
    months = year.drop_nulls("item").with_columns(topic.alias("topic"), month=pl.col("time").dt.month())
    # The topic whose season is around the new year: more of its events then than half a year later.
    of_topic = months.filter(pl.col("topic") == 0).group_by("month").len().sort("month")["len"].to_numpy()
    assert of_topic[[0, 11]].sum() > 1.5 * of_topic[[5, 6]].sum()
    best = [
        months.filter((pl.col("topic") == 0) & (pl.col("month") == month))["item"].value_counts(sort=True)["item"][0]
        for month in (1, 12)
    ]
    assert best[0] != best[1]
