"""labeltrees update and labeltrees retire."""

from __future__ import annotations

import os
import warnings
from typing import Any

import click
import numpy as np

from labeltrees.cli.command import Command
from labeltrees.cli.data_options import data_options
from labeltrees.cli.options import jobs_option, json_option, model_argument
from labeltrees.cli.output import console, plural, print_json, step
from labeltrees.cli.saved_models import check_output, load_model
from labeltrees.cli.search_options import read_labels
from labeltrees.data import Dataset
from labeltrees.data.files import read_lines
from labeltrees.data.read_data import DataOptions, load_data
from labeltrees.errors import FileFormatError, InputError
from labeltrees.models.common.protocol import Model
from labeltrees.storage.versions import go_back, previous_of, publish, version_of

_EPILOG = """\b
Examples:
  labeltrees update shop.model today.jsonl --replay all.jsonl
  labeltrees update shop.model --retire sold-out.txt --restore "blue plum"
  labeltrees update library.model --rename "old heading=new heading" --compact
  labeltrees update shop.model --forget rows.txt --replay all.jsonl
  labeltrees update shop.model --back
"""


def _renamed(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for value in values:
        old, mark, new = value.partition("=")
        if not mark or not old or not new:
            message = f"{value!r} is not OLD=NEW."
            raise click.BadParameter(message)
        pairs[old] = new
    return pairs


_output_option = click.option(
    "-o", "--output", metavar="MODEL", type=click.Path(), help="Folder to save the model in. [default: MODEL itself]"
)


@click.command(cls=Command, epilog=_EPILOG)
@model_argument
@click.argument("data", metavar="[NEW-DATA]", required=False)
@data_options()
@click.option(
    "--replay", metavar="OLD-DATA", help="The points that MODEL was trained on; with them, old classifiers learn too."
)
@click.option(
    "--exact", is_flag=True, help="Train everything whose input changed; the result equals a fit on that tree."
)
@click.option("--retire", metavar="LABEL|FILE", multiple=True, help="Stop returning these labels.")
@click.option("--restore", metavar="LABEL|FILE", multiple=True, help="Return retired labels again.")
@click.option("--rename", metavar="OLD=NEW", multiple=True, callback=_renamed, help="Give a label another name.")
@click.option(
    "--forget",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="Forget points: a file with row numbers of OLD-DATA, one per line. The first row is 0.",
)
@click.option("--compact", is_flag=True, help="Remove retired labels from the files.")
@click.option("--back", is_flag=True, help="Restore the version before the last update.")
@_output_option
@jobs_option
@json_option
@click.pass_obj
def update(
    show_progress: bool,
    model_folder: str,
    data: str | None,
    replay: str | None,
    exact: bool,
    retire: tuple[str, ...],
    restore: tuple[str, ...],
    rename: dict[str, str],
    forget: str | None,
    compact: bool,
    back: bool,
    output: str | None,
    n_jobs: int,
    as_json: bool,
    reading: DataOptions,
) -> None:
    """Add points and labels to a MODEL, or retire, restore, rename and forget them.

    NEW-DATA has new points, perhaps with new labels. With --replay, only classifiers whose points changed are trained.
    Without it, old classifiers keep their weights, and new ones have the classifiers of their siblings as negatives.

    The new version replaces MODEL in one step, and a server that watches the folder loads it. The previous version
    stays in MODEL.previous until the next update, and shares unchanged files with the new one; --back restores it. With
    -o, the new version is written there instead, and MODEL does not change.
    """
    changes = bool(data or retire or restore or rename or forget or compact)
    if back:
        if changes or output is not None:
            message = "--back cannot be combined with other changes"
            raise InputError(message)
        go_back(model_folder)
        _say(as_json, {"model": model_folder, "back": True}, f"{model_folder}: the previous version is in place")
        return
    if not changes:
        message = "nothing to do: give NEW-DATA, --retire, --restore, --rename, --forget, --compact or --back"
        raise InputError(message)
    if forget is not None and replay is None:
        message = "--forget needs --replay OLD-DATA, the points that the model was trained on"
        raise InputError(message)
    check_output(model_folder if output is None else output)
    version = version_of(model_folder)
    model = load_model(model_folder)
    parameters = model.get_params(deep=False)
    model.set_params(n_jobs=n_jobs, verbose=int(show_progress))
    facts = _change(model, data, replay, exact, retire, restore, rename, forget, compact, reading, show_progress)
    model.set_params(n_jobs=parameters["n_jobs"], verbose=parameters["verbose"])
    _publish(model, model_folder, output, version, facts.pop("lines"), facts, as_json)


_RETIRE_EPILOG = """\b
Examples:
  labeltrees retire shop.model "red wine" "white wine"
  labeltrees retire shop.model sold-out.txt
  labeltrees retire shop.model sold-out.txt --restore
"""


@click.command(cls=Command, epilog=_RETIRE_EPILOG)
@model_argument
@click.argument("labels", metavar="LABEL|FILE...", nargs=-1, required=True)
@click.option("--restore", is_flag=True, help="Return the labels again.")
@_output_option
@json_option
def retire(model_folder: str, labels: tuple[str, ...], restore: bool, output: str | None, as_json: bool) -> None:
    """Stop returning labels of a MODEL, immediately and without training.

    A LABEL is a name, or an id if the labels have no names. A FILE has one label per line. This does the same as
    labeltrees update --retire. To undo it: labeltrees update MODEL --back.
    """
    check_output(model_folder if output is None else output)
    version = version_of(model_folder)
    model: Any = load_model(model_folder)
    (model.restore if restore else model.retire)(_known("LABEL", labels, model))
    _publish(model, model_folder, output, version, [], {"retired": list(model.retired_.tolist())}, as_json)


def _publish(
    model: Any,
    model_folder: str,
    output: str | None,
    version: str | None,
    lines: list[str],
    facts: dict[str, Any],
    as_json: bool,
) -> None:
    """Save a changed model, and print what has changed."""
    target = model_folder if output is None else output
    publish(model.save, model_folder, target, version)
    first = f"{target}: {plural(len(model.classes_), 'label')}, {len(facts['retired']):,} of them retired"
    last = []
    if os.path.realpath(target) == os.path.realpath(model_folder):
        last = [
            f"The previous version is in {previous_of(target).name}; to restore it: labeltrees update {target} --back"
        ]
    _say(as_json, {"model": target, **facts}, "\n".join([first, *lines, *last]))


def _change(
    model: Model,
    data: str | None,
    replay: str | None,
    exact: bool,
    retire: tuple[str, ...],
    restore: tuple[str, ...],
    rename: dict[str, str],
    forget: str | None,
    compact: bool,
    reading: DataOptions,
    show_progress: bool,
) -> dict[str, Any]:
    """Apply all changes, and return a record of them."""
    changed: Any = model
    if (data is not None or forget is not None) and not hasattr(model, "update"):
        message = f"a {model.KIND} cannot be updated: fit it again; labels can be retired, restored and renamed"
        raise InputError(message)
    if (exact or forget is not None) and not hasattr(model, "forget"):
        message = f"a {model.KIND} is updated without --exact and --forget: fit it again to forget points"
        raise InputError(message)
    old: Any
    reports, lines = [], []
    if rename:
        changed.rename(list(rename), list(rename.values()))
    if restore:
        changed.restore(_known("--restore", restore, model))
    if retire:
        changed.retire(_known("--retire", retire, model))
    with step("Reading data", show_progress):
        old = None if replay is None else _read(replay, reading, model)
        new = None if data is None else _read(data, reading, model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the reports say the same
        if forget is not None:
            rows = _read_rows(forget, old.n_points)
            reports.append(changed.forget(rows, old))
            old = old.take(np.setdiff1d(np.arange(old.n_points), rows))  # an update must not learn them again
        if new is not None:
            reports.append(changed.update(new, replay=old, **({"exact": True} if exact else {})))
    if compact:
        changed.compact()
    for report in reports:
        lines += str(report).splitlines()
    made = [report.to_dict() for report in reports]
    return {"retired": list(changed.retired_.tolist()), "reports": made, "lines": lines}


def _known(option: str, values: tuple[str, ...], model: Model) -> list[Any]:
    """Return the labels that the values of an option name, in the form that the model takes: names, or ids."""
    known: list[Any] = model.classes_[read_labels(option, values, model)].tolist()
    return known


def _read_rows(path: str, n_points: int) -> Any:
    """Return the row numbers of a file."""
    rows = []
    for number, line in enumerate(read_lines(path), start=1):
        if not line:
            continue
        if not line.isdecimal() or int(line) >= n_points:
            message = f"{path}, line {number}: must be a row number of OLD-DATA, from 0 to {n_points - 1}, got {line!r}"
            raise FileFormatError(message)
        rows.append(int(line))
    if not rows:
        message = f"{path}: contains no row numbers"
        raise FileFormatError(message)
    return np.array(rows, np.int64)


def _read(data: str, reading: DataOptions, model: Model) -> Dataset:
    return load_data(data, "train", reading, features=not model.takes_texts)


def _say(as_json: bool, facts: dict[str, Any], text: str) -> None:
    if as_json:
        print_json(facts)
    else:
        console().print(text)
