"""labeltrees quickstart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.console import Console

from labeltrees._progress import watch
from labeltrees.cli.command import Command
from labeltrees.cli.data_argument import BUNDLED
from labeltrees.cli.options import jobs_option, refuse_option
from labeltrees.cli.output import console, number, printable, step, typed_lines
from labeltrees.cli.quickstart_compare import Compared, compare_tradeoffs, n_fits
from labeltrees.cli.quickstart_logs import quickstart_logs
from labeltrees.cli.quickstart_serve import quickstart_serve
from labeltrees.cli.tables import make_table
from labeltrees.cli.tuning_options import hide_memory_log
from labeltrees.datasets import load_debian
from labeltrees.errors import MissingExtraError
from labeltrees.models.linear.estimator import LabelTreeClassifier
from labeltrees.report.decision import decide
from labeltrees.tuning.choose import Choice, choose
from labeltrees.tuning.settings import TRADEOFFS

_K = 5
_MAX_LOSS = 0.02
_FANOUTS = (16, 128)
_REPEATS = 3
_DESCRIPTIONS = (
    "music player with a graphical interface made with Qt, plays ogg and mp3 files",
    "Perl module to read and write XML documents",
    "command line program written in Python that downloads web pages",
)
_EPILOG = """\b
Examples:
  labeltrees quickstart
  labeltrees quickstart --logs
  labeltrees quickstart --serve
"""


@click.command(cls=Command, epilog=_EPILOG)
@click.option(
    "--folder",
    type=click.Path(file_okay=False),
    default="labeltrees-quickstart",
    show_default=True,
    help="Folder to save the model and the report in.",
)
@click.option("--logs", "from_log", is_flag=True, help="Start from a small log of a shop instead of texts.")
@click.option("--serve", is_flag=True, help="Serve models of the bundled data, and open the page in a browser.")
@jobs_option
@click.pass_obj
def quickstart(show_progress: bool, folder: str, from_log: bool, serve: bool, n_jobs: int) -> None:
    """Choose a tradeoff for the bundled data, train a model and try it, in about a minute.

    The data are descriptions of Debian packages; the labels are the packages that each one depends on. On a terminal
    you can type your own descriptions at the end. With --logs the data are the baskets of a (synthetic) food shop, and
    the model proposes what else to buy. With --serve a page shows the labels of what you type, and the search for them.
    """
    if from_log and serve:
        refuse_option("--serve", "--logs", "the page is for texts here")
    hide_memory_log()
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    out = console()
    if from_log:
        quickstart_logs(out, target, n_jobs, show_progress)
        return
    if serve:
        quickstart_serve(target, n_jobs, show_progress)
        return
    with step("Reading data", show_progress):
        train, _ = load_debian()
    out.print(
        f"The data: {train.n_points:,} descriptions of Debian packages, labelled with the packages they depend on "
        f"({train.n_labels:,} different labels). A model arranges the labels in a tree and searches it. The tradeoff "
        "shapes the tree: 0 puts similar labels together, 2 puts frequent labels near the root.\n"
    )
    choice = choose(
        train,
        max_precision_loss=_MAX_LOSS,
        tradeoffs=TRADEOFFS,
        fanouts=_FANOUTS,
        tune="tree",
        early_rounds=False,
        repeats=_REPEATS,
        n_jobs=n_jobs,
        progress=show_progress,
    )
    choice.result.data_name = BUNDLED
    out.print(decide(choice.result).sentence)
    out.print(f"{choice.result.comparison}\n")
    with watch("Comparing tradeoffs", n_fits(choice.parameters), show_progress) as advance:
        compared = compare_tradeoffs(choice.parameters, train, n_jobs, advance)
    print_comparison(out, compared, choice.parameters)
    for description in _DESCRIPTIONS:
        show_answer(out, choice.model, description)
    choice.model.save(target / "debian.model")
    choice.result.save(target / "result.json")
    report_note = save_report(choice, target)
    ask(out, choice.model)
    out.print(f"\nThe model is in {target / 'debian.model'}, the measurements are in {target / 'result.json'}.")
    out.print(report_note)
    print_next(out, target)


def print_comparison(out: Console, compared: list[Compared], parameters: dict[str, Any]) -> None:
    """Print the table of tradeoffs, and one sentence about the chosen one."""
    first, chosen = compared[0], next(row for row in compared if row.tradeoff == parameters["tradeoff"])
    n_points = len(first.hits)
    rows = []
    for row in compared:
        loss = row.against(first)
        shown = "" if row is first else f"{100 * loss.mean:+.2f} ± {50 * (loss.upper - loss.lower):.2f}"
        name = f"{row.tradeoff:.4g}" + (" (chosen)" if row is chosen else "")
        rows.append((name, number(100 * row.precision, 1), shown, number(row.depth), number(row.microseconds, 1)))
    out.print(
        f"Several tradeoffs (fanout {parameters['fanout']}), on all {n_points:,} packages: each is searched by a model "
        "that was trained on the others (us: microseconds per call for 5 labels).\n"
    )
    out.print(make_table(("tradeoff", "P@1 (%)", "against 0", "expected depth", "us"), rows))
    if chosen is not first:
        faster = 100 * (1 - chosen.microseconds / first.microseconds)
        word = "less" if faster >= 0 else "more"
        out.print(f"\nCompared with tradeoff 0, the chosen model takes {abs(faster):.0f} % {word} time per call.")


def print_next(out: Console, target: Path) -> None:
    """Print the commands to type next."""
    out.print("\nNext, ask a question of your own:")
    out.print(f'  labeltrees predict {target / "debian.model"} --ask "a game with penguins"')
    out.print("\nOr look at the model, or start with your own data:")
    out.print(f"  labeltrees inspect {target / 'debian.model'} --label python3")
    out.print(f"  labeltrees evaluate {target / 'debian.model'} {BUNDLED}")
    out.print("  labeltrees choose YOUR-DATA -o your.model --max-precision-loss 0.005")


def show_answer(out: Console, model: LabelTreeClassifier, text: str) -> None:
    """Print the predicted dependencies of a package with this description."""
    labels, scores = model.predict_topk([text], _K)
    pairs = zip(labels[0], scores[0], strict=True)
    answers = [f"{printable(str(name))} {score:.2f}" for name, score in pairs if name is not None]
    out.print(f'\n"{printable(text)}"')
    out.print("  would depend on " + ", ".join(answers))


def save_report(choice: Choice, target: Path) -> str:
    """Write the report and return a note on where it is, or how to get it."""
    try:
        choice.result.report(target / "report.html")
    except MissingExtraError:
        page = target / "report.html"
        return f"For a report: pip install labeltrees[plots] && labeltrees report {target / 'result.json'} -o {page}"
    return f"The report is in {target / 'report.html'}: open it in a browser."


def ask(out: Console, model: LabelTreeClassifier) -> None:
    """On a terminal, let the user type descriptions until an empty line."""
    for text in typed_lines(out, "Type the description of a package"):
        show_answer(out, model, text)
