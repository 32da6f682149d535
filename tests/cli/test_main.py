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
from labeltrees.cli import command
from labeltrees.cli import tree as imbalance_command
from labeltrees.cli.main import cli
from labeltrees.errors import FileFormatError, InputError, LabelTreesError, MissingExtraError

pytestmark = pytest.mark.smoke


def all_commands(above, path=()):
    yield path
    for name in above.list_commands(None) if isinstance(above, click.Group) else ():
        yield from all_commands(above.get_command(None, name), (*path, name))


@pytest.mark.parametrize("path", list(all_commands(cli)), ids=" ".join)
def test_every_command_has_help(run, path):
    result = run(*path, "--help")
    assert result.exit_code == 0
    assert result.stdout.startswith("Usage: labeltrees")
    assert path == ("tree",) or "Example" in result.stdout


def commands():
    for path in all_commands(cli):
        found = cli
        for name in path:
            found = found.get_command(None, name)
        if isinstance(found, command.Command):
            yield " ".join(path), found


def test_there_are_at_most_15_commands():
    assert len(cli.list_commands(None)) <= 15


@pytest.mark.parametrize(("name", "found"), list(commands()), ids=lambda own: own if isinstance(own, str) else "")
def test_help_shows_at_most_25_options(run, name, found):
    shown = run(*name.split(), "--help").stdout.split("Examples:")[0]
    assert sum(line.startswith("  -") for line in shown.splitlines()) <= 25
    with_all = run(*name.split(), "--help-all").stdout if "--help-all" in shown else shown
    for option in found.params:
        if isinstance(option, click.Option) and not option.hidden:
            assert option.opts[-1] in with_all
    for setting in found.settable.keys() - {option.name for option in found.params}:
        assert f"\n  {setting} " in with_all


def test_settings_are_in_a_group_of_the_help_and_every_group_is_used():
    offered = {option.name for _, found in commands() for option in found.params if isinstance(option, click.Option)}
    daily = {item.name for item in settings_of(labeltrees.LabelTreeClassifier) if item.metadata["daily"]}
    for name in daily & offered:
        assert command.group_of(name, {}) != command.OWN_GROUP, name
    assert {*command._GROUP_OF, *command.LOG_GROUPS} - {"help"} <= offered


def test_help_shows_groups_within_80_columns(run):
    shown = run("fit", "--help").stdout
    order = ["\nOptions:", "\nData:", "\nFeatures of texts:", "\nTree:", "\nTraining:", "\nRunning and output:"]
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
    arguments = [sys.executable, "-c", "from labeltrees.cli.main import main; main()", "imbalance", str(pipe)]
    # Jobs in the background may ignore SIGINT, and children inherit that.
    answer_interrupts = lambda: signal.signal(signal.SIGINT, signal.default_int_handler)  # noqa: E731
    process = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True, preexec_fn=answer_interrupts)
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
