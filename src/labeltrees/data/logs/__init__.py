"""From a log of who engaged with what to points and labels."""

from __future__ import annotations

import os
from typing import Any

from labeltrees._progress import ProgressArgument
from labeltrees.data.dataset import Dataset
from labeltrees.data.logs.settings import LogSettings
from labeltrees.data.logs.summary import LogSummary

__all__ = ["PreparedLogs", "prepare_logs"]


class PreparedLogs(tuple[Dataset, Dataset]):
    """The pair (train, test), with the summary of how it was made.

    Attributes
    ----------
    train, test : Dataset
    summary : LogSummary
    """

    summary: LogSummary

    def __new__(cls, train: Dataset, test: Dataset, summary: LogSummary) -> PreparedLogs:
        """Make the pair."""
        prepared = super().__new__(cls, (train, test))
        prepared.summary = summary
        return prepared

    @property
    def train(self) -> Dataset:
        """The points to train on."""
        return self[0]

    @property
    def test(self) -> Dataset:
        """The points to test on."""
        return self[1]

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write a folder that every command takes for DATA: train.txt, test.txt, names, weights and summary.json.

        The folder appears whole or not at all, and replaces one that was prepared before.
        """
        from labeltrees.data.logs.folder import save_prepared

        save_prepared(self.train, self.test, self.summary, folder)


def prepare_logs(
    events: Any,
    *,
    context: str = "context",
    item: str = "item",
    weight: str | None = None,
    time: str | None = None,
    item_name: str | None = None,
    features: str | None = None,
    feature_column: str | None = None,
    feature_separator: str | None = None,
    history_before: Any = None,
    since: Any = None,
    until: Any = None,
    period: Any = None,
    time_format: str = "auto",
    encoding: str = "utf-8",
    separator: str | None = None,
    min_engagement: float = 0.0,
    min_item_contexts: int = 1,
    drop_duplicates: bool = False,
    point_weights: str = "events",
    test_share: float = 0.05,
    test_since: Any = None,
    random_state: int = 0,
    vectorizer: Any = None,
    temporary_folder: str | os.PathLike[str] | None = None,
    progress: ProgressArgument = None,
) -> PreparedLogs:
    """Make points and labels from a log of who engaged with what.

    A point is a context (a customer, a query, a product page), its labels are the items engaged with in it. The log is
    read some events at a time and may be larger than memory; what is returned is in memory.

    Parameters
    ----------
    events : path, polars.LazyFrame, polars.DataFrame or pandas.DataFrame
        A CSV, TSV or Parquet file (CSV plain, .gz, .xz or .zst), or a folder of them. CSV files are read as text, so
        an id keeps its leading zeros.
    context, item : str
        The columns of the context and the item.
    weight : str, optional
        The column of how much an event counts; a column "weight" is taken if there is one, else each event counts 1.
        Events without a weight above 0 are dropped.
    time : str, optional
        The column of the time; a column "time" is taken if there is one.
    item_name : str, optional
        A column with the item's name for people. An item with several names gets the most common.
    features : {"words", "history", "column"}, optional
        "words": tf-idf of the words of the context itself (a query, the name of a product). "history": the items its
        events before `history_before` were on, with log(1 + engagement); labels are the items from then on. "column":
        what stands in `feature_column`. By default the one whose option is given, else "words".
    feature_column : str, optional
        A column with a text (tf-idf of its words) or a list of names or ids. A context with several values gets the
        most common.
    feature_separator : str, optional
        Cuts the texts of `feature_column` into names.
    history_before : time, optional
        Where the past ends: an ISO text, a date or a datetime.
    since, until : time, optional
        Only events from `since` on and before `until` count.
    period : str or timedelta, optional
        The length of the period, such as 36h, 90d, 12w or 1y: from `since` on, before `until`, or up to the last event.
    time_format : str
        "auto" knows ISO times with or without zone, numbers of seconds, milli-, micro- and nanoseconds since 1970, and
        dates such as 31/12/2010 8:26 or 12/31/10 if the log tells days from months; else a format of strptime.
    encoding : str
        Of CSV files.
    separator : str, optional
        Of CSV files; found in the first line by default.
    min_engagement : float
        Pairs of context and item whose weights sum to less are dropped.
    min_item_contexts : int
        Items in fewer contexts are dropped, and then contexts without items.
    drop_duplicates : bool
        Whether events equal in all columns used count once. By default they add up, as two clicks do.
    point_weights : {"events", "engagement", "none"}
        What the sample_weight of a point is: the number of clean events of its context, the sum of their weights (for
        logs that are aggregated already), or nothing.
    test_share : float in [0, 0.99]
        The share of contexts drawn for test, at random.
    test_since : time, optional
        Splits by time instead: events from then on make the points of test. Their history is all that was before.
    random_state : int
    vectorizer : scikit-learn's TfidfVectorizer or the like, optional
        For texts.
    temporary_folder : path, optional
        Where a log of more than 4 million events is put apart by context; about as large as its columns in Parquet.
    progress : bool or callable(done, total), optional

    Returns
    -------
    PreparedLogs
        The pair train, test of Datasets with the same features and labels, label_names, feature_names and
        sample_weight; `.summary` tells what was dropped and why, `.save(folder)` writes it for the command line.

    Examples
    --------
    >>> import polars, labeltrees as lt
    >>> log = polars.DataFrame({
    ...     "context": ["red wine", "red wine", "white wine", "red shoes", None, "white shoes", "red wine"],
    ...     "item": ["glass", "bottle", "glass", "laces", "laces", "laces", "glass"],
    ... })
    >>> prepared = lt.prepare_logs(log, test_share=0.25)
    >>> train, test = prepared
    >>> train.n_points, test.n_points, train.label_names.tolist(), train.sample_weight.tolist()
    (3, 1, ['bottle', 'glass', 'laces'], [1.0, 3.0, 1.0])
    >>> prepared.summary.events_dropped["no context"], prepared.summary.events_used
    (1, {'labels': 6})
    """
    settings = LogSettings(
        context=context,
        item=item,
        weight=weight,
        time=time,
        item_name=item_name,
        features=features,
        feature_column=feature_column,
        feature_separator=feature_separator,
        history_before=history_before,
        since=since,
        until=until,
        period=period,
        time_format=time_format,
        encoding=encoding,
        separator=separator,
        min_engagement=min_engagement,
        min_item_contexts=min_item_contexts,
        drop_duplicates=drop_duplicates,
        point_weights=point_weights,
        test_share=test_share,
        test_since=test_since,
        random_state=random_state,
    ).checked()
    from labeltrees.data.logs.prepare import prepare  # imports polars, which takes a while

    return PreparedLogs(*prepare(events, settings, vectorizer, temporary_folder, progress))
