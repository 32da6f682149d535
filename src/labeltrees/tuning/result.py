"""SweepResult: the table of a sweep, as records, data frames, files, charts and a report."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Sequence
from typing import Any, Self

from labeltrees._extras import import_extra
from labeltrees._files import read_json, to_json, write_atomically, write_json
from labeltrees._validation import refuse
from labeltrees.errors import MissingExtraError
from labeltrees.metrics.table import find_metric
from labeltrees.tuning import result_file

_NOT_MEASURED = {"setting", "tradeoff", "fanout", "cover", "path"}


def frontier(table: Sequence[dict[str, Any]], x: str, y: str) -> list[dict[str, Any]]:
    """Return the Pareto-optimal records: no other record is better in `x` or `y` and at least as good in the other.

    Parameters
    ----------
    table : records
    x, y : str
        Keys of the cost and of the quality. Records with None or NaN there are left out.

    Returns
    -------
    list of records
        By ascending x; equal records keep their order.

    Examples
    --------
    >>> table = [{"us": 3, "p1": 0.5}, {"us": 2, "p1": 0.4}, {"us": 4, "p1": 0.45}]
    >>> [record["us"] for record in frontier(table, "us", "p1")]
    [2, 3]
    """
    known = [record for record in table if _is_number(record.get(x)) and _is_number(record.get(y))]
    kept: list[dict[str, Any]] = []
    best = -math.inf  # the largest y so far
    for record in sorted(known, key=lambda record: (record[x], -record[y])):
        ties = bool(kept) and record[x] == kept[-1][x] and record[y] == kept[-1][y]
        if record[y] > best or ties:
            kept.append(record)
            best = max(best, record[y])
    return kept


def columns_of(table: Sequence[dict[str, Any]], x: str, y: str, largest_k: int) -> tuple[str, str]:
    """Return the columns that `x` and `y` name.

    "time" is the median time of a single call for the k of `y` or, if that was not measured, for the largest k. "depth"
    is the expected depth at the k of `y`.
    """
    known = set(table[0]) - _NOT_MEASURED if table else set()
    known = {name for name in known if not any(isinstance(record[name], str) for record in table)}
    qualities = sorted(name for name in known if is_quality(name))
    if y not in qualities:
        refuse("y", "one of " + ", ".join(qualities), y)
    k = int(y[len(y.rstrip("0123456789")) :])
    if x == "time":
        x = time_column(table, k, largest_k)
    elif x == "depth":
        x = f"depth{k}"
    if x not in known or is_quality(x):
        costs = sorted(name for name in known if not is_quality(name))
        refuse("x", "time, depth or one of " + ", ".join(costs), x)
    return x, y


def time_column(table: Sequence[dict[str, Any]], k: int, largest_k: int, percentile: int = 50) -> str:
    """Return the column with the time of single calls for k labels or, if not measured, for the largest k."""
    column = f"top{k}_p{percentile}_us"
    return column if table and column in table[0] else f"top{largest_k}_p{percentile}_us"


def is_quality(column: str) -> bool:
    """Whether higher values of a column are better."""
    found = find_metric(column)
    return found is not None and found.metric.higher_is_better


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not math.isnan(value)


class SweepResult:
    """The measurements of every setting of a sweep.

    Attributes
    ----------
    table : list of dict
        One record per setting: `setting` (its name), `tradeoff`, `fanout`, `cover`, `path` and other parameters of the
        grid; ``p{k}``, ``recall{k}``, ``fscore{k}`` (F1), ``ndcg{k}``, ``coverage{k}``, ``psp{k}`` (shares, not
        percent) and ``depth{k}`` (expected depth) for every k; ``weighted_p{k}`` and others if the validation points
        have weights; `chunks` and `classifiers` per query; ``top{k}_p50_us`` and ``top{k}_p99_us`` (one call for one
        query) and `batch_us` (per point of a batch) in microseconds; `tree_seconds`, `training_seconds` (which includes
        the tree), `model_bytes`.
    facts : dict
        Facts about the data, the machine, the estimator and the measurement.
    details : dict
        For the report: the tree and example searches of every setting, and the label frequencies.
    chosen : str or None
        The name of the setting that `choose` chose.
    explanation : str or None
        Why it was chosen.
    baselines : list of dict
        One record per baseline, with the same metrics as in `table`, and ``intervals``: the lower and upper 95 % bound
        of each metric. Empty in files written before baselines were measured.
    comparison : str or None
        How far the chosen setting, or the most precise one, is above the best baseline.

    Examples
    --------
    >>> import numpy as np, labeltrees as lt
    >>> X, Y = np.eye(6, dtype=np.float32), np.eye(6)
    >>> result = lt.sweep((X, Y), (X, Y), tradeoffs=[0, 2], fanouts=[2], k=(1,))
    >>> result
    SweepResult(2 settings: tradeoff 0 to 2, fanout 2; p1 1.0000 to 1.0000)
    >>> len(result.frontier(x="depth", y="p1")) > 0
    True
    """

    def __init__(
        self,
        table: list[dict[str, Any]],
        facts: dict[str, Any],
        details: dict[str, Any],
        *,
        chosen: str | None = None,
        explanation: str | None = None,
        baselines: list[dict[str, Any]] | None = None,
        comparison: str | None = None,
    ) -> None:
        self.table = table
        self.facts = facts
        self.details = details
        self.chosen = chosen
        self.explanation = explanation
        self.baselines = baselines or []
        self.comparison = comparison

    @property
    def data_name(self) -> str | None:
        """The name of the data in the report; None if unknown; assignable."""
        name = self.facts["data"].get("name")
        return None if name is None else str(name)

    @data_name.setter
    def data_name(self, name: str) -> None:
        self.facts["data"]["name"] = name

    @property
    def ks(self) -> tuple[int, ...]:
        """The values of k, ascending."""
        return tuple(self.facts["k"])

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        tradeoffs = [record["tradeoff"] for record in self.table]
        parts = [f"tradeoff {min(tradeoffs):g} to {max(tradeoffs):g}"]
        fanouts = {record["fanout"] for record in self.table} - {None}
        if fanouts:
            ordered = sorted(fanouts, key=lambda fanout: (fanout == "auto", fanout))
            parts.append("fanout " + ", ".join(map(str, ordered)))
        metric = f"p{self.ks[0]}"
        values = [record[metric] for record in self.table]
        chosen = f"; chosen {self.chosen}" if self.chosen else ""
        return (
            f"{type(self).__name__}({len(self.table)} settings: {', '.join(parts)}; "
            f"{metric} {min(values):.4f} to {max(values):.4f}{chosen})"
        )

    def record(self, setting: str) -> dict[str, Any]:
        """Return the record of a setting by its name."""
        return next(record for record in self.table if record["setting"] == setting)

    def interval(self, setting: str, metric: str) -> tuple[float, float] | None:
        """Return the 95 % confidence interval of a setting's metric, such as "p1"; None in older files."""
        found = self.details["settings"][setting].get("intervals", {}).get(metric)
        return None if found is None else (found[0], found[1])

    def frontier(self, x: str = "time", y: str = "p1") -> list[dict[str, Any]]:
        """Return the Pareto-optimal records, by ascending x.

        Parameters
        ----------
        x : str
            The cost: "time" (median of single calls for the k of `y` or, if not measured, for the largest k), "depth"
            (expected depth at the k of `y`), or a column such as "model_bytes".
        y : str
            The quality: "p1", "ndcg5", ...
        """
        return frontier(self.table, *columns_of(self.table, x, y, max(self.ks)))

    # Output formats.

    def to_pandas(self) -> Any:
        """Return the table as a pandas DataFrame."""
        try:
            import pandas as pd
        except ImportError as error:
            message = "to_pandas needs pandas: pip install pandas"
            raise MissingExtraError(message) from error
        return pd.DataFrame(self.table)

    def to_polars(self) -> Any:
        """Return the table as a polars DataFrame."""
        pl = import_extra("polars", "logs", "to_polars")
        return pl.DataFrame(self.table, infer_schema_length=None)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the table as a CSV file with a header."""
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, fieldnames=list(self.table[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.table)
        write_atomically(path, [text.getvalue().encode()])

    def to_json(self) -> str:
        """Return everything as JSON text, as `save` writes it."""
        return to_json(result_file.to_record(self))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a JSON file."""
        write_json(path, result_file.to_record(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a result that `save` wrote."""
        return cls(**result_file.from_record(read_json(path), path))

    # Charts.

    def figure(self, name: str, y: str | None = None) -> Any:
        """Return a chart: "precision_depth", "precision_time", "frequencies", "served", "depths" or "mass".

        `y` is the metric of the first two, such as "p3"; by default precision at the smallest k. Save the chart with
        ``chart.save("chart.svg")``, or as .pdf, .png or .html. Needs the extra `plots`.
        """
        from labeltrees.report.figures import figure

        return figure(self, name, y)

    def report(self, path: str | os.PathLike[str], title: str | None = None) -> None:
        """Write everything as one HTML page without external files. Needs the extra `plots`.

        `title` names the data; by default it is `data_name`.
        """
        from labeltrees.report.page import write_report

        write_report(self, path, title)
