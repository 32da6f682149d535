"""prepare_logs: from an event log to points, labels and the encoder of their features."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labeltrees._files import replacing_folder
from labeltrees._progress import ProgressArgument
from labeltrees._settings import settings_from
from labeltrees._validation import check_integer
from labeltrees.data.dataset import Dataset
from labeltrees.data.encoders import Encoder
from labeltrees.data.parts.writer import POINTS_PER_PART
from labeltrees.errors import InputError
from labeltrees.logs.settings import LogSettings
from labeltrees.logs.summary import LogSummary

if TYPE_CHECKING:
    from labeltrees.logs.steps import StepRunner

__all__ = ["PreparedLogs", "prepare_logs"]


class PreparedLogs(tuple[Dataset, Dataset]):
    """The pair (train, test), with the encoder of their features and the summary of how they were made.

    Attributes
    ----------
    train, test : Dataset
        Both have the encoder as `encoder`, so that a model fitted on `train` keeps it.
    encoder : Encoder or None
        Turns a new context (a query, a list of items, a value of the feature column) into features. None if a
        vectorizer of another library made the features.
    summary : LogSummary
    """

    encoder: Encoder | None
    summary: LogSummary

    def __new__(cls, train: Dataset, test: Dataset, encoder: Encoder | None, summary: LogSummary) -> PreparedLogs:
        """Make the pair."""
        prepared = super().__new__(cls, (train, test))
        prepared.encoder, prepared.summary = encoder, summary
        return prepared

    @property
    def train(self) -> Dataset:
        """The training points."""
        return self[0]

    @property
    def test(self) -> Dataset:
        """The test points."""
        return self[1]

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write a folder that every command accepts as DATA: points, names, weights, encoder and summary.json.

        The folder replaces an earlier one in one step; an error leaves the earlier one.
        """
        from labeltrees.logs.folder import save_prepared

        save_prepared(self.train, self.test, self.encoder, self.summary, folder)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> PreparedLogs:
        """Read a folder that `save` or ``labeltrees logs prepare`` wrote. The texts of points are not saved."""
        from labeltrees.logs.folder import load_prepared

        return cls(*load_prepared(folder))

    def __repr__(self) -> str:
        events = f"{self.summary.events_read:,} events read"
        return f"PreparedLogs({events}\n  train={self.train!r},\n  test={self.test!r})"

    def __reduce__(self) -> Any:
        return PreparedLogs, (self.train, self.test, self.encoder, self.summary)


