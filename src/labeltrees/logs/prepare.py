"""From a log to train and test: clean, shard by context, aggregate, make points, split."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from labeltrees._progress import ProgressArgument
from labeltrees.data.data_folder import TEST, TRAIN
from labeltrees.data.dataset import Dataset
from labeltrees.data.encoders import Encoder
from labeltrees.errors import InputError
from labeltrees.logs.aggregate import SESSIONS, Aggregated, aggregate, count_items, engagement_threshold
from labeltrees.logs.clean import CleanEvents, clean_events
from labeltrees.logs.events import Events, open_events
from labeltrees.logs.item_names import name_items
from labeltrees.logs.leakage import count_leaks
from labeltrees.logs.point_blocks import PointBlocks
from labeltrees.logs.point_datasets import PointDatasets
from labeltrees.logs.point_features import PointFeatures
from labeltrees.logs.points import FATES, Points, make_points
from labeltrees.logs.recency import Recency
from labeltrees.logs.sessions import make_sessions
from labeltrees.logs.settings import LogSettings
from labeltrees.logs.sharding import shard_events
from labeltrees.logs.shards import EVENTS, Shards
from labeltrees.logs.split import order_points
from labeltrees.logs.stages import Stages, watch_stages
from labeltrees.logs.steps import SerialSteps, StepRunner
from labeltrees.logs.summary import LogSummary, moment_text
from labeltrees.logs.work_folder import work_folder


class Parts(NamedTuple):
    """Where to write datasets in parts, and how many points a part has."""

    folder: Path
    points_per_part: int


class Prepared(NamedTuple):
    """Train and test (None if they were written in parts), the encoder of their features and the summary."""

    pair: tuple[Dataset, Dataset] | None
    encoder: Encoder | None
    summary: LogSummary


def prepare(
    events: Any,
    settings: LogSettings,
    vectorizer: Any = None,
    temporary_folder: Any = None,
    progress: ProgressArgument = None,
    resume_folder: Path | None = None,
    parts: Parts | None = None,
    runner: StepRunner | None = None,
) -> Prepared:
    """Return or write train and test for checked settings; `runner` runs the steps of shards."""
    runner = SerialSteps() if runner is None else runner
    with (
        work_folder(events, settings, temporary_folder, resume_folder) as scratch,
        watch_stages(progress) as stages,
        open_events(events, settings, scratch, runner.n_workers) as opened,
    ):
        runner.check_folder(str(scratch))
        return _prepare(opened, settings, vectorizer, scratch, stages, parts, runner)


def _prepare(
    opened: Events,
    settings: LogSettings,
    vectorizer: Any,
    scratch: Path,
    stages: Stages,
    parts: Parts | None,
    runner: StepRunner,
) -> Prepared:
    _check_words(opened, settings)
    stages.start("reading events")
    cleaned = clean_events(opened, settings)
    stages.start("sharding by context")
    shards = Shards(cleaned.n_kept, scratch, runner.n_workers)
    shard_events(cleaned.sources, opened.files, shards, runner, stages.report)
    if settings.has_sessions:
        make_sessions(settings, shards, runner, stages.report)
    stages.start("summing pairs")
    recency = Recency(settings.half_life, cleaned.last)
    aggregated = aggregate(settings, shards, recency, cleaned.whole_weights, runner, stages.report)
    stages.start("making points")
    threshold = engagement_threshold(aggregated, settings)
    settings = replace(settings, min_engagement=threshold.value)
    counted = count_items(settings, threshold, shards, runner, lambda share: stages.report(share / 2))
    items = counted.filter(pl.col("points") >= settings.min_item_contexts).sort("item")
    items = items.select("item", pl.int_range(pl.len(), dtype=pl.Int32).alias("label"))
    made = make_points(
        items, settings, threshold, shards, recency, runner, lambda share: stages.report(0.5 + share / 2)
    )
    dropped = _all_dropped(cleaned, aggregated, made, settings)
    if made.contexts["used"] == 0:
        _refuse_empty(cleaned, dropped, settings)
    points, n_train = order_points(pl.concat(made.points), settings)
    stages.start("making features")
    events = shards.frames(SESSIONS if settings.has_sessions else EVENTS)
    named = [shard.select("item", "name") for shard in events] if "name" in opened.columns else None
    label_names, changed = name_items(items["item"], named)
    blocks = PointBlocks(points.height, None if parts is None else parts.points_per_part, scratch)
    features = PointFeatures(
        points, n_train, aggregated, made, label_names, items["item"], settings, vectorizer, named, blocks
    )
    datasets = PointDatasets(features, label_names, points, n_train, settings)
    pair = None
    if parts is None:
        stages.start("splitting")
        pair = datasets.in_memory()
    else:
        stages.start("writing parts")
        datasets.write(parts.folder, parts.points_per_part, stages.report)
    notes = features.notes() | changed
    if aggregated.n_several_values:
        notes["points with several feature values (the most common is taken)"] = aggregated.n_several_values
    if threshold.n_weak:
        notes["pairs of low engagement kept (most events are in such pairs)"] = threshold.n_weak
    leaks = count_leaks(events, points, n_train) if "time" in opened.columns and points.height > n_train else {}
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
        train=datasets.shapes[TRAIN].to_json(),
        test=datasets.shapes[TEST].to_json(),
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
    return Prepared(pair, features.encoder, summary)


def _check_words(opened: Events, settings: LogSettings) -> None:
    if settings.features == "words" and opened.frame.collect_schema()["context"] != pl.String:
        message = (
            f"the contexts ({settings.context!r}) are numbers, which have no words: use features='history' with "
            "history_before, features='basket' (the other items of the same context), or give feature_column"
        )
        raise InputError(message)


def _refuse_empty(cleaned: CleanEvents, dropped: dict[str, int], settings: LogSettings) -> None:
    why = ", ".join(f"{n:,} {name}" for name, n in dropped.items() if n)
    message = f"no context remains: of {cleaned.n_read:,} events, {why}"
    if settings.features == "basket":
        message += "; a basket needs at least two items: is the context column the basket?"
    elif dropped.get("pair of low engagement"):
        message += f"; lower min_engagement, which is {settings.min_engagement:g}"
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
