"""prepare_logs: from an event log to points and labels."""

from __future__ import annotations

import os
from typing import Any

from labeltrees._progress import ProgressArgument
from labeltrees._settings import settings_from
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
        """The training points."""
        return self[0]

    @property
    def test(self) -> Dataset:
        """The test points."""
        return self[1]

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write a folder that every command accepts as DATA: train.txt, test.txt, names, weights and summary.json.

        The folder replaces an earlier one in one step; an error leaves the earlier one.
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
    """Make points and labels from a log of events, such as clicks or purchases.

    A point is a context (a customer, a query, a product page); its labels are the items of the events in that context.
    The log is read in blocks and may be larger than memory; the result is in memory.

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
    features : {"words", "history", "column"}, optional
        "words": tf-idf of the words of the context itself (a query, the name of a product). "history": the items
        of its events before `history_before`, with log(1 + engagement); labels are the items of later events. "column":
        the values of `feature_column`. By default chosen by the option that is given, else "words".
    feature_column : str, optional
        A column with a text (tf-idf of its words) or a list of names or ids. A context with several values gets the
        most common one.
    feature_separator : str, optional
        Splits the texts of `feature_column` into names.
    history_before : time, optional
        The end of the history: an ISO text, a date or a datetime.
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
    min_engagement : float
        Pairs of context and item whose weights sum to less are dropped.
    min_item_contexts : int
        Items in fewer contexts are dropped, then contexts without items.
    drop_duplicates : bool
        Whether events that are equal in all used columns count once. By default they add up, like two clicks.
    point_weights : {"events", "engagement", "none"}
        The sample_weight of a point: the number of valid events of its context, the sum of their weights (for logs that
        are aggregated already), or none.
    test_share : float in [0, 0.99]
        The share of contexts that are drawn at random for test.
    test_since : time, optional
        Split by time instead: events from this time on make the test points. Their history is everything before.
    random_state : int
    vectorizer : TfidfVectorizer, scikit-learn's or similar, optional
        Makes features from texts.
    temporary_folder : path, optional
        Folder for shards of a log of more than 4 million events; needs about as much space as its columns in Parquet.
    progress : bool or callable(done, total), optional

    Returns
    -------
    PreparedLogs
        The pair train, test of Datasets with the same features and labels, label_names, feature_names and
        sample_weight; `.summary` says how many events were dropped and why; `.save(folder)` writes a folder for the
        command line.

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
    settings = settings_from(LogSettings, locals()).checked()
    from labeltrees.data.logs.prepare import prepare  # imports polars, which takes 0.2 s

    return PreparedLogs(*prepare(events, settings, vectorizer, temporary_folder, progress))
