"""The operations that write files, each on a small problem: what it writes, and how to look at the result."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from click.testing import CliRunner

import labeltrees as lt
from labeltrees.cli.main import cli
from labeltrees.logs import PreparedLogs
from labeltrees.tuning.result import SweepResult

FAST = ["--tradeoffs", "1", "--fanouts", "8", "--jobs", "1"]
TEXTS = ["red cat", "red dog", "blue cat", "blue dog", "red bird", "blue bird"] * 5


@dataclass(frozen=True)
class Operation:
    """An operation, and the files and folders it replaces in one step.

    Parameters
    ----------
    prepare : function of a folder
        Makes the input and the old state.
    run : function of a folder
        Raises an error, or does the work.
    targets : tuple of str
        Paths in the folder, each of which must be as before or complete after a failure.
    allowed : str
        Pattern of other paths that a failure may leave, so that the next run continues.
    """

    prepare: Callable[[Path], object]
    run: Callable[[Path], object]
    targets: tuple[str, ...]
    allowed: str = "$^"


class CommandError(Exception):
    """The command line printed an error in one line."""


def command(*arguments: object) -> None:
    """Run the command line in this process; raise `CommandError` for an error of ours, anything else as it is."""
    result = CliRunner().invoke(cli, ["-q", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    if result.exit_code:
        lines = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
        if len(lines) != 1:
            message = f"exit code {result.exit_code} without an error in one line: {result.stderr!r}"
            raise AssertionError(message)
        raise CommandError(lines[0])


def small_data(seed: int) -> lt.Dataset:
    """Return 60 points with 10 labels."""
    rng = np.random.default_rng(seed)
    X, Y = rng.random((60, 12)), rng.random((60, 10)) < 0.2
    Y[np.arange(10), np.arange(10)] = True
    return lt.Dataset(X, Y)


def _model(folder: Path) -> None:
    data = small_data(0)
    lt.write_xmc(data, folder / "data.txt")
    lt.LabelTreeClassifier(fanout=4).fit(data.X, data.Y).save(folder / "model")


def _new_model(folder: Path) -> None:
    _model(folder)
    data = small_data(1)
    lt.LabelTreeClassifier(fanout=3).fit(data.X, data.Y).save(folder / "other")


def _update(folder: Path) -> None:
    _model(folder)
    lt.write_xmc(small_data(1), folder / "new.txt")


def _prepare(folder: Path, log: str) -> None:
    command("logs", "prepare", folder / log, "-o", folder / "dataset", "--min-engagement", 0)


def _log(folder: Path) -> None:
    rng = np.random.default_rng(0)
    for name, n in (("old.csv", 200), ("log.csv", 300)):
        rows = [
            f"red{rng.integers(5)} cat{rng.integers(5)},i{rng.integers(9)},2024-01-{day % 28 + 1:02d}"
            for day in range(n)
        ]
        (folder / name).write_text("context,item,time\n" + "\n".join(rows) + "\n")
    _prepare(folder, "old.csv")


def _texts(folder: Path) -> None:
    (folder / "train.ft").write_text("".join(f"__label__{text.split()[0]} {text}\n" for text in TEXTS))
    model = lt.TextLabelTreeClassifier(dim=16, epochs=1, min_count=1, buckets=50)
    model.fit(TEXTS, [[text.split()[1]] for text in TEXTS]).save(folder / "model")
    model.fit_file(folder / "train.ft").export_fasttext(folder / "model.bin")


OPERATIONS = {
    "save": Operation(_new_model, lambda at: lt.load(at / "other", in_memory=True).save(at / "model"), ("model",)),
    "calibrate": Operation(
        _model, lambda at: command("calibrate", at / "model", at / "data.txt", "--k", "1,3", "--jobs", 1), ("model",)
    ),
    "update": Operation(
        _update,
        lambda at: command("update", at / "model", at / "new.txt", "--replay", at / "data.txt", "--jobs", 1),
        ("model", "model.previous"),
    ),
    "sweep": Operation(
        _model,
        lambda at: command("sweep", at / "data.txt", "-o", at / "result.json", "--folder", at / "sweep", *FAST),
        ("result.json",),
        r"sweep(/.*)?",
    ),
    "choose": Operation(
        _model,
        lambda at: command("choose", at / "data.txt", "-o", at / "model", "--max-precision-loss", 0.5, *FAST),
        ("model",),
    ),
    "logs prepare": Operation(
        _log,
        lambda at: _prepare(at, "log.csv"),
        ("dataset",),
        r"\.dataset\.preparing(/.*)?",
    ),
    "fit-text": Operation(
        _texts,
        lambda at: command(
            "fit",
            "--model",
            "text",
            at / "train.ft",
            "-o",
            at / "model",
            "--set",
            "dim=16",
            "--set",
            "epochs=1",
            "--set",
            "min_count=1",
            "--jobs",
            1,
        ),
        ("model",),
    ),
    "import-fasttext": Operation(
        _texts, lambda at: command("convert", at / "model.bin", "-o", at / "model"), ("model",)
    ),
}


def state_of(path: Path) -> str | None:
    """Return a digest of a file or folder, None if it does not exist."""
    if not path.exists():
        return None
    digest = hashlib.sha256()
    for file in [path] if path.is_file() else sorted(path.rglob("*")):
        digest.update(f"{file.relative_to(path)}\0".encode())
        if file.is_file():
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def check_after_failure(name: str, folder: Path, before: dict[str, str | None], files: set[str]) -> None:
    """Raise AssertionError unless every target is the old one or a complete new one, and no debris is left."""
    operation = OPERATIONS[name]
    for target in operation.targets:
        if state_of(folder / target) != before[target]:
            check_whole(folder / target)
    allowed = "|".join([operation.allowed, *(rf"{re.escape(target)}(/.*)?" for target in operation.targets)])
    debris = [path for path in paths_in(folder) - files if not re.fullmatch(allowed, path)]
    debris += [path for path in paths_in(folder) if ".new-" in path]
    if debris:
        message = f"left behind: {sorted(debris)}"
        raise AssertionError(message)


def check_whole(path: Path) -> None:
    """Raise an error unless a target is complete: it can be opened, and every checksum is right."""
    if path.suffix == ".json":
        SweepResult.load(path)
    elif path.name == "dataset":
        PreparedLogs.load(path)
    else:
        lt.load(path, verify=True)


def paths_in(folder: Path) -> set[str]:
    """Return all paths in a folder, relative to it."""
    return {os.path.relpath(path, folder) for path in folder.rglob("*")}


def fresh(template: Path, folder: Path) -> tuple[dict[str, str | None], set[str]]:
    """Copy a prepared folder, and return the states of all paths in it and their names."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(template, folder)
    files = paths_in(folder)
    targets = {target for operation in OPERATIONS.values() for target in operation.targets}
    return {target: state_of(folder / target) for target in targets}, files
