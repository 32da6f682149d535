"""labeltrees quickstart."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from rich.console import Console

from labeltrees import baselines
from labeltrees._matrices import Float64s
from labeltrees._progress import watch
from labeltrees.cli.command import Command
from labeltrees.cli.errors import printable
from labeltrees.cli.options import jobs_option, refuse_option
from labeltrees.cli.output import console, make_table, number, step, typed_lines
from labeltrees.cli.serve import start_server
from labeltrees.cli.tuning_options import hide_memory_log
from labeltrees.data import Dataset
from labeltrees.data.data_folder import BUNDLED
from labeltrees.datasets import load_debian, load_shop_log
from labeltrees.errors import MissingExtraError
from labeltrees.logs import Columns, PreparedLogs, prepare_logs
from labeltrees.metrics import expected_depth_at_k, precision_at_k
from labeltrees.models.linear.estimator import LabelTreeClassifier
from labeltrees.report.tables import decide
from labeltrees.serving import ServingSettings, require_extra
from labeltrees.tuning.choose import Choice, run_choice
from labeltrees.tuning.limits import Limits, PairedDifference, paired_difference
from labeltrees.tuning.trial import Timing, measure_times

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
    you can type your own descriptions at the end. With --logs, the data are the baskets of a (synthetic) food shop, and
    the model proposes what else to buy. With --serve, a page shows the labels of the text you type, and the search.
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
    limits = Limits(_MAX_LOSS, None, "p1", _K)
    estimator = LabelTreeClassifier(n_jobs=n_jobs, verbose=int(show_progress))
    tune = {"tradeoff": None, "fanout": _FANOUTS}
    choice = run_choice(train, limits, estimator, tune=tune, early_rounds=False)  # the report shows all settings
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
    """Write the report; return a note with its path, or with the command that writes it if an extra is missing."""
    try:
        choice.result.report(target / "report.html")
    except MissingExtraError:
        page = target / "report.html"
        return f"For a report: pip install labeltrees[plots] && labeltrees convert {target / 'result.json'} -o {page}"
    return f"The report is in {target / 'report.html'}: open it in a browser."


def ask(out: Console, model: LabelTreeClassifier) -> None:
    """On a terminal, let the user type descriptions until an empty line."""
    for text in typed_lines(out, "Type the description of a package"):
        show_answer(out, model, text)


COMPARED = (0.0, 0.67, 1.33, 2.0)  # and the chosen one
_FOLDS = 4
_TIMED_POINTS = 1000


class Compared(NamedTuple):
    """One tradeoff: whether the first label of each point is correct, its expected depth, and us per call."""

    tradeoff: float
    hits: Float64s  # of each point, 0 or 1
    depth: float
    microseconds: float

    @property
    def precision(self) -> float:
        """P@1."""
        return float(self.hits.mean())

    def against(self, other: Compared) -> PairedDifference:
        """Return the difference of P@1, from the same points."""
        return paired_difference(self.hits, other.hits)


def compare_tradeoffs(
    parameters: dict[str, Any], data: Dataset, n_jobs: int | None, advance: Callable[[int], object] | None = None
) -> list[Compared]:
    """Return the comparison of several tradeoffs and the one in `parameters`, by ascending tradeoff.

    This is cross-validation: every point is searched by a model that was trained on the other folds. All tradeoffs use
    the same folds, and their searches are timed in turns.
    """
    tradeoffs = sorted({*COMPARED, float(parameters["tradeoff"])})
    part_of = np.random.default_rng(0).permutation(data.n_points) % _FOLDS
    models, hits, depths = [], [], []
    for place, tradeoff in enumerate(tradeoffs):
        right, depth = np.zeros(data.n_points), 0.0
        for part in range(_FOLDS):
            rest, rows = np.flatnonzero(part_of != part), np.flatnonzero(part_of == part)
            model = LabelTreeClassifier(**{**parameters, "tradeoff": tradeoff}, n_jobs=n_jobs)
            model.fit(data.X[rest], data.Y[rest])
            labels, _ = model.predict_topk(data.X[rows], 1)
            right[rows] = np.asarray(data.Y[rows, np.maximum(labels[:, 0], 0)]).ravel() * (labels[:, 0] >= 0)
            depth += len(rows) / data.n_points * expected_depth_at_k(model.tree_, labels, 1)
            if part == 0:
                models.append(model)
            if advance is not None:
                advance(place * _FOLDS + part + 1)
        hits.append(right)
        depths.append(depth)
    queries = [data.X[part_of == 0]] * len(models)
    times = measure_times(models, queries, (_K,), Timing(_REPEATS, _TIMED_POINTS), n_jobs=n_jobs)
    medians = [time[f"top{_K}_p50_us"] for time in times]
    return [Compared(*values) for values in zip(tradeoffs, hits, depths, medians, strict=True)]


def n_fits(parameters: dict[str, Any]) -> int:
    """Return the number of models that `compare_tradeoffs` trains."""
    return _FOLDS * len({*COMPARED, float(parameters["tradeoff"])})


_KS = (1, 3, 5)
_TEST_SINCE = "2025-06-01"
_QUESTIONS = (["spaghetti", "garlic"], ["charcoal", "beer"], ["nappies"], ["coconut milk", "limes", "ginger"])


def quickstart_logs(out: Console, target: Path, n_jobs: int, show_progress: bool) -> None:
    """Prepare the bundled log, train, compare with baselines and answer questions."""
    with step("Preparing the log", show_progress):
        prepared = prepare_shop_log()
        prepared.save(target / "shop")
    train, test = prepared
    out.print(f"The log: {prepared.summary.events_read:,} purchases in a small food shop. It is synthetic.")
    out.print("Of each basket with two or more products, half are hidden: they are the labels")
    out.print(
        f"({train.n_labels:,} of them). The other half are its features. A training basket gives several such points."
    )
    n_baskets = train.n_points if train.groups is None else len(np.unique(train.groups))
    out.print(f"{n_baskets:,} baskets before {_TEST_SINCE} are for training, {test.n_points:,} later ones for test.\n")
    with step("Training", show_progress):
        model = LabelTreeClassifier(n_jobs=n_jobs).fit(train)
        model.save(target / "shop.model")
    out.print("How many of the proposed products were in the rest of the basket, compared with simple methods:\n")
    out.print(compare(model, train, test))
    answer = model.predictor(k=max(_KS), names=True, exclude_seen=True)
    for items in _QUESTIONS:
        show_proposal(out, answer, items)
    for line in typed_lines(out, "Type products, separated by commas"):
        show_proposal(out, answer, [item.strip() for item in line.split(",") if item.strip()])
    out.print(f"\nThe data is in {target / 'shop'}, the model in {target / 'shop.model'}. For your own log:")
    out.print("  labeltrees logs prepare YOUR-LOG.csv -o shop --context basket --item item --features basket")
    out.print("  labeltrees fit shop -o shop.model")
    out.print("\nNext steps:")
    question = '["tortillas", "limes"]'
    out.print(f"  labeltrees predict {target / 'shop.model'} --ask '{question}' --exclude-seen", markup=False)
    out.print(f"  labeltrees baselines {target / 'shop'}")
    out.print(f"  labeltrees evaluate {target / 'shop.model'} {target / 'shop'}")
    out.print(f"  labeltrees choose {target / 'shop'} -o {target / 'chosen.model'} --max-precision-loss 0.005")


def prepare_shop_log() -> PreparedLogs:
    """Return the bundled log, prepared for basket completion and split by time."""
    return prepare_logs(
        load_shop_log(),
        Columns(context="basket", weight="quantity"),
        features="basket",
        test_since=_TEST_SINCE,
        min_engagement=0,
    )


def compare(model: LabelTreeClassifier, train: Dataset, test: Dataset) -> Any:
    """Return a table of the precision of the model, of best sellers and of items bought together."""
    methods: dict[str, Any] = {
        "best sellers": baselines.popularity(train),
        "bought together": baselines.co_occurrence(train),
        "label tree": model,
    }
    rows = []
    for name, method in methods.items():
        labels, _ = method.predict_topk(test.X, max(_KS))
        ids = {label: i for i, label in enumerate(train.label_names.tolist())} if train.label_names is not None else {}
        found = [[ids.get(label, -1) for label in row] for row in labels.tolist()]
        rows.append((name, *(number(100 * precision_at_k(test.Y, found, k), 1) for k in _KS)))
    return make_table(("", *(f"P@{k} (%)" for k in _KS)), rows)


def show_proposal(out: Console, answer: Any, items: list[str]) -> None:
    """Print the labels that the model proposes for these items."""
    labels, scores = answer(items)
    pairs = zip(labels, scores, strict=True)
    proposals = [f"{printable(str(name))} {score:.2f}" for name, score in pairs if name is not None]
    out.print(f"\n{printable(', '.join(items))}")
    out.print("  goes with " + (", ".join(proposals) or "nothing that the model knows"))


_SERVED_TRADEOFFS = (0.0, 0.5, 1.0, 1.5, 1.9)
_HOST, _PORT = "127.0.0.1", 8000
_CALIBRATION_POINTS = 1500


def quickstart_serve(target: Path, n_jobs: int, show_progress: bool) -> None:
    """Train one model of the bundled data per tradeoff, unless all exist already, and serve them."""
    require_extra()
    folders = {f"debian-{tradeoff:g}": target / f"debian-{tradeoff:g}.model" for tradeoff in _SERVED_TRADEOFFS}
    if not all(folder.exists() for folder in folders.values()):
        train, test = load_debian()
        assert test.texts is not None
        held_out = test.texts[:_CALIBRATION_POINTS], test.Y[:_CALIBRATION_POINTS]
        for tradeoff, folder in zip(_SERVED_TRADEOFFS, folders.values(), strict=True):
            with step(f"Training a model with tradeoff {tradeoff:g}", show_progress):
                model = LabelTreeClassifier(tradeoff=tradeoff, n_jobs=n_jobs)
                model.fit(train)
                model.calibrate(*held_out).save(folder)
    port = _free_port()
    if sys.stdout.isatty() and not os.environ.get("CI"):
        threading.Thread(target=_open_page, args=(port,), daemon=True).start()
    # The page starts with the first model: make it the one in the middle.
    names = sorted(folders, key=lambda name: name != "debian-1")
    models = {name: str(folders[name]) for name in names}
    start_server(models, ServingSettings(), host=_HOST, port=port)


def _free_port() -> int:
    """Return the usual port, or another one if it is taken."""
    with socket.socket() as taken:
        if taken.connect_ex((_HOST, _PORT)) != 0:
            return _PORT
    with socket.socket() as free:
        free.bind((_HOST, 0))
        return int(free.getsockname()[1])


def _open_page(port: int) -> None:
    """Open the page in a browser when the server answers."""
    for _ in range(100):
        time.sleep(0.1)
        with socket.socket() as connection:
            if connection.connect_ex((_HOST, port)) == 0:
                webbrowser.open(f"http://{_HOST}:{port}/")
                return
