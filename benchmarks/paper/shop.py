"""The log of an online shop, as the paper prepares its logs: low engagement removed, random contexts for test."""

from __future__ import annotations

import argparse
import contextlib
import sys
from functools import lru_cache

import polars as pl

import labeltrees as lt
from benchmarks.scale.logs import CUT, DAYS, synthetic_events
from benchmarks.shared_data import data_folder

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
def _shop() -> lt.PreparedLogs:
    """Prepare "Online Retail": a context is an invoice, its features are the articles the customer bought before.

    The frequency of a context is its number of valid events: lines of the invoice.
    """
    from examples.online_shop import read_invoices

    with contextlib.redirect_stdout(sys.stderr):  # it prints how many lines are not about an article
        invoices = read_invoices(str(data_folder("online-retail") / "events.csv.xz"))
    return lt.prepare_logs(
        invoices,
        item="StockCode",
        weight="Quantity",
        time="InvoiceDate",
        feature_column="past",
        min_engagement=MIN_ENGAGEMENT,
        min_item_contexts=5,
        point_weights="events",
        test_share=TEST_SHARE,
    )


@lru_cache(maxsize=1)
def _quick_log() -> lt.PreparedLogs:
    """Prepare a small synthetic log, for --quick."""
    options = argparse.Namespace(events=30_000, contexts=1_500, items=1_000)
    events: pl.DataFrame = synthetic_events(options.events, 0, DAYS, (0,), options)
    return lt.prepare_logs(
        events, history_before=CUT, min_engagement=MIN_ENGAGEMENT, point_weights="events", test_share=TEST_SHARE
    )
