"""What all commands share: help, version, errors in one line, exit codes."""

import errno
import logging
import os
import signal
import subprocess
import sys
import time

import click
import pytest

import labeltrees
from labeltrees._settings import settings_of
from labeltrees.cli import options as option_groups
from labeltrees.cli import tree as imbalance_command
from labeltrees.cli.main import cli
from labeltrees.errors import FileFormatError, InputError, LabelTreesError, MissingExtraError

pytestmark = pytest.mark.smoke


def all_commands(command, path=()):
    yield path
    for name in command.list_commands(None) if isinstance(command, click.Group) else ():
        yield from all_commands(command.get_command(None, name), (*path, name))


@pytest.mark.parametrize("path", list(all_commands(cli)), ids=" ".join)
def test_every_command_has_help(run, path):
    result = run(*path, "--help")
    assert result.exit_code == 0
    assert result.stdout.startswith("Usage: labeltrees")
    assert path == ("tree",) or "Example" in result.stdout


def option_names():
    for path in all_commands(cli):
        command = cli
        for name in path:
            command = command.get_command(None, name)
        yield from (parameter.name for parameter in command.params if isinstance(parameter, click.Option))


def test_settings_are_in_a_group_of_the_help_and_every_group_is_used():
    settings = [*settings_of(labeltrees.LabelTreeClassifier), *settings_of(labeltrees.TextLabelTreeClassifier)]
    offered = set(option_names())
    for name in {item.name for item in settings} & offered - {"k"}:
        assert option_groups.group_of(name, {}) != option_groups.OWN_GROUP, name
    known = {*option_groups._GROUP_OF, *option_groups.LOG_GROUPS} - {"help"}
    assert known - {"embeddings"} <= offered


def test_help_shows_groups_within_80_columns(run):
    shown = run("fit", "--help").stdout
    order = [
        "\nOptions:",
        "\nData:",
        "\nFeatures of texts:",
        "\nTree:",
        "\nTraining:",
        "\nSearch:",
        "\nRunning and output:",
    ]
    places = [shown.index(title) for title in order]
    assert places == sorted(places)
    assert max(map(len, shown.split("Examples:")[0].splitlines())) <= 80


def test_version(run):
    assert run("--version").stdout == f"labeltrees {labeltrees.__version__}\n"


@pytest.mark.parametrize(
    ("error", "exit_code", "message"),
    [
        (LabelTreesError("odd"), 1, "odd"),
        (InputError("k must be 1,\ngot 2"), 2, "k must be 1, got 2"),
        (FileFormatError("x.txt: damaged"), 3, "x.txt: damaged"),
        (MissingExtraError("needs more"), 4, "needs more"),
        (PermissionError(13, "Permission denied", "x.txt"), 1, "x.txt: Permission denied"),
        (OSError("strange"), 1, "strange"),
        (MemoryError(), 1, "not enough memory"),
    ],
)
def test_errors_are_one_line_and_an_exit_code(run, monkeypatch, error, exit_code, message):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(imbalance_command, "load_data", fail)
    result = run("--quiet", "imbalance", "anything")
    assert result.exit_code == exit_code
    assert result.stderr == f"Error: {message}\n"
    assert result.stdout == ""


def test_debug_shows_the_traceback_and_keeps_the_exit_code(run):
    result = run("--debug", "imbalance", "missing")
    assert result.exit_code == 2
    assert "Traceback" in result.stderr
    assert result.stderr.endswith("Error: missing: no such file or folder (the bundled data is called debian)\n")


def test_ctrl_c_exits_with_130(run, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(imbalance_command, "load_data", interrupt)
    result = run("-q", "imbalance", "anything")
    assert result.exit_code == 130
    assert result.stderr == "Interrupted.\n"


def open_once_read(pipe):
    """Open a pipe for writing as soon as the other side has it open for reading."""
    for _ in range(600):
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            time.sleep(0.05)
    pytest.fail("nobody reads the pipe")


def test_ctrl_c_from_outside_ends_the_process_with_130(tmp_path):
    pipe = tmp_path / "train.txt"
    os.mkfifo(pipe)  # reading it waits until interrupted
    command = [sys.executable, "-c", "from labeltrees.cli.main import main; main()", "imbalance", str(pipe)]
    # Jobs in the background may ignore SIGINT, and children inherit that.
    answer_interrupts = lambda: signal.signal(signal.SIGINT, signal.default_int_handler)  # noqa: E731
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=answer_interrupts)
    writer = open_once_read(pipe)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=30)
    os.close(writer)
    assert process.returncode == 130
    assert error.endswith("Interrupted.\n")
    assert "Traceback" not in error


def test_wrong_usage_exits_with_2(run):
    result = run("tree", "build")
    assert result.exit_code == 2
    assert "Missing argument 'DATA'" in result.stderr


def test_progress_and_timings_go_to_standard_error(run, data_folder):
    result = run("imbalance", data_folder)
    assert "Reading data" in result.stderr
    assert "Reading data" not in result.stdout
    assert run("--quiet", "imbalance", data_folder).stderr == ""


def test_logging_is_as_before_afterwards(run, data_folder):
    logger = logging.getLogger("labeltrees")
    before = logger.level, list(logger.handlers)
    run("imbalance", data_folder)
    assert (logger.level, logger.handlers) == before
