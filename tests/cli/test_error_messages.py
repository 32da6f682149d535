"""Messages of the library name options, not Python parameters."""

import pytest

from labeltrees.cli.error_messages import name_options, one_line
from labeltrees.cli.main import cli
from labeltrees.errors import InputError


@pytest.mark.parametrize(
    ("command", "message", "expected"),
    [
        (
            "choose",
            "max_precision_loss must be a number in [0, 1], got 2",
            "--max-precision-loss must be a number in [0, 1], got 2",
        ),
        ("choose", "no setting meets max_latency_us=50: ...", "no setting meets --max-latency-us 50: ..."),
        ("choose", "validation=0.5 holds out 0 of 1 points", "--validation 0.5 holds out 0 of 1 points"),
        ("choose", "k must be an integer of at least 1, got 0", "-k must be an integer of at least 1, got 0"),
        ("fit", "n_jobs must be a non-zero integer or None, got 0", "--jobs must be a non-zero integer, got 0"),
        ("fit", "C must be a number, got -1", "--C must be a number, got -1"),
        ("fit", "loss of 'n_jobs' in the file path/n_jobs.txt", "loss of 'n_jobs' in the file path/n_jobs.txt"),
        (
            "predict",
            "candidates cannot be combined with agreement, which is about all labels",
            "--candidates cannot be combined with --agreement, which is about all labels",
        ),
        (
            "predict",
            "agreement needs a calibrated model: call calibrate(X) on points the model has not seen",
            "--agreement needs a calibrated model: run labeltrees calibrate MODEL DATA on points that the model "
            "has not seen",
        ),
        ("tree", "leaf_size must be an integer, got 0", "--leaf-size must be an integer, got 0"),
        ("predict", "the tree must be binary", "the tree must be binary"),
        ("logs", "use features='basket' or time='COLUMN'", "use --features basket or --time COLUMN"),
    ],
)
def test_parameters_become_options_of_the_command(command, message, expected):
    assert name_options(message, cli.get_command(None, command)) == expected


def test_a_message_is_one_line():
    assert one_line(InputError("several\n  lines"), None) == "several lines"
    assert one_line(FileNotFoundError(2, "No such file or directory", "x.txt"), None) == (
        "x.txt: No such file or directory"
    )
    assert one_line(MemoryError(), None) == "not enough memory"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("fit", "debian", "-o", "OUT", "--max-iter", "0"), "--max-iter must be an integer of at least 1, got 0"),
        (("fit", "debian", "-o", "OUT", "--seed", "-1"), "--seed must be an integer"),
        (("sweep", "debian", "--tradeoffs", "3"), "--tradeoffs must be a number in [0, 2], got 3.0"),
        (("tree", "build", "debian", "-o", "OUT", "--leaf-size", "0"), "--leaf-size must be an integer"),
    ],
)
def test_commands_name_their_options(run, tmp_path, arguments, expected):
    result = run("-q", *(str(tmp_path / "out") if part == "OUT" else part for part in arguments))
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: {expected}")
