"""From a log to train and test: clean, shard by context, aggregate, make points, split."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from labeltrees._progress import ProgressArgument, watch
from labeltrees.data.dataset import Dataset
from labeltrees.data.logs.aggregate import FATES, Aggregated, Points, aggregate, count_items, make_points
from labeltrees.data.logs.clean import CleanEvents, clean_events
from labeltrees.data.logs.events import Events, open_events
from labeltrees.data.logs.features import (
    LIST_SEPARATOR,
    Matrix,
    entries_matrix,
    name_features,
    split_names,
    text_features,
)
from labeltrees.data.logs.item_names import name_items
from labeltrees.data.logs.reading import collect
from labeltrees.data.logs.settings import LogSettings
from labeltrees.data.logs.shards import Shards
from labeltrees.data.logs.split import order_points
from labeltrees.data.logs.summary import LogSummary, moment_text
from labeltrees.errors import InputError

_STEPS = 6


def prepare(
    events: Any, settings: LogSettings, vectorizer: Any, temporary_folder: Any, progress: ProgressArgument
) -> tuple[Dataset, Dataset, LogSummary]:
    """Return train, test and the summary for checked settings."""
    with (
        tempfile.TemporaryDirectory(prefix="labeltrees-logs-", dir=temporary_folder) as scratch,
        watch("Preparing the log", _STEPS, progress) as report,
        open_events(events, settings, Path(scratch)) as opened,
    ):
        return _prepare(opened, settings, vectorizer, Path(scratch), report or (lambda _done: None))


def _prepare(
    opened: Events, settings: LogSettings, vectorizer: Any, scratch: Path, report: Callable[[int], object]
) -> tuple[Dataset, Dataset, LogSummary]:
    _check_words(opened, settings)
    cleaned = clean_events(opened, settings)
    report(1)
    shards = Shards(cleaned.n_kept, scratch)
    events = shards.split(cleaned.frame)
    report(2)
    aggregated = aggregate(events, settings, shards)
    report(3)
    counted = count_items(aggregated.pairs)
    items = counted.filter(pl.col("points") >= settings.min_item_contexts).sort("item")
    items = items.select("item", pl.int_range(pl.len(), dtype=pl.Int32).alias("label"))
    made = make_points(aggregated.pairs, items, settings, shards)
    dropped = _all_dropped(cleaned, aggregated, made, settings)
    if made.contexts["used"] == 0:
        why = ", ".join(f"{n:,} {name}" for name, n in dropped.items() if n)
        message = f"no context remains: of {cleaned.n_read:,} events, {why}"
        raise InputError(message)
    report(4)
    points, n_train = order_points(pl.concat(made.points), settings)
    named = [shard.select("item", "name") for shard in events] if "name" in opened.columns else None
    X, feature_names, texts, notes = _features(points, n_train, aggregated, made, settings, vectorizer, named)
    report(5)
    Y = _labels(points, made, items.height)
    label_names, changed = name_items(items["item"], named)
    weights = None if settings.point_weights == "none" else points[settings.point_weights].to_numpy().astype(np.float64)

    # First one Dataset, then its two parts, so that the names, which may be millions, are checked once.
    whole = Dataset(X, Y, label_names=label_names, feature_names=feature_names, sample_weight=weights, texts=texts)
    used = ("history", "labels") if settings.features == "history" else ("labels",)
    train, test = whole[:n_train], whole[n_train:]
    if aggregated.n_several_values:
        notes["points with several feature values (the most common is taken)"] = aggregated.n_several_values
    summary = LogSummary(
        events_read=cleaned.n_read,
        events_dropped=dropped,
        events_used={name: made.events[name] for name in used},
        pairs={"seen": made.pairs.total(), **{name: made.pairs[name] for name in FATES[1:] if name in dropped}}
        | {f"used for {name}": made.pairs[name] for name in used},
        items={
            "seen": counted.height,
            "dropped (rare, or only in pairs that were dropped)": counted.height - items.height,
            "used": items.height,
        },
        contexts=_contexts(made, settings),
        train=_shape(train),
        test=_shape(test),
        first_event=moment_text(cleaned.first),
        last_event=moment_text(cleaned.last),
        columns=opened.columns,
        notes=notes | changed,
        settings=settings.to_json(),
        files=[str(path) for path in opened.files],
        files_left_out=[str(path) for path in opened.left_out],
    )
    report(_STEPS)
    return train, test, summary


def _check_words(opened: Events, settings: LogSettings) -> None:
    if settings.features == "words" and opened.frame.collect_schema()["context"] != pl.String:
        message = (
            f"the contexts ({settings.context!r}) are numbers, which have no words: "
            "give feature_column, or give history_before to use the items of their history"
        )
        raise InputError(message)


def _all_dropped(cleaned: CleanEvents, aggregated: Aggregated, made: Points, settings: LogSettings) -> dict[str, int]:
    repeated, without_items, without_features, low, rare = FATES
    dropped = dict(cleaned.dropped)
    if settings.drop_duplicates:
        dropped[repeated] = aggregated.n_repeated
    if settings.features == "history":
        dropped[without_items] = made.events[without_items]
    if settings.features != "words":
        dropped[without_features] = made.events[without_features]
    return dropped | {low: made.events[low], rare: made.events[rare]}


def _contexts(made: Points, settings: LogSettings) -> dict[str, int]:
    counts = {"seen": made.contexts["seen"]}
    if settings.features != "words":
        counts["without features"] = made.contexts["without features"]
    counts |= {"empty (no pair left)": made.contexts["empty"], "used": made.contexts["used"]}
    if settings.features == "history":
        counts["with history only (not among those seen)"] = made.contexts["history only"]
    return counts


def _features(
    points: pl.DataFrame,
    n_train: int,
    aggregated: Aggregated,
    made: Points,
    settings: LogSettings,
    vectorizer: Any,
    named: list[pl.LazyFrame] | None,
) -> tuple[Matrix, list[str], list[str] | None, dict[str, int]]:
    """Return X of all points, the feature names, the texts that features come from, and notes for the summary."""
    key, n_points = ["context", "window"], points.height
    texts: list[str] | None = None
    n_unknown = 0
    if settings.features == "history":
        value = pl.col("engagement").log1p().cast(pl.Float32)
        long = [
            shard.join(_of_shard(points, number), on=key, how="inner").select("point", name="item", value=value)
            for number, shard in enumerate(made.history)
        ]
        X, known, n_unknown = name_features(long, n_points, n_train)
        names = name_items(known, named)[0]
    elif settings.features == "column":
        values = points.join(collect(pl.concat(aggregated.values)), on=key, how="left", maintain_order="left")["value"]
        separator = LIST_SEPARATOR if aggregated.lists else settings.feature_separator
        if separator is not None:
            X, known, n_unknown = name_features([split_names(values, separator)], n_points, n_train)
            names = name_items(known, None)[0]
        else:
            texts = values.to_list()
            X, names = text_features(texts, n_train, vectorizer)
    else:
        texts = points["context"].to_list()
        X, names = text_features(texts, n_train, vectorizer)
    without = int((np.diff(X.indptr) == 0).sum())
    notes = {
        "features of test points that train has not (left out)": n_unknown,
        "points without a known feature": without,
    }
    return X, names, texts, {what: count for what, count in notes.items() if count}


def _of_shard(points: pl.DataFrame, number: int) -> pl.LazyFrame:
    return points.lazy().filter(pl.col("shard") == number).select("context", "window", "point")


def _labels(points: pl.DataFrame, made: Points, n_labels: int) -> Matrix:
    rows: list[NDArray[Any]] = []
    columns: list[NDArray[Any]] = []
    for number, shard in enumerate(made.labels):
        found = collect(shard.join(_of_shard(points, number), on=["context", "window"], how="inner"))
        rows.append(found["point"].to_numpy())
        columns.append(found["label"].to_numpy())
    row, column = np.concatenate(rows), np.concatenate(columns)
    return entries_matrix(row, column, np.ones(len(row), dtype=np.float32), (points.height, n_labels))


def _shape(dataset: Dataset) -> dict[str, Any]:
    n_points = dataset.n_points
    return {
        "n_points": n_points,
        "n_features": dataset.n_features,
        "n_labels": dataset.n_labels,
        "n_labels_with_points": len(np.unique(dataset.Y.indices)),
        "labels_a_point": dataset.Y.nnz / max(n_points, 1),
        "features_a_point": dataset.X.nnz / max(n_points, 1),
    }
