"""prepare_logs: from a log of events to training and test points, and the encoder of their features."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from labeltrees._files import replacing_folder
from labeltrees._progress import ProgressArgument
from labeltrees._settings import refusing, settings_from
from labeltrees._validation import check_integer, refuse
from labeltrees.data.parts.writer import POINTS_PER_PART
from labeltrees.logs.folder import LogSummary, PreparedLogs, check_dataset_folder, write_summary
from labeltrees.logs.settings import Columns, LogSettings, columns_of, period_of
from labeltrees.tasks import FolderResults, LocalRunner, Runner

__all__ = ["Columns", "LogSummary", "PreparedLogs", "prepare_logs"]

_COLUMNS = (
    "context item weight time item_name feature_column feature_separator session session_gap time_format encoding "
    "separator drop_duplicates"
)
_GONE = {name: f"columns=Columns({name}=...)" for name in _COLUMNS.split()} | {
    "since": "period=(start, end)",
    "until": "period=(start, end)",
    "vectorizer": "features=vectorizer",
    "temporary_folder": "work_folder",
    "resume_folder": "work_folder",
    "points_per_part": "parts=(folder, points_per_part)",
}


@refusing(_GONE)
def prepare_logs(
    events: Any,
    columns: Columns | dict[str, Any] | None = None,
    *,
    features: Any = None,
    history_before: Any = None,
    hide: float = 0.5,
    test_share: float = 0.05,
    test_since: Any = None,
    period: Any = None,
    half_life: Any = None,
    min_engagement: float | str = "auto",
    min_item_contexts: int = 1,
    point_weights: str | None = None,
    preset: str | None = None,
    random_state: int = 0,
    parts: Any = None,
    work_folder: str | os.PathLike[str] | None = None,
    client: Any = None,
    progress: ProgressArgument = None,
) -> PreparedLogs:
    """Make points and labels from a log of events, such as clicks or purchases.

    A point is a context (a customer, a query, a product page, a basket); its labels are the items of the events in that
    context. The log is read in blocks and may be larger than memory. The result is in memory, or with `parts` on disk.

    Four arguments matter: `columns` names the context and the item, `features` says what a model knows about a
    context, `test_since` splits by time as in real use, and `min_engagement` decides which pairs count.

    The defaults follow the paper: pairs of low engagement are removed, a random 5 % of the contexts is for testing, and
    all contexts count the same.

    Parameters
    ----------
    events : path, polars.LazyFrame, polars.DataFrame or pandas.DataFrame
        A CSV, TSV or Parquet file, or a folder of them; CSV and TSV may be compressed (.gz, .xz, .zst). CSV files are
        read as text, so an id keeps its leading zeros.
    columns : Columns or dict, optional
        Which columns of the log are used, and how they are read. By default "context" and "item", and "weight" and
        "time" if there are such columns.
    features : {"words", "history", "column", "basket", "related"}, pair or vectorizer, optional
        By default "history" if `history_before` is given, "column" if `feature_column` is given, else "words".

        - "words": tf-idf of the words of the context itself (a query, the name of a product).
        - "history": the items of its events before `history_before`, with log(1 + engagement); labels are the items of
          later events. With sessions, the history of a session is all earlier sessions of the same context.
          ("history", 2) adds a point per context whose history ends one training window earlier.
        - "column": the values of `feature_column`.
        - "basket": some items of each context (or session) are hidden and become labels, the others are features; needs
          no times. Every training basket gives several points with different hidden items: 8 up to 2 million pairs of
          basket and item, fewer for larger logs, 1 above 8 million. They are one group and share the weight of the
          basket. ("basket", 4) makes at most 4 points per basket.
        - "related": products related to an item. A point is an item, its labels are the (at most 10) items that share
          the most contexts with it; ("related", 6) for at most 6. Its features are the words of `feature_column` or
          `item_name`, else of the item; an id without words is itself a feature.
        - A vectorizer, such as `TfidfVectorizer` or scikit-learn's: makes features from the words of the context, or of
          `feature_column`.
    history_before : time, optional
        The end of the history: an ISO text, a date or a datetime.
    hide : float
        For "basket": the share of a basket's items that is hidden (below 1), or the number of hidden items. At least
        one item is hidden and one stays visible. Baskets of one item are dropped. A number is for the test points;
        training points then hide at least 30 % of the items, from which models learn more.
    test_share : float in [0, 0.99]
        The share of contexts that are drawn at random for test, with all their sessions.
    test_since : time, optional
        Split by time instead, the recommended evaluation: events from this time on make the test points. Their history
        is everything before. A session belongs to the window of its first event.
    period : str, timedelta or pair, optional
        Only events in this period count. A length such as 36h, 90d, 12w or 1y is the end of the log; a pair has a start
        and an end (exclusive), each a time or None, and one of them may be a length: ("2011-06-01", "90d").
    half_life : str or timedelta, optional
        The weight of an event is halved for every such period of its age, such as 30d. The age of an event in a history
        is taken at the end of the history, that of others at the end of their period. Changes the engagement, and so
        the features of "history" and `min_engagement`.
    min_engagement : float or "auto"
        Pairs of context and item whose weights sum to less are dropped. "auto" drops pairs below 2, that is, of a
        single event of weight 1, unless more than half of the events are in such pairs; then it drops none. The
        summary says which threshold was used. For "related", the engagement of two items is the number of contexts that
        they share, and "auto" is 2.
    min_item_contexts : int
        Items in fewer contexts are dropped, then contexts without items.
    point_weights : {"events"}, optional
        The sample_weight of a training point: the number of valid events of its context, scaled to mean 1. By default
        all training points count the same. Test points have weights by events in any case: results are shown with and
        without them.
    preset : {"paper"}, optional
        Uses the settings of the paper for arguments that are not given: the last year of the log (if it has times),
        ``min_engagement=2``, ``test_share=0.05`` and equal weights of contexts.
    random_state : int
    parts : path or (path, int), optional
        Write the result to this folder instead of keeping it in memory: the same folder as `PreparedLogs.save` writes,
        but with train and test as datasets in parts (see `open_parts`). An earlier prepared log there is replaced.
        Memory is needed for 250,000 points at a time, or for the number given.
    work_folder : path, optional
        Where a log of more than 4 million events is sharded; needs about as much space as its columns in Parquet.
        The shards are removed at the end, but stay after an interruption, and the same call continues with them. By
        default a temporary folder, which is always removed.
    client : distributed.Client, optional
        Read and sum the shards of the log on the workers of a Dask cluster (extra ``labeltrees[dask]``); the result is
        the same. `events` should be a path, and it and `work_folder` (by default beside `parts`) must be on storage
        that all workers see.
    progress : bool or callable(done, total), optional

    Returns
    -------
    PreparedLogs
        The pair train, test of Datasets with the same features and labels. `.encoder` turns new contexts into
        features; `.summary` counts the dropped events by reason; `.save(folder)` writes a folder for the command
        line, and `PreparedLogs.load(folder)` reads it.

    Examples
    --------
    >>> import polars, labeltrees as lt
    >>> log = polars.DataFrame({
    ...     "context": ["red wine", "red wine", "white wine", "red shoes", None, "white shoes", "red wine"],
    ...     "item": ["glass", "bottle", "glass", "laces", "laces", "laces", "glass"],
    ... })
    >>> prepared = lt.prepare_logs(log, test_share=0.25)
    >>> train, test = prepared
    >>> train.n_points, test.n_points, train.label_names.tolist()
    (3, 1, ['bottle', 'glass', 'laces'])
    >>> prepared.summary.events_dropped["no context"], prepared.summary.events_used
    (1, {'labels': 6})

    Baskets need no times. Half of the items of each basket are hidden, here once per basket:

    >>> baskets = polars.DataFrame({"context": [1, 1, 2, 2, 2, 2, 3, 3], "item": list("abacdeab")})
    >>> train, test = lt.prepare_logs(baskets, features=("basket", 1), test_share=0)
    >>> train.X.nnz, train.Y.sum(axis=1).tolist()
    (4, [1.0, 2.0, 1.0])
    """
    vectorizer, points_per_context, max_items = None, "auto", LogSettings.max_items
    if isinstance(features, tuple | list):
        if len(features) != 2 or features[0] not in ("basket", "history", "related"):
            refuse("features", "a kind, or a pair such as ('basket', 4)", features)
        if features[0] == "related":
            features, max_items = features
        else:
            features, points_per_context = features
    if features is not None and not isinstance(features, str):
        if not hasattr(features, "transform"):
            refuse("features", "'words', 'history', 'column', 'basket', 'related' or a vectorizer", features)
        vectorizer, features = features, None
    settings = settings_from(
        LogSettings, {**locals(), **vars(columns_of(columns)), "period": None, **period_of(period)}
    )
    return prepare_with(
        events, settings, vectorizer, parts=parts, work_folder=work_folder, client=client, progress=progress
    )


def prepare_with(
    events: Any,
    settings: LogSettings,
    vectorizer: Any = None,
    *,
    parts: Any = None,
    work_folder: str | os.PathLike[str] | None = None,
    client: Any = None,
    progress: ProgressArgument = None,
) -> PreparedLogs:
    """Do the work of `prepare_logs`, with its settings in one object, as the command line has them."""
    settings = settings.checked()
    if vectorizer is not None and settings.features not in ("words", "column"):
        refuse("features", f"{settings.features!r} without a vectorizer, because of the other arguments", vectorizer)
    from labeltrees.logs.prepare import PartsTarget, prepare  # imports polars, which takes 0.2 s

    if parts is None:
        with _runner(work_folder, None, client) as runner:
            made = prepare(events, settings, vectorizer, progress, None, runner)
        assert made.pair is not None
        return PreparedLogs(*made.pair, made.encoder, made.summary)
    folder, size = parts if isinstance(parts, tuple | list) else (parts, POINTS_PER_PART)
    size = check_integer("points_per_part", size, 1)
    target = check_dataset_folder(folder)
    beside = target.parent if client is not None else None
    with _runner(work_folder, beside, client) as runner, replacing_folder(target) as new:
        made = prepare(events, settings, vectorizer, progress, PartsTarget(new, size), runner)
        write_summary(made.summary, new)
    return PreparedLogs.load(target)


@contextmanager
def _runner(given: str | os.PathLike[str] | None, beside: Path | None, client: Any) -> Iterator[Runner]:
    """Yield a runner of tasks that keeps their results in the work folder."""
    from labeltrees.logs.shards import work_folder

    with work_folder(given, beside) as folder:
        if client is None:
            yield LocalRunner(FolderResults(folder))
        else:
            from labeltrees.tasks.on_dask import DaskRunner

            yield DaskRunner(client, folder)
