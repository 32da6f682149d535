"""Messages of the library name options, not Python parameters."""

import errno
import os
import re
import shutil

import click
import pytest

from labeltrees.cli.errors import one_line
from labeltrees.cli.main import cli
from labeltrees.errors import InputError, LabelTreesError, Parameter, Phrase
from tests.cli.conftest import sets


@pytest.mark.parametrize(
    ("command", "error", "expected"),
    [
        (
            "choose",
            InputError.of_value("max_precision_loss", "a number in [0, 1]", 2),
            "--max-precision-loss must be a number in [0, 1], got 2",
        ),
        (
            "choose",
            InputError.of_value("k", "an integer of at least 1", 0),
            "-k must be an integer of at least 1, got 0",
        ),
        (
            "choose",
            LabelTreesError("no setting meets {}: ...", Parameter("max_latency_us", 50.0)),
            "no setting meets --max-latency-us 50: ...",
        ),
        (
            "fit",
            InputError.of_value("n_jobs", "a non-zero integer", 0, Phrase.OR_NONE),
            "--jobs must be a non-zero integer, got 0",
        ),
        ("fit", InputError.of_value("eps", "a number above 0", -1), "--set eps must be a number above 0, got -1"),
        ("fit", InputError("use {}", Parameter("smooth_idf", "true")), "use --set smooth_idf=true"),
        ("fit", InputError("n_jobs in a file is not an option"), "n_jobs in a file is not an option"),
        (
            "predict",
            InputError("{} cannot be combined with {}", Parameter("candidates"), Parameter("agreement")),
            "--candidates cannot be combined with --agreement",
        ),
        (
            "predict",
            InputError("{} needs a calibrated model: {}", Parameter("agreement"), Phrase.CALIBRATE),
            "--agreement needs a calibrated model: run labeltrees calibrate MODEL DATA on points that the model has "
            "not seen",
        ),
        ("tree", InputError.of_value("leaf_size", "an integer", 0.5), "--set leaf_size must be an integer, got 0.5"),
        (
            "logs",
            InputError("use {} or {}", Parameter("features", "basket"), Parameter("time", "COLUMN")),
            "use --features basket or --time COLUMN",
        ),
        (
            "fit",
            InputError("of an error: {}", InputError("{} is wrong", Parameter("tradeoff"))),
            "of an error: --tradeoff is wrong",
        ),
    ],
)
def test_parameters_become_options_of_the_command(command, error, expected):
    assert one_line(error, cli.get_command(None, command)) == expected


def test_the_command_line_has_words_for_every_phrase():
    for phrase in Phrase:
        error = InputError(phrase, next_step=phrase, about=("context",))
        assert "{" not in one_line(error, cli.get_command(None, "logs"), {"model_folder": "m"})


def test_a_message_is_one_line():
    assert one_line(InputError("several\n  lines"), None) == "several lines"
    assert one_line(FileNotFoundError(2, "No such file or directory", "x.txt"), None) == (
        "x.txt: No such file or directory"
    )
    assert one_line(MemoryError(), None) == "not enough memory"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ("fit", "debian", "-o", "OUT", *sets(max_iter=0)),
            "--set max_iter must be an integer of at least 1, got 0",
        ),
        (("fit", "debian", "-o", "OUT", "--seed", "-1"), "--seed must be an integer"),
        (("sweep", "debian", "--tradeoffs", "3"), "--tradeoffs must be a number in [0, 2], got 3.0"),
        (("tree", "build", "debian", "-o", "OUT", *sets(leaf_size=0)), "--set leaf_size must be an integer"),
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
            "missing: no such model; labeltrees fit and choose",
        ),
        (("inspect", "FILE"), 2, "FILE: is a file, not the folder of a model"),
        (("inspect", "FOLDER"), 3, "FOLDER: not a saved model: the folder has no manifest.json"),
        (("fit", "ONE-LETTER", "-o", "OUT"), 2, "the texts have no words to learn from: words of one letter"),
        (
            ("choose", "ONE-TEXT", "-o", "OUT"),
            2,
            "too few texts to learn words from: the setting min_df of labeltrees fit",
        ),
        (("fit", "NO-FIELD", "-o", "OUT"), 3, "name the fields with --text FIELD and --labels FIELD"),
        (("fit", "CSV", "-o", "OUT"), 3, "name the columns with --text COLUMN and --labels COLUMN"),
        (("fit", "FILE", "-o", "OUT"), 3, "for a file with one text per line: --data-format fasttext"),
        (("fit", "debian", "-o", "none/OUT"), 2, "none/OUT: its folder does not exist; to make it: mkdir -p none"),
        (("fit", "debian", "-o", "OUT", "--seed", "-3"), 2, "--seed must be an integer of at least 0, got -3"),
        (
            ("fit", "debian", "-o", "OUT", *sets(smoothing=-1)),
            2,
            "--set smoothing must be a number of at least 0, got",
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
    assert "No such command 'fitt'. Did you mean fit?" in result.stderr


def test_every_setting_that_a_command_takes_is_named_as_it_is_typed():
    for name in ("fit", "predict", "choose", "sweep"):
        command = cli.get_command(None, name)
        for parameter in [*command.settable, *(own.name for own in command.params if isinstance(own, click.Option))]:
            error = InputError.of_value(parameter, "this", "that")
            assert one_line(error, command).startswith("-"), (name, parameter)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("fit-text", "train.txt", "-o", "m"), "labeltrees fit --model text"),
        (("profile", "m", "debian"), "labeltrees inspect MODEL --searches DATA"),
        (("export-fasttext", "m", "m.bin"), "labeltrees convert MODEL -o FILE.bin"),
        (("completion", "bash"), "labeltrees --completion SHELL"),
        (("fit", "debian", "-o", "m", "--cover", "greedy"), "--set cover=VALUE"),
        (("fit", "debian", "-o", "m", "--no-normalize"), "--set normalize=false"),
        (("sweep", "debian", "--repeats", "3"), "leave it out"),
    ],
)
def test_gone_commands_and_options_name_the_new_way(run, arguments, expected):
    result = run(*arguments)
    assert result.exit_code == 2
    assert expected in result.stderr


def test_names_of_files_do_not_become_commands_of_a_terminal(run, tmp_path):
    result = run("inspect", str(tmp_path / "none\x1b[31m.model"))
    assert "none\N{REPLACEMENT CHARACTER}[31m.model" in result.stderr
