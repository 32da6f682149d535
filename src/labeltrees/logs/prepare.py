"""From a log to train and test: clean, shard by context, sum pairs, make points and features, split."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from labeltrees._progress import ProgressArgument, watch
from labeltrees.data.data_folder import TEST, TRAIN
from labeltrees.data.dataset import Dataset
from labeltrees.data.encoders import Encoder
from labeltrees.errors import InputError, Parameter
from labeltrees.logs.clean import CleanEvents, clean_events
from labeltrees.logs.datasets import BlockFiles, PointDatasets, PointFeatures, PointFrames
from labeltrees.logs.events import Events, open_events
from labeltrees.logs.features import name_items
from labeltrees.logs.folder import LogSummary
from labeltrees.logs.pairs import Pairs, Recency, engagement_threshold, make_pairs, make_sessions
from labeltrees.logs.points import (
    FATES,
    LogPoints,
    choose_items,
    count_leaks,
    make_points,
    order_points,
    points_per_context,
)
from labeltrees.logs.related import Related, relate_items
from labeltrees.logs.settings import LogSettings
from labeltrees.logs.shards import Kept, ShardWork, runner_of_shards, shard_events
from labeltrees.tasks import Runner

N_STAGES = 6
_UNITS = 100  # progress units per stage


class PartsTarget(NamedTuple):
    """Where to write datasets in parts, and how many points a part has."""

    folder: Path
    points_per_part: int


class Prepared(NamedTuple):
    """Train and test (None if they were written in parts), the encoder of their features and the summary."""

    pair: tuple[Dataset, Dataset] | None
    encoder: Encoder | None
    summary: LogSummary


class Stages:
    """Progress over the stages of the work: the name of the one that is running, and how much of it is done."""

    def __init__(self) -> None:
        self.name = ""
        self.show: Callable[[int], object] | None = None
        self._stage = 0

    def start(self, name: str) -> None:
        """Begin a stage; the stage before it is done."""
        self.name, self._stage = name, self._stage + 1
        self.report(0)

    def report(self, share: float) -> None:
        """Report how much of the stage is done, from 0 to 1."""
        if self.show is not None:
            self.show(round(_UNITS * (self._stage - 1 + share)))


@contextmanager
def _watch_stages(progress: ProgressArgument) -> Iterator[Stages]:
    stages = Stages()
    with watch("Preparing the log", _UNITS * N_STAGES, progress, lambda _done: stages.name) as stages.show:
        yield stages


def prepare(
    events: Any,
    settings: LogSettings,
    vectorizer: Any,
    progress: ProgressArgument,
    parts: PartsTarget | None,
    runner: Runner,
) -> Prepared:
    """Return or write train and test for checked settings.

    `runner` runs the tasks of shards. The folder of its results also holds copies of files and blocks of points.
    """
    folder = runner.results.folder
    assert folder is not None
    with _watch_stages(progress) as stages, open_events(events, settings, folder, runner.n_workers) as opened:
        runner.check_folder("work_folder")
        return _prepare(opened, settings, vectorizer, folder, stages, parts, runner)


def _prepare(
    opened: Events,
    settings: LogSettings,
    vectorizer: Any,
    folder: Path,
    stages: Stages,
    parts: PartsTarget | None,
    runner: Runner,
) -> Prepared:
    _check_words(opened, settings)
    stages.start("reading events")
    cleaned = clean_events(opened, settings)
    stages.start("sharding by context")
    runner, n_shards = runner_of_shards(runner, cleaned.n_kept)
    work = ShardWork(runner, stages.report)
    events = shard_events(opened, cleaned, settings, n_shards, work)
    if settings.has_sessions:
        events = make_sessions(events, settings, work)
    stages.start("summing pairs")
    recency = Recency(settings.half_life, cleaned.last)
    related, asked, counted = None, settings, events
    if settings.features == "related":
        related = relate_items(events, settings, ShardWork(runner, lambda share: stages.report(share / 2)))
        settings, counted = related.settings(settings), [related.events]
    pairs = make_pairs(counted, settings, recency, cleaned.whole_weights, work)
    stages.start("making points")
    threshold = engagement_threshold(pairs, settings)
    settings = replace(settings, min_engagement=threshold.value)
    first_half = ShardWork(runner, lambda share: stages.report(share / 2))
    kept_items, items, n_items = choose_items(pairs, settings, threshold, first_half)
    second_half = ShardWork(runner, lambda share: stages.report(0.5 + share / 2))
    made = make_points(pairs, kept_items, settings, threshold, recency, second_half)
    dropped = _all_dropped(cleaned, pairs, made, settings, related)
    if made.contexts["used"] == 0:
        _refuse_empty(cleaned, dropped, asked)
    settings = replace(settings, points_per_context=points_per_context(made.pairs["labels"], settings))
    all_points = pl.concat(made.points)
    points, n_train = order_points(all_points if related is None else related.with_traffic(all_points), settings)
    stages.start("making features")
    named = [shard.select("item", "name") for shard in _frames(events, work)] if "name" in opened.columns else None
    label_names = name_items(items["item"], named)
    size = None if parts is None else max(parts.points_per_part // int(settings.points_per_context), 1)
    blocks = BlockFiles(points.height, size, folder)
    features = PointFeatures(
        points,
        n_train,
        PointFrames(
            _frames(made.labels, work),
            _frames(made.history, work) if settings.features == "history" else [],
            _frames(pairs.values, work) if settings.features == "column" else [],
            pairs.lists,
        ),
        label_names,
        settings,
        vectorizer,
        named,
        blocks,
    )
    datasets = PointDatasets(features, label_names, points, n_train, settings)
    pair = None
    if parts is None:
        stages.start("splitting")
        pair = datasets.in_memory()
    else:
        stages.start("writing parts")
        datasets.write(parts.folder, parts.points_per_part, stages.report)
    notes = features.notes() | label_names.changed
    if pairs.n_several_values:
        notes["points with several feature values (the most common is taken)"] = pairs.n_several_values
    if settings.test_since is not None and n_train == points.height:
        notes[f"test points (no remaining context has items from {settings.test_since} on)"] = 0
    if threshold.n_weak:
        notes["pairs of low engagement kept (most events are in such pairs)"] = threshold.n_weak
    leaks = {}
    if "latest" in points.columns and points.height > n_train:
        leaks = count_leaks(_frames(events, work), points, n_train)
    fates = dropped if related is None else FATES[2:]
    used = ("history", "labels") if settings.features == "history" else ("labels",)
    first, last = (None if moment is None else moment.isoformat(sep=" ") for moment in (cleaned.first, cleaned.last))
    summary = LogSummary(
        events_read=cleaned.n_read,
        events_dropped=dropped,
        events_used={name: made.events[name] for name in used},
        pairs={"seen": made.pairs.total(), **{name: made.pairs[name] for name in FATES[1:] if name in fates}}
        | {f"used for {name}": made.pairs[name] for name in used},
        items={
            "seen": n_items,
            "dropped (rare, or only in pairs that were dropped)": n_items - items.height,
            "used": items.height,
        },
        contexts=_contexts(made, settings),
        train=datasets.shapes[TRAIN].to_json(),
        test=datasets.shapes[TEST].to_json(),
        first_event=first,
        last_event=last,
        columns=opened.columns,
        notes=notes,
        leakage=leaks,
        settings=settings.to_json(),
        files=[str(path) for path in opened.files],
        files_left_out=[str(path) for path in opened.left_out],
    )
    if related is not None:
        summary = replace(summary, **related.counted(asked, cleaned.n_kept, summary, made.contexts))
    stages.report(1)
    return Prepared(pair, features.encoder, summary)


def _frames(shards: list[Kept], work: ShardWork) -> list[pl.LazyFrame]:
    return [shard.frame(work.results) for shard in shards]


def _check_words(opened: Events, settings: LogSettings) -> None:
    if settings.features == "words" and opened.frame.collect_schema()["context"] != pl.String:
        message = (
            "the contexts ({}) are numbers, which have no words: use {} with {}, {} (the other items of the same "
            "context), or give {}"
        )
        raise InputError(
            message,
            repr(settings.context),
            Parameter("features", "history"),
            Parameter("history_before"),
            Parameter("features", "basket"),
            Parameter("feature_column"),
        )


def _refuse_empty(cleaned: CleanEvents, dropped: dict[str, int], settings: LogSettings) -> None:
    why = ", ".join(f"{n:,} {name}" for name, n in dropped.items() if n)
    message, parts = f"no context remains: of {cleaned.n_read:,} events, {why or '0 were dropped'}", []
    if settings.features == "basket":
        message += "; a basket needs at least two items: is the context column the basket?"
    elif settings.features == "related":
        message += "; lower {}, which is {}, or give {} with words of the items"
        parts = [Parameter("min_item_contexts"), settings.min_item_contexts, Parameter("item_name")]
    elif dropped.get("pair of low engagement"):
        message += "; lower {}, which is {:g}"
        parts = [Parameter("min_engagement"), settings.min_engagement]
    raise InputError(message, *parts)


def _all_dropped(
    cleaned: CleanEvents, pairs: Pairs, made: LogPoints, settings: LogSettings, related: Related | None
) -> dict[str, int]:
    if related is not None:  # later stages count pairs of items, not events
        return cleaned.dropped | related.dropped()
    repeated, without_items, without_features, low, rare = FATES
    dropped = dict(cleaned.dropped)
    if settings.drop_duplicates:
        dropped[repeated] = pairs.n_repeated
    if settings.features == "history":
        dropped[without_items] = made.events[without_items]
    if settings.features != "words":
        dropped[without_features] = made.events[without_features]
    return dropped | {low: made.events[low], rare: made.events[rare]}


def _contexts(made: LogPoints, settings: LogSettings) -> dict[str, int]:
    counts = {"seen": made.contexts["seen"]}
    if settings.features != "words":
        counts["without features"] = made.contexts["without features"]
    counts |= {"empty (no pair left)": made.contexts["empty"], "used": made.contexts["used"]}
    if settings.features == "history":
        counts["with history only (not among those seen)"] = made.contexts["history only"]
    return counts
