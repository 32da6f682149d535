"""Messages of the library name options, not Python parameters."""

import errno
import os
import re
import shutil

import click
import pytest

from labeltrees.cli.errors import _option_names, name_options, one_line
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
        ("fit", "C must be a number, got -1", "--C must be a number, got -1"),
        ("fit", "loss of 'n_jobs' in the file path/n_jobs.txt", "loss of 'n_jobs' in the file path/n_jobs.txt"),
        (
            "predict",
            "candidates cannot be combined with agreement, which is about all labels",
            "--candidates cannot be combined with --agreement, which is about all labels",
        ),
        ("tree", "leaf_size must be an integer, got 0", "--leaf-size must be an integer, got 0"),
        ("predict", "the tree must be binary", "the tree must be binary"),
        ("logs", "use features='basket' or time='COLUMN'", "use --features basket or --time COLUMN"),
    ],
)
def test_parameters_become_options_of_the_command(command, message, expected):
    assert name_options(message, dict(_option_names(cli.get_command(None, command)))) == expected


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


@pytest.mark.parametrize(
    ("arguments", "exit_code", "expected"),
    [
        (
            ("predict", "missing", "debian"),
            2,
            "missing: no such model; labeltrees fit, fit-text and choose",
        ),
        (("inspect", "FILE"), 2, "FILE: is a file, not the folder of a model"),
        (("inspect", "FOLDER"), 3, "FOLDER: not a saved model: the folder has no manifest.json"),
        (("fit", "ONE-LETTER", "-o", "OUT"), 2, "the texts have no words to learn from: words of one letter"),
        (("choose", "ONE-TEXT", "-o", "OUT"), 2, "too few texts to learn words from: --min-df of labeltrees fit"),
        (("fit", "NO-FIELD", "-o", "OUT"), 3, "name the fields with --text FIELD and --labels FIELD"),
        (("fit", "CSV", "-o", "OUT"), 3, "name the columns with --text COLUMN and --labels COLUMN"),
        (("fit", "FILE", "-o", "OUT"), 3, "for a file with one text per line: --data-format fasttext"),
        (("fit", "debian", "-o", "none/OUT"), 2, "none/OUT: its folder does not exist; to make it: mkdir -p none"),
        (("fit", "debian", "-o", "OUT", "--seed", "-3"), 2, "--seed must be an integer of at least 0, got -3"),
        (
            ("fit", "debian", "-o", "OUT", "--smoothing", "-1"),
            2,
            "--smoothing must be a number of at least 0, got",
        ),
        (("baselines", "debian", "-k", "0"), 2, "-k must be an integer in [1, 10000], got 0"),
        (
            ("predict", "MODEL", "DATA", "--beam", "9" * 20),
            2,
            "--beam must be a smaller integer, got 9999999999999",
        ),
        (("predict", "MODEL", "DATA", "--agreement", "0.9"), 2, "run labeltrees calibrate MODEL DATA on points"),
        (("convert", "BIN", "-o", "OUT"), 3, "BIN: not a fastText model"),
    ],
)
def test_errors_name_what_to_type_next(run, tmp_path, model_folder, data_folder, arguments, exit_code, expected):
    places = {"MODEL": model_folder, "DATA": data_folder, "OUT": tmp_path / "out", "none/OUT": "none/OUT"}
    files = {
        "FILE": "several words\n",
        "ONE-LETTER": '{"text": "a b", "labels": ["x"]}\n',
        "ONE-TEXT": '{"text": "some words", "labels": ["x"]}\n',
        "NO-FIELD": '{"body": "some words", "labels": ["x"]}\n',
        "CSV": "title,tags\nsome words,x\n",
        "BIN": "several words\n",
    }
    for name, text in files.items():
        places[name] = tmp_path / (name + {"CSV": ".csv", "FILE": ".txt", "BIN": ".bin"}.get(name, ".jsonl"))
        places[name].write_text(text)
    places["FOLDER"] = tmp_path / "folder"
    places["FOLDER"].mkdir()
    result = run("-q", *(places.get(part, part) for part in arguments))
    assert result.exit_code == exit_code
    for name in ("BIN", "FILE", "FOLDER", "MODEL"):
        expected = re.sub(rf"\b{name}\b", str(places[name]), expected)
    assert expected in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_damaged_model_leads_to_verify_and_then_to_a_copy(run, tmp_path, model_folder, data_folder):
    damaged = shutil.copytree(model_folder, tmp_path / "model")
    chunks = damaged / "tree0.chunks.npy"
    content = bytearray(chunks.read_bytes())
    content[200:] = bytes(byte ^ 0x5A for byte in content[200:])
    chunks.write_bytes(content)
    result = run("-q", "predict", damaged, data_folder)
    assert result.exit_code == 3
    assert "chunk of node" in result.stderr
    assert result.stderr.endswith(f"; to check all files of the model: labeltrees inspect {damaged} --verify\n")
    result = run("-q", "inspect", damaged, "--verify")
    assert result.stderr.endswith("; restore the model from a copy, or train it again\n")


def test_a_full_disk_names_the_output():
    error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    expected = "products.model: No space left on device; free some space, or write elsewhere"
    assert one_line(error, None, {"output": "products.model"}) == expected


def test_a_mistyped_command_gets_similar_ones(run):
    result = run("fitt", "debian")
    assert result.exit_code == 2
    assert "No such command 'fitt'. Did you mean fit or fit-text?" in result.stderr


def test_no_message_of_the_library_keeps_a_parameter_that_is_an_option(run):
    """Every setting of the classes that commands offer becomes an option in the form all checks use."""
    for name in ("fit", "fit-text", "predict", "choose", "sweep"):
        command = cli.get_command(None, name)
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                said = name_options(f"{parameter.name} must be this, got that", dict(_option_names(command)))
                assert said.startswith("-"), (name, parameter.name)
