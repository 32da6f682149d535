"""labeltrees imbalance."""

from __future__ import annotations

import click

from labeltrees.cli.command import Command
from labeltrees.cli.data_argument import TextOptions, load_data
from labeltrees.cli.options import data_argument, json_option
from labeltrees.cli.output import check_plot, console, plural, print_json, step
from labeltrees.cli.tables import Column, Table
from labeltrees.cli.text_options import text_options
from labeltrees.labels.imbalance import Imbalance
from labeltrees.labels.imbalance import imbalance as measure
from labeltrees.report.charts import save, styled
from labeltrees.report.figures import served_curves

_EPILOG = """\b
Examples:
  labeltrees imbalance debian
  labeltrees imbalance train.txt.xz --plot imbalance.svg
"""
_BAR_WIDTH = 20
_EIGHTHS = " ▏▎▍▌▋▊▉"


@click.command(cls=Command, epilog=_EPILOG)
@data_argument
@text_options
@click.option("--plot", type=click.Path(dir_okay=False), help="Also draw the curves to this file (.png, .svg or .pdf).")
@json_option
@click.pass_obj
def imbalance(show_progress: bool, data: str, plot: str | None, as_json: bool, texts: TextOptions) -> None:
    """Show how many points of DATA the most frequent labels serve.

    The q most frequent labels serve a point if they include at least one of its labels, at least three of them (or all,
    if it has fewer), or all of them. The more points a few labels serve, the more a tree by frequency can gain.
    """
    check_plot(plot)
    with step("Reading data", show_progress):
        dataset = load_data(data, texts=texts, features=False)
    result = measure(dataset.Y, dataset.sample_weight)
    if plot is not None:
        save(styled(served_curves(result.table())), plot)
    if as_json:
        print_json({"n_labels": result.n_labels, "n_points": result.n_points, "curve": result.table()})
        return
    out = console()
    out.print(f"{plural(result.n_labels, 'label')} on {plural(result.n_points, 'point')}")
    out.print(f"the most frequent 1 % of the labels serve {100 * result.top_percent:.1f} % of the points\n")
    out.print(_table(result))


def _table(result: Imbalance) -> Table:
    rows = [
        (
            f"{row['q']:,}",
            f"{100 * row['share_of_labels']:.3g} %",
            *(f"{100 * row[name]:.1f} %" for name in ("at_least_one", "at_least_three", "all_labels")),
            _bar(row["at_least_one"]),
        )
        for row in result.table()
    ]
    served = [Column("at least 1"), Column("at least 3", priority=1), Column("all")]
    bar = Column("", priority=3, align="left")
    return Table([Column("labels"), Column("of all", priority=2), *served, bar], rows)


def _bar(share: float) -> str:
    """Return a bar for a share, with a resolution of an eighth of a character."""
    whole, eighths = divmod(round(share * _BAR_WIDTH * 8), 8)
    return ("█" * whole + _EIGHTHS[eighths]).rstrip()
