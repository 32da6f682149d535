"""labeltrees imbalance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from labeltrees.cli.data_argument import TextOptions, load_data
from labeltrees.cli.options import data_argument, json_option, text_options
from labeltrees.cli.output import check_folder_of, console, make_table, print_json, step
from labeltrees.errors import InputError
from labeltrees.labels.imbalance import Imbalance
from labeltrees.labels.imbalance import imbalance as measure
from labeltrees.report.charts import save, styled
from labeltrees.report.figures import served_curves

_EPILOG = """\b
Examples:
  labeltrees imbalance debian
  labeltrees imbalance train.txt.xz --plot imbalance.svg
"""
_PLOT_FORMS = (".png", ".svg", ".pdf")
_BAR_WIDTH = 20
_EIGHTHS = " ▏▎▍▌▋▊▉"


@click.command(epilog=_EPILOG)
@data_argument
@text_options
@click.option("--plot", type=click.Path(dir_okay=False), help="Draw the curves to this file (.png, .svg or .pdf).")
@json_option
@click.pass_obj
def imbalance(show_progress: bool, data: str, plot: str | None, as_json: bool, texts: TextOptions) -> None:
    """Show which share of the points of DATA the most frequent labels serve.

    A point is served by the q most frequent labels if at least one of its labels, three of them, or all of them are
    among these. The steeper the curves begin, the more a tree shaped by frequency can gain.
    """
    if plot is not None and Path(plot).suffix.lower() not in _PLOT_FORMS:
        message = f"--plot must end in one of {', '.join(_PLOT_FORMS)}, got {plot!r}"
        raise InputError(message)
    check_folder_of(plot)
    with step("Reading data", show_progress):
        dataset = load_data(data, texts=texts, features=False)
    result = measure(dataset.Y, dataset.sample_weight)
    if plot is not None:
        save(styled(served_curves(result.table())), plot)
    if as_json:
        print_json({"n_labels": result.n_labels, "n_points": result.n_points, "curve": result.table()})
        return
    out = console()
    out.print(f"{result.n_labels:,} labels on {result.n_points:,} points")
    out.print(f"the 1 % most frequent labels serve {100 * result.top_percent:.1f} % of the points\n")
    out.print(_table(result))


def _table(result: Imbalance) -> Any:
    rows = [
        (
            f"{row['q']:,}",
            f"{100 * row['share_of_labels']:.3g} %",
            *(f"{100 * row[name]:.1f} %" for name in ("at_least_one", "at_least_three", "all_labels")),
            _bar(row["at_least_one"]),
        )
        for row in result.table()
    ]
    return make_table(("labels", "of all", "at least 1", "at least 3", "all", ""), rows, left=(0, 5))


def _bar(share: float) -> str:
    """Return a bar for a share, in eighths of a character."""
    whole, eighths = divmod(round(share * _BAR_WIDTH * 8), 8)
    return ("█" * whole + _EIGHTHS[eighths]).rstrip()
