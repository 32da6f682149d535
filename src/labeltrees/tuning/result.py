"""SweepResult: the table of a sweep, as records, data frames, files, charts and a report."""

from __future__ import annotations

import csv
import io
import os
from typing import Any, Self

import numpy as np

from labeltrees._extras import import_extra
from labeltrees._files import write_atomically
from labeltrees.errors import MissingExtraError
from labeltrees.tuning import result_form
from labeltrees.tuning.baseline_table import BaselineTable
from labeltrees.tuning.frontier import columns_of, frontier
from labeltrees.tuning.quality import Hits
from labeltrees.tuning.sweep_folder import read_json, to_json, write_json


class SweepResult:
    """The measurements of every setting of a sweep.

    Attributes
    ----------
    table : list of dict
        One record per setting: `setting` (its name), `tradeoff`, `fanout`, `cover`, `path`; ``p{k}``, ``recall{k}``,
        ``fscore{k}`` (F1), ``ndcg{k}``, ``coverage{k}``, ``psp{k}`` (shares, not percent) and ``depth{k}`` (expected
        depth) for every k; ``weighted_p{k}``, ``weighted_recall{k}`` and ``weighted_ndcg{k}`` if the validation points
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
    >>> result = lt.sweep((X, Y), (X, Y), tradeoffs=[0, 2], fanouts=[2], k=(1,), repeats=1)
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
        comparison: str | None = None,
        hits: dict[str, Hits] | None = None,
        baselines: BaselineTable | list[dict[str, Any]] | None = None,
    ) -> None:
        self.table = table
        self.facts = facts
        self.details = details
        self.chosen = chosen
        self.explanation = explanation
        self.comparison = comparison
        self._hits = hits or {}  # by setting, for `choose`; not saved
        if not isinstance(baselines, BaselineTable):
            baselines = BaselineTable(baselines or [], np.zeros(0, dtype=np.int64), {})
        self.baselines, self._baseline_rows, self._baseline_hits = baselines

    @property
    def data_name(self) -> str | None:
        """What the data are called in the report; None if nobody said it. Can be set."""
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
        return to_json(result_form.to_record(self))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a file of JSON."""
        write_json(path, result_form.to_record(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote."""
        return cls(**result_form.from_record(read_json(path), path))

    # Charts.

    def figure(self, name: str) -> Any:
        """Return a chart: "precision_depth", "precision_time", "frequencies", "served", "depths" or "mass".

        Save it with ``chart.save("chart.svg")``, or as .png or .html. Needs the extra `plots`.
        """
        from labeltrees.report.figures import figure

        return figure(self, name)

    def report(self, path: str | os.PathLike[str], title: str | None = None) -> None:
        """Write everything as one HTML page without external files. Needs the extra `plots`.

        `title` names the data; by default it is `data_name`.
        """
        from labeltrees.report.page import write_report

        write_report(self, path, title)
