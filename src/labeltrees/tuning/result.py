"""SweepResult: the table of a sweep, as records, data frames, files, charts and a report."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Sequence
from typing import Any, Self

from labeltrees._extras import import_extra
from labeltrees._files import read_json, refuse_file, to_json, write_atomically, write_json
from labeltrees._validation import refuse
from labeltrees.baselines.table import BASELINES
from labeltrees.errors import MissingExtraError
from labeltrees.metrics.table import find_metric

FORMAT, VERSION = "labeltrees sweep result", 3  # 2: more metrics, baselines; 3: columns of other parameters
_METRICS = {1: ("p", "ndcg", "psp", "depth"), 2: ("p", "ndcg", "psp", "depth", "recall", "fscore", "coverage")}
_OF_BASELINES = ("p", "recall", "fscore", "ndcg", "coverage")
_KEYS = {"format", "version", "table", "facts", "details", "chosen", "explanation"}
_SINCE_2: dict[str, Any] = {"baselines": [], "comparison": None}  # with the values that a file of version 1 gets
_FACTS = {"data": dict, "machine": dict, "estimator": dict, "k": list, "measured": dict}
_DETAILS = {"settings": dict, "frequencies": dict, "examples": list}
_DETAILS_OF_SETTING = {
    "height": int,
    "n_nodes": int,
    "labels_per_depth": list,
    "mass_per_depth": list,
    "top": dict,
    "looks": list,
}
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
    known = [record for record in table if _is_known(record.get(x)) and _is_known(record.get(y))]
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


def _is_known(value: Any) -> bool:
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
        return to_json(to_record(self))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a JSON file."""
        write_json(path, to_record(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a result that `save` wrote."""
        return cls(**from_record(read_json(path), path))

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


# The file format: JSON with a version, checked when it is read.


def to_record(result: SweepResult) -> dict[str, Any]:
    """Return a result as one record; a result read from a file of version 1 is written as version 1."""
    is_old = f"recall{result.ks[0]}" not in result.table[0]
    return {
        "format": FORMAT,
        "version": 1 if is_old else 3 if result.facts.get("varied") else 2,
        "facts": result.facts,
        "chosen": result.chosen,
        "explanation": result.explanation,
        **({} if is_old else {"comparison": result.comparison, "baselines": result.baselines}),
        "table": result.table,
        "details": result.details,
    }


def from_record(record: Any, path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the arguments of a `SweepResult` from the record of a file; errors name the file."""
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        refuse_file(path, "not a sweep result; labeltrees sweep and choose write them")
    version = record.get("version")
    if type(version) is not int or not 1 <= version <= VERSION:
        refuse_file(path, f"format version {version!r}; this labeltrees reads versions 1 to {VERSION}")
    keys = _KEYS if version == 1 else _KEYS | _SINCE_2.keys()
    if set(record) != keys:
        refuse_file(path, f"keys missing or unknown: {sorted(set(record) ^ keys)}")
    record = _SINCE_2 | record
    _check_types(path, "facts", record["facts"], _FACTS)
    _check_types(path, "details", record["details"], _DETAILS)
    ks = record["facts"]["k"]
    if not ks or not all(type(k) is int and k >= 1 for k in ks):
        refuse_file(path, "facts.k is not a list of positive integers")
    names = _check_table(path, record["table"], ks, version, record["facts"].get("varied", []))
    types = _DETAILS_OF_SETTING if version == 1 else _DETAILS_OF_SETTING | {"intervals": dict}
    for name in names:
        details = record["details"]["settings"].get(name)
        _check_types(path, f"the details of {name}", details, types)
        _check_intervals(path, f"the details of {name}", details.get("intervals", {}))
    _check_baselines(path, record["baselines"], ks)
    for key in ("chosen", "explanation", "comparison"):
        if not isinstance(record[key], str | None):
            refuse_file(path, f"{key} is not a string")
    if record["chosen"] is not None and record["chosen"] not in names:
        refuse_file(path, f"the chosen setting {record['chosen']!r} is not in the table")
    return {key: record[key] for key in ("table", "facts", "details", "chosen", "explanation", *_SINCE_2)}


def _check_table(path: Any, table: Any, ks: list[int], version: int, varied: Any) -> list[str]:
    if not isinstance(table, list) or not table:
        refuse_file(path, "the table is empty or not a list")
    if not isinstance(varied, list) or not all(isinstance(name, str) for name in varied):
        refuse_file(path, "facts.varied is not a list of names")
    needed = {"setting", "tradeoff", "fanout", "cover", "path", "chunks", "classifiers", "batch_us", "tree_seconds"}
    needed |= {"training_seconds", "model_bytes", *varied, *_columns(_METRICS[min(version, 2)], ks)}
    needed |= {f"top{k}_p{percentile}_us" for k in {1, max(ks)} for percentile in (50, 99)}
    texts = {"setting", "cover", "path"}
    known = set(table[-1]) if isinstance(table[-1], dict) else needed
    for number, row in enumerate(table):
        odd = (
            row
            if not isinstance(row, dict)
            else sorted((needed - set(row)) | _unknown(row, needed) | (set(row) ^ known))
        )
        if odd or not isinstance(row, dict):
            refuse_file(path, f"record {number}: columns missing or unknown: {odd}"[:300])
        for name, value in row.items():
            sound = isinstance(value, str) if name in texts else _is_number(value)
            sound = (
                sound or (name == "fanout" and value == "auto") or (name in varied and isinstance(value, str | bool))
            )
            if not sound and (value is not None or name in ("setting", "tradeoff")):
                refuse_file(path, f"record {number}: {name} is {value!r}"[:300])
    names = [row["setting"] for row in table]
    if len(set(names)) < len(names):
        refuse_file(path, "a setting occurs twice in the table")
    return names


def _columns(names: tuple[str, ...], ks: list[int]) -> set[str]:
    return {f"{name}{k}" for name in names for k in ks}


def _unknown(row: dict[str, Any], needed: set[str]) -> set[str]:
    """Return the columns that are neither needed nor a metric."""
    return {name for name in row if name not in needed and find_metric(name) is None}


def _check_baselines(path: Any, baselines: Any, ks: list[int]) -> None:
    if not isinstance(baselines, list):
        refuse_file(path, "baselines is not a list")
    needed = {"baseline", "intervals", *_columns(_OF_BASELINES, ks)}
    for number, row in enumerate(baselines):
        if not isinstance(row, dict) or not needed <= set(row) or _unknown(row, needed):
            refuse_file(path, f"baseline {number}: columns missing or unknown")
        numbers = [value for name, value in row.items() if name not in ("baseline", "intervals")]
        if row["baseline"] not in BASELINES or not all(map(_is_number, numbers)):
            refuse_file(path, f"baseline {number}: damaged")
        _check_intervals(path, f"baseline {number}", row["intervals"])


def _check_intervals(path: Any, what: str, intervals: Any) -> None:
    sound = isinstance(intervals, dict) and all(
        isinstance(pair, list) and len(pair) == 2 and all(map(_is_number, pair)) for pair in intervals.values()
    )
    if not sound:
        refuse_file(path, f"{what}: intervals are damaged")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _check_types(path: Any, what: str, mapping: Any, types: dict[str, Any]) -> None:
    if not isinstance(mapping, dict):
        refuse_file(path, f"{what}: missing, or not an object")
    for name, kind in types.items():
        if not isinstance(mapping.get(name), kind):
            refuse_file(path, f"{what}: {name} is missing, or not of type {kind.__name__}")
