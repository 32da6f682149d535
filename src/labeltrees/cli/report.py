"""labeltrees report."""

from __future__ import annotations

import click

from labeltrees.cli.command import Command
from labeltrees.cli.options import json_option
from labeltrees.cli.output import check_parent_folder, plural, print_json, step
from labeltrees.report.page import write_figures
from labeltrees.tuning.result import SweepResult

_EPILOG = """\b
Examples:
  labeltrees report debian.sweep.json -o report.html
  labeltrees report debian.sweep.json -o report.html --figures figures/
"""


@click.command(cls=Command, epilog=_EPILOG)
@click.argument("result_file", metavar="RESULT", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "-o",
    "--output",
    metavar="PAGE",
    type=click.Path(dir_okay=False),
    default="report.html",
    show_default=True,
    help="File to write the page to.",
)
@click.option("--title", help="Title of the page. [default: the data of the RESULT]")
@click.option(
    "--figures", type=click.Path(file_okay=False), help="Also write each figure to this folder, as PNG, SVG and PDF."
)
@json_option
@click.pass_obj
def report(
    show_progress: bool, result_file: str, output: str, title: str | None, figures: str | None, as_json: bool
) -> None:
    """Write a RESULT of labeltrees sweep or choose as one HTML page.

    The page needs no network and no other file. It starts with the decision, then shows precision against depth and
    time, example searches, the trees at every tradeoff, and a table of all settings.
    """
    check_parent_folder(output)
    result = SweepResult.load(result_file)
    written = []
    with step("Drawing", show_progress):
        result.report(output, title)
        if figures is not None:
            written = [str(path) for path in write_figures(result, figures)]
    if as_json:
        print_json({"page": output, "figures": written})
        return
    click.echo(f"The report is in {output}. Open it in a browser.")
    if figures is not None:
        click.echo(f"{plural(len(written), 'figure')} written to {figures}.")
