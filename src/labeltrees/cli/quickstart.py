"""labeltrees quickstart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.console import Console

from labeltrees.cli.command import Command
from labeltrees.cli.data_argument import BUNDLED
from labeltrees.cli.options import jobs_option, refuse_option
from labeltrees.cli.output import console, number, printable, step, typed_lines
from labeltrees.cli.quickstart_logs import quickstart_logs
from labeltrees.cli.quickstart_serve import quickstart_serve
from labeltrees.cli.tables import make_table
from labeltrees.cli.tuning_options import hide_memory_log
from labeltrees.data import Dataset
from labeltrees.datasets import load_debian
from labeltrees.errors import MissingExtraError
from labeltrees.models.linear.estimator import LabelTreeClassifier
from labeltrees.tuning.choose import Choice, choose
from labeltrees.tuning.quality import measure_quality
from labeltrees.tuning.settings import TRADEOFFS
from labeltrees.tuning.timing import measure_times
from labeltrees.tuning.tuning_data import as_tuning_data

_KS = (1, 3, 5)
_MAX_LOSS = 0.02
_FANOUTS = (16, 128)
_REPEATS, _TIMED_POINTS = 3, 500
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
        train, test = load_debian()
    out.print(
        f"The data: {train.n_points:,} descriptions of Debian packages, labelled with the packages they depend on"
    )
    out.print(f"({train.n_labels:,} different labels). A model arranges the labels in a tree and searches it.")
    out.print("The tradeoff shapes the tree: 0 puts similar labels together, which is precise; 2 puts frequent labels")
    out.print("near the root, which is fast.\n")
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
    out.print(choice.explanation + "\n")
    with step("Comparing with tradeoff 0", show_progress):
        table = compare(choice, train, test, n_jobs)
    out.print(f"Compared with tradeoff 0, on {test.n_points:,} packages not used so far (us: microseconds per call):\n")
    out.print(table)
    for description in _DESCRIPTIONS:
        show_answer(out, choice.model, description)
    choice.model.save(target / "debian.model")
    choice.result.save(target / "result.json")
    report_note = save_report(choice, target)
    ask(out, choice.model)
    out.print(f"\nThe model is in {target / 'debian.model'}, the measurements are in {target / 'result.json'}.")
    out.print(report_note)
    out.print("\nNext steps:")
    out.print(f"  labeltrees evaluate {target / 'debian.model'} {BUNDLED}")
    out.print(f"  labeltrees inspect {target / 'debian.model'} --label python3")
    out.print("  labeltrees choose YOUR-DATA -o your.model --max-precision-loss 0.005")


def compare(choice: Choice, train: Dataset, test: Dataset, n_jobs: int) -> Any:
    """Return a table of the chosen model and one with tradeoff 0, both measured on `test`."""
    plain = LabelTreeClassifier(**{**choice.parameters, "tradeoff": 0.0}, n_jobs=n_jobs).fit(train.X, train.Y)
    # Metrics need label ids: this copy of the chosen model has no label names.
    chosen = LabelTreeClassifier(**choice.parameters, n_jobs=n_jobs).fit(train.X, train.Y)
    data = as_tuning_data(test, "test", plain)
    times = measure_times(
        [plain, chosen],
        test.X,
        (1, max(_KS)),
        repeats=_REPEATS,
        max_points=_TIMED_POINTS,
        random_state=0,
        n_jobs=n_jobs,
    )
    rows = []
    names = ("0", f"{choice.parameters['tradeoff']:.4g} (chosen)")
    for name, model, time in zip(names, (plain, chosen), times, strict=True):
        record, _, _ = measure_quality(model, data, _KS, None, n_jobs)
        precisions = [number(100 * record[f"p{k}"], 1) for k in _KS]
        calls = [number(time[f"top{k}_p50_us"], 1) for k in (1, max(_KS))]
        rows.append((name, f"{choice.parameters['fanout']}", *precisions, number(record["depth1"]), *calls))
    columns = ("tradeoff", "fanout", *(f"P@{k} (%)" for k in _KS), "expected depth", "top-1 us", f"top-{max(_KS)} us")
    return make_table(columns, rows)


def show_answer(out: Console, model: LabelTreeClassifier, text: str) -> None:
    """Print the predicted dependencies of a package with this description."""
    labels, scores = model.predict_topk([text], max(_KS))
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
