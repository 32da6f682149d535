"""From a log to train and test: clean, shard by context, aggregate, make points, split."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from labeltrees._progress import ProgressArgument
from labeltrees.data.dataset import Dataset
from labeltrees.data.encoders import Encoder
from labeltrees.data.logs.aggregate import FATES, Aggregated, Points, aggregate, count_items, make_points, mark_pairs
from labeltrees.data.logs.clean import CleanEvents, clean_events
from labeltrees.data.logs.events import Events, open_events
from labeltrees.data.logs.item_names import name_items
from labeltrees.data.logs.leakage import count_leaks
from labeltrees.data.logs.point_features import PointFeatures, make_features
from labeltrees.data.logs.recency import Recency
from labeltrees.data.logs.sessions import split_sessions
from labeltrees.data.logs.settings import LogSettings
from labeltrees.data.logs.shards import Shards
from labeltrees.data.logs.split import order_points
from labeltrees.data.logs.stages import Stages, watch_stages
from labeltrees.data.logs.summary import LogSummary, moment_text
from labeltrees.data.logs.weights import point_weights
from labeltrees.data.logs.work_folder import work_folder
from labeltrees.errors import InputError

Prepared = tuple[Dataset, Dataset, Encoder | None, LogSummary]


def prepare(
    events: Any,
    settings: LogSettings,
    vectorizer: Any = None,
    temporary_folder: Any = None,
    progress: ProgressArgument = None,
    resume_folder: Path | None = None,
) -> Prepared:
    """Return train, test, encoder and summary for checked settings."""
    with (
        work_folder(events, settings, temporary_folder, resume_folder) as scratch,
        watch_stages(progress) as stages,
        open_events(events, settings, scratch) as opened,
    ):
        return _prepare(opened, settings, vectorizer, scratch, stages)


def _prepare(opened: Events, settings: LogSettings, vectorizer: Any, scratch: Path, stages: Stages) -> Prepared:
    _check_words(opened, settings)
    stages.start("reading events")
    cleaned = clean_events(opened, settings)
    stages.start("sharding by context")
    shards = Shards(cleaned.n_kept, scratch)
    events = shards.split(cleaned.frame)
    if settings.has_sessions:
        events = _sessions(events, settings, shards, stages.report)
    stages.start("summing pairs")
    recency = Recency(settings.half_life, cleaned.last)
    aggregated = aggregate(events, settings, shards, recency, cleaned.whole_weights, stages.report)
    stages.start("making points")
    pairs, min_engagement, n_weak = mark_pairs(aggregated.pairs, settings)
    settings = replace(settings, min_engagement=min_engagement)
    counted = count_items(pairs)
    items = counted.filter(pl.col("points") >= settings.min_item_contexts).sort("item")
    items = items.select("item", pl.int_range(pl.len(), dtype=pl.Int32).alias("label"))
    made = make_points(pairs, items, settings, shards, recency, stages.report)
    dropped = _all_dropped(cleaned, aggregated, made, settings)
    if made.contexts["used"] == 0:
        _refuse_empty(cleaned, dropped, settings)
    points, n_train = order_points(pl.concat(made.points), settings)
    stages.start("making features")
    named = [shard.select("item", "name") for shard in events] if "name" in opened.columns else None
    label_names, changed = name_items(items["item"], named)
    features = make_features(points, n_train, aggregated, made, label_names, items["item"], settings, vectorizer, named)
    stages.start("splitting")
    train, test = _datasets(features, label_names, points, n_train, settings)
    notes = features.notes | changed
    if aggregated.n_several_values:
        notes["points with several feature values (the most common is taken)"] = aggregated.n_several_values
    if n_weak:
        notes["pairs of low engagement kept (most events are in such pairs)"] = n_weak
    leaks = count_leaks(events, points, n_train) if "time" in opened.columns and test.n_points else {}
    used = ("history", "labels") if settings.features == "history" else ("labels",)
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
        notes=notes,
        leakage=leaks,
        settings=settings.to_json(),
        files=[str(path) for path in opened.files],
        files_left_out=[str(path) for path in opened.left_out],
    )
    stages.finish()
    return train, test, features.encoder, summary


def _check_words(opened: Events, settings: LogSettings) -> None:
    if settings.features == "words" and opened.frame.collect_schema()["context"] != pl.String:
        message = (
            f"the contexts ({settings.context!r}) are numbers, which have no words: use features='history' with "
            "history_before, features='basket' (the other items of the same context), or give feature_column"
        )
        raise InputError(message)


def _sessions(
    events: list[pl.LazyFrame], settings: LogSettings, shards: Shards, report: Callable[[float], object]
) -> list[pl.LazyFrame]:
    split = []
    for number, shard in enumerate(events):
        if not shards.is_kept("sessions", number):
            shards.keep("sessions", number, split_sessions(shard, settings))
        split.append(shards.frame("sessions", number))
        report((number + 1) / len(events))
    return split


def _refuse_empty(cleaned: CleanEvents, dropped: dict[str, int], settings: LogSettings) -> None:
    why = ", ".join(f"{n:,} {name}" for name, n in dropped.items() if n)
    message = f"no context remains: of {cleaned.n_read:,} events, {why}"
    if settings.features == "basket":
        message += "; a basket needs at least two items: is the context column the basket?"
    elif dropped.get("pair of low engagement"):
        message += f"; lower min_engagement, which is {settings.min_engagement:g}"
    raise InputError(message)


def _datasets(
    features: PointFeatures, label_names: list[str], points: pl.DataFrame, n_train: int, settings: LogSettings
) -> tuple[Dataset, Dataset]:
    # First one Dataset, then its two parts, so that the names, which may be millions, are checked once.
    parts = [point_weights(part, settings.point_weights) for part in (points[:n_train], points[n_train:])]
    given = [part for part in parts if part is not None]
    whole = Dataset(
        features.X,
        features.Y,
        label_names=label_names,
        feature_names=features.feature_names,
        sample_weight=np.concatenate(given) if given else None,
        texts=features.texts,
        encoder=features.encoder,
        times=points["latest"].to_numpy() if "latest" in points.columns else None,
    )
    return whole[:n_train], whole[n_train:]


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