def prepare_logs(
    events: Any,
    *,
    context: str = "context",
    item: str = "item",
    weight: str | None = None,
    time: str | None = None,
    item_name: str | None = None,
    preset: str | None = None,
    features: str | None = None,
    feature_column: str | None = None,
    feature_separator: str | None = None,
    history_before: Any = None,
    hide: float = 0.5,
    session: str | None = None,
    session_gap: Any = None,
    half_life: Any = None,
    since: Any = None,
    until: Any = None,
    period: Any = None,
    time_format: str = "auto",
    encoding: str = "utf-8",
    separator: str | None = None,
    min_engagement: float | str = "auto",
    min_item_contexts: int = 1,
    drop_duplicates: bool = False,
    point_weights: str | None = None,
    test_share: float = 0.05,
    test_since: Any = None,
    random_state: int = 0,
    vectorizer: Any = None,
    temporary_folder: str | os.PathLike[str] | None = None,
    resume_folder: str | os.PathLike[str] | None = None,
    parts: str | os.PathLike[str] | None = None,
    points_per_part: int | None = None,
    client: Any = None,
    progress: ProgressArgument = None,
) -> PreparedLogs:
    """Make points and labels from a log of events, such as clicks or purchases.

    A point is a context (a customer, a query, a product page, a basket); its labels are the items of the events in that
    context. The log is read in blocks and may be larger than memory. The result is in memory, or with `parts` on disk.

    The defaults follow the paper: pairs of low engagement are removed, a random 5 % of the contexts is for testing, and
    all contexts count the same.

    Parameters
    ----------
    events : path, polars.LazyFrame, polars.DataFrame or pandas.DataFrame
        A CSV, TSV or Parquet file, or a folder of them; CSV and TSV may be compressed (.gz, .xz, .zst). CSV files are
        read as text, so an id keeps its leading zeros.
    context, item : str
        The columns of the context and the item.
    weight : str, optional
        The column of the event weights. By default a column "weight" if there is one, else each event counts 1. Events
        without a weight above 0 are dropped.
    time : str, optional
        The column of the time; by default a column "time" if there is one.
    item_name : str, optional
        The column of a readable item name. An item with several names gets the most common one.
    preset : {"paper"}, optional
        Sets what the paper says, for parameters that are not given: the last year of the log (if it has times),
        ``min_engagement=2``, ``test_share=0.05`` and equal weights of contexts.
    features : {"words", "history", "column", "basket"}, optional
        "words": tf-idf of the words of the context itself (a query, the name of a product). "history": the items
        of its events before `history_before`, with log(1 + engagement); labels are the items of later events. With
        sessions, the history of a session are all earlier sessions of the same context. "column": the values of
        `feature_column`. "basket": some items of each context (or session) are hidden and become labels, the others
        are features; needs no times. By default chosen by the option that is given, else "words".
    feature_column : str, optional
        A column with a text (tf-idf of its words) or a list of names or ids. A context with several values gets the
        most common one.
    feature_separator : str, optional
        Splits the texts of `feature_column` into names.
    history_before : time, optional
        The end of the history: an ISO text, a date or a datetime.
    hide : float
        For "basket": the share of a basket's items that is hidden (below 1), or the number of hidden items. At least
        one item is hidden and one stays visible. Baskets of one item are dropped.
    session : str, optional
        A column that splits the events of a context into sessions, such as an invoice number. Each session is a point.
    session_gap : str or timedelta, optional
        Splits the events of a context where nothing happens for longer than this, such as 30m or 2d.
    half_life : str or timedelta, optional
        The weight of an event is halved for every such period of its age, such as 30d. The age of an event in a history
        is taken at the end of the history, that of others at the end of their period. Changes the engagement, and so
        the features of "history", `min_engagement` and weights by engagement.
    since, until : time, optional
        Only events from `since` on and before `until` count.
    period : str or timedelta, optional
        The length of the period, such as 36h, 90d, 12w or 1y: it starts at `since`, or ends at `until` or at the last
        event.
    time_format : str
        "auto" reads ISO times with or without zone, numbers of seconds, milli-, micro- or nanoseconds since 1970, and
        dates such as 31/12/2010 8:26 or 12/31/10 if some date in the log shows which number is the day. Anything else
        is a strptime format.
    encoding : str
        Encoding of CSV files.
    separator : str, optional
        Separator of CSV files; by default found from the first line.
    min_engagement : float or "auto"
        Pairs of context and item whose weights sum to less are dropped. "auto" drops pairs below 2, that is, of a
        single event of weight 1, unless more than half of the events are in such pairs; then it drops none. The
        summary says which threshold was used.
    min_item_contexts : int
        Items in fewer contexts are dropped, then contexts without items.
    drop_duplicates : bool
        Whether events that are equal in all used columns count once. By default they add up, like two clicks.
    point_weights : {"events", "engagement", "sqrt_events", "sqrt_engagement"}, optional
        The sample_weight of a point: the number of valid events of its context, the sum of their weights (for logs that
        are aggregated already), or the square root of either. Scaled to mean 1 in each part. By default all training
        points count the same, and test points have weights by events: results are shown with and without them.
    test_share : float in [0, 0.99]
        The share of contexts that are drawn at random for test, with all their sessions.
    test_since : time, optional
        Split by time instead, the recommended evaluation: events from this time on make the test points. Their history
        is everything before. A session belongs to the part of its first event.
    random_state : int
    vectorizer : TfidfVectorizer, scikit-learn's or similar, optional
        Makes features from texts.
    temporary_folder : path, optional
        Folder for shards of a log of more than 4 million events; needs about as much space as its columns in Parquet.
    resume_folder : path, optional
        Use this folder for shards instead. It stays if the work is interrupted, and a second call with the same files
        and settings continues with its finished shards. It is removed at the end.
    parts : path, optional
        Write the result to this folder instead of keeping it in memory: the same folder as `PreparedLogs.save` writes,
        but with train and test as datasets in parts (see `open_parts`). An earlier prepared log there is replaced.
    points_per_part : int, optional
        With `parts`: memory is needed for this many points at a time. By default 250,000.
    client : distributed.Client, optional
        Read and sum the shards of the log on the workers of a Dask cluster (extra ``labeltrees[dask]``); the result is
        the same. `events` should be a path, and it and `temporary_folder` must be on storage that all workers see.
        The folder for shards is by default beside `parts`.
    progress : bool or callable(done, total), optional

    Returns
    -------
    PreparedLogs
        The pair train, test of Datasets with the same features and labels. `.encoder` turns new contexts into
        features; `.summary` says how many events were dropped and why; `.save(folder)` writes a folder for the command
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

    Baskets need no times. Half of the items of each basket are hidden:

    >>> baskets = polars.DataFrame({"context": [1, 1, 2, 2, 2, 2, 3, 3], "item": list("abacdeab")})
    >>> train, test = lt.prepare_logs(baskets, features="basket", test_share=0)
    >>> train.X.nnz, train.Y.sum(axis=1).tolist()
    (4, [1.0, 2.0, 1.0])
    """
    settings = settings_from(LogSettings, locals()).checked()
    from labeltrees.logs.folder import check_dataset_folder, write_summary
    from labeltrees.logs.prepare import Parts, prepare  # imports polars, which takes 0.2 s

    resume = None if resume_folder is None else Path(resume_folder)
    runner = None if client is None else _runner(client)
    if parts is None:
        if points_per_part is not None:
            message = "points_per_part needs parts, the folder to write to"
            raise InputError(message)
        made = prepare(events, settings, vectorizer, temporary_folder, progress, resume, runner=runner)
        assert made.pair is not None
        return PreparedLogs(*made.pair, made.encoder, made.summary)
    size = POINTS_PER_PART if points_per_part is None else check_integer("points_per_part", points_per_part, 1)
    target = check_dataset_folder(parts)
    if client is not None and temporary_folder is None:
        temporary_folder = target.parent
    with replacing_folder(target) as new:
        made = prepare(events, settings, vectorizer, temporary_folder, progress, resume, Parts(new, size), runner)
        write_summary(made.summary, new)
    return PreparedLogs.load(target)


def _runner(client: Any) -> StepRunner:
    from labeltrees.dask.logs import DaskSteps

    return DaskSteps(client)
