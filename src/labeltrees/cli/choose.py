"""labeltrees choose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import scipy.sparse as sp

from labeltrees.cli.baselines import print_baselines_of
from labeltrees.cli.cluster_options import TrainingPlace, only_cluster_options
from labeltrees.cli.command import Command
from labeltrees.cli.data_options import read_labels_within, vocabulary_options, within_option
from labeltrees.cli.options import data_argument, json_option, output_option
from labeltrees.cli.output import Column, Table, check_parent_folder, console, number, print_json
from labeltrees.cli.saved_models import check_output
from labeltrees.cli.search_options import RuleOptions
from labeltrees.cli.sweep import result_table
from labeltrees.cli.tuning_options import (
    fanouts_option,
    hide_memory_log,
    read_part,
    saying_how_to_continue,
    split_parameters,
    tuning_options,
)
from labeltrees.data import Dataset
from labeltrees.data.data_folder import name_of_data
from labeltrees.data.label_relations import Vocabulary
from labeltrees.data.label_texts import read_label_texts
from labeltrees.data.read_data import DataOptions
from labeltrees.errors import InputError
from labeltrees.metrics.table import metric_title
from labeltrees.tasks import FolderResults, LocalRunner
from labeltrees.tuning.candidates import plain
from labeltrees.tuning.choose import Choice, check_limits
from labeltrees.tuning.choose import choose as run_choose

_EPILOG = """\b
Examples:
  labeltrees choose debian -o debian.model --time-budget 60
  labeltrees choose debian -o debian.model --max-precision-loss 0.005 --tune tree
  labeltrees choose questions.csv -o questions.model --text title --labels tags --max-precision-loss 0.01
  labeltrees choose products/ -o products.model --max-latency-us 50 -k 5 --result products.json
  labeltrees choose shop/ -o shop.model --exclude-seen --candidates in-stock.txt
"""


_SHOWN_WITHOUT_GAIN = 5


def _tuned(_context: click.Context, _parameter: click.Parameter, value: str) -> Any:
    return value if value in ("all", "tree") else value.split(",")


def _values_to_try(parameters: dict[str, Any]) -> Any:
    """Remove tune, tradeoffs and fanouts from `parameters`, and return them as the argument `tune` of `choose`."""
    tune, tradeoffs, fanouts = (parameters.pop(name) for name in ("tune", "tradeoffs", "fanouts"))
    given = {name: values for name, values in (("tradeoff", tradeoffs), ("fanout", fanouts)) if values is not None}
    return dict.fromkeys([tune] if isinstance(tune, str) else tune) | given


def _runner(client: Any, folder: str | None) -> Any:
    if folder is None:
        return client
    if client is None:
        return LocalRunner(FolderResults(Path(folder)))
    from labeltrees.tasks.on_dask import DaskRunner

    return DaskRunner(client, folder)


@click.command(cls=Command, epilog=_EPILOG)
@data_argument
@output_option
@click.option(
    "--max-precision-loss", type=float, help="Choose the fastest model within this loss of the best, such as 0.005."
)
@click.option(
    "--max-latency-us", type=float, help="Choose the most precise model within this latency (99th percentile)."
)
@click.option(
    "--metric",
    default="p1",
    show_default=True,
    help="Metric to compare: p1, p3, ndcg5, ...; its number must not exceed -k.",
)
@click.option("--report", "report_file", type=click.Path(dir_okay=False), help="File to write a report to (HTML).")
@click.option("-k", type=int, default=5, show_default=True, help="Number of labels that a call returns.")
@click.option(
    "--validation", type=float, default=0.2, show_default=True, help="Share of DATA to hold out for measuring."
)
@click.option(
    "--result", "result_file", type=click.Path(dir_okay=False), help="File to save all measurements in (JSON)."
)
@click.option(
    "--tune",
    default="all",
    show_default=True,
    callback=_tuned,
    metavar="all|tree|NAMES",
    help="Parameters to search over: all, tree (tradeoff and fanout), or names such as loss,C,evidence.",
)
@click.option("--time-budget", type=float, metavar="SECONDS", help="Time limit for the search and the final training.")
@vocabulary_options(help="Texts of the labels: two columns, or SKOS. The model keeps them.")
@within_option
@fanouts_option("256,512; with a limit 16,256")
@tuning_options
@only_cluster_options
@json_option
@click.pass_obj
def choose(
    show_progress: bool,
    /,
    data: str,
    output: str,
    result_file: str | None,
    report_file: str | None,
    vocabulary: str | None,
    language: str | None,
    within: tuple[str, ...],
    as_json: bool,
    place: TrainingPlace,
    rules: RuleOptions,
    diversity: float | None,
    reading: DataOptions,
    **parameters: Any,
) -> None:
    """Choose the parameters for DATA by measurement, and save the model in the folder MODEL.

    Without limits, the most precise model is chosen, within --time-budget seconds if given. --max-precision-loss
    chooses the fastest model whose metric is, with 95 % confidence, within that loss of the best. --max-latency-us
    chooses the most precise model within that latency. With both, the fastest model that meets both is chosen. Part of
    DATA is held out to compare models; the chosen one is then trained on all of DATA. Simple baselines are measured on
    the same points (at most 5,000 of them). A model trained on texts also predicts from texts. With --cluster, the
    models to compare are trained as tasks of a Dask cluster, and all are timed on one of its workers.

    The rules of labeltrees evaluate, such as seen items to leave out, hold for the metrics and times of all models, and
    for the baselines (except the one for diversity). Their options are shown by --help-all.
    """
    hide_memory_log()
    check_output(output)
    check_parent_folder(result_file)
    check_parent_folder(report_file)
    estimator, others = split_parameters(parameters, show_progress)
    others["tune"] = _values_to_try(others)
    check_limits(*(others[name] for name in ("max_precision_loss", "max_latency_us", "metric", "k", "time_budget")))
    folder = others.pop("folder")
    train = read_part(data, reading, show_progress)
    texts = read_labels_within(vocabulary, language, within)
    if texts is not None:
        train = _with_label_texts(train, data, f"{vocabulary}", texts, only=bool(within))
    others["rules"] = rules.for_training(train, diversity)
    with place.client() as client, saying_how_to_continue(folder):
        choice = run_choose(train, estimator=estimator, client=_runner(client, folder), **others)
    choice.model.save(output)
    choice.result.data_name = name_of_data(data)
    if result_file is not None:
        choice.result.save(result_file)
    if report_file is not None:
        choice.result.report(report_file)
    if as_json:
        print_json(
            {
                "model": output,
                "parameters": {name: plain(value) for name, value in choice.parameters.items()},
                "steps": choice.steps,
                "trials": choice.trials,
                "record": choice.record,
                "explanation": choice.explanation,
                "table": choice.result.table,
                "baselines": choice.result.baselines,
            }
        )
        return
    _print(choice, output, result_file, report_file)


def _with_label_texts(train: Dataset, data: str, vocabulary: str, given: Vocabulary, *, only: bool) -> Dataset:
    """Return the data with the texts of its labels; labels that only the vocabulary has get an empty column.

    With `only`, labels that the vocabulary lacks are left out.
    """
    if train.label_names is None:
        message = f"{vocabulary}: names labels, but the labels of {data} have no names; give --label-names"
        raise InputError(message)
    if only:
        train = train.keep_labels(given)
    assert train.label_names is not None
    names = train.label_names.tolist()
    texts, new = read_label_texts(given, names, train.n_labels)
    Y = sp.csr_array((train.Y.data, train.Y.indices, train.Y.indptr), shape=(train.n_points, len(names) + len(new)))
    kept = ("feature_names", "sample_weight", "texts", "vectorizer", "encoder", "times", "groups")
    others = {name: getattr(train, name) for name in kept if getattr(train, name) is not None}
    return Dataset(train.X, Y, label_names=[*names, *new], label_texts=texts, **others)


def _shown_steps(choice: Choice) -> list[dict[str, Any]]:
    """Return the steps to print: all but most of the many combinations without a gain that a large budget tries."""
    unclear = [step for step in choice.steps if step["why"] == "no clear gain"]
    best = sorted(unclear, key=lambda step: -step["gain"])[:_SHOWN_WITHOUT_GAIN]
    return [step for step in choice.steps if step not in unclear or step in best]


def _steps_table(choice: Choice) -> Table:
    """Return a table of the gain and the cost of each step."""
    metric = metric_title(choice.result.facts["metric"])
    rows = []
    for step in _shown_steps(choice):
        gain = "" if step["gain"] is None else f"{100 * step['gain']:+.2f}"
        row = [step["step"], number(100 * step["metric"]), gain, number(step["us_per_call"], 1)]
        row += [number(step["training_seconds"], 1), number(step["model_bytes"] / 1e6, 1), step["why"]]
        rows.append(row)
    columns = [Column("", align="left"), Column(f"{metric} %", metric), Column("gain", priority=0)]
    columns += [Column("us", priority=2), Column("train s", priority=3), Column("MB", priority=4)]
    return Table([*columns, Column("", align="left", priority=1)], rows)


def _print(choice: Choice, output: str, result_file: str | None, report_file: str | None) -> None:
    out = console()
    if len(choice.steps) > 1:
        out.print(_steps_table(choice))
        n_more = len(choice.steps) - len(_shown_steps(choice))
        if n_more:
            out.print(f"{n_more} more without a clear gain; --json shows them.")
    if choice.result.facts["compared_trees"] or len(choice.steps) <= 1:
        out.print(result_table(choice.result))
    print_baselines_of(out, choice.result)
    out.print(f"\n{choice.explanation}")
    out.print(f"\nThe model is in {output}. To evaluate it: labeltrees evaluate {output} TEST-DATA")
    if report_file is not None:
        out.print(f"The report is in {report_file}: open it in a browser.")
    if result_file is not None:
        out.print(
            f"The measurements are in {result_file}. For a report: labeltrees convert {result_file} -o report.html"
        )
