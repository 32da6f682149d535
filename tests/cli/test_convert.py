"""labeltrees convert writes parts, and every command takes them as DATA."""

import json

import pytest
from click.testing import CliRunner

import labeltrees as lt
from labeltrees.cli.main import cli
from tests.data.parts.test_parts_dataset import assert_same, random_dataset


@pytest.fixture
def xmc(tmp_path):
    lt.write_xmc(random_dataset(200), tmp_path / "train.txt")
    return tmp_path / "train.txt"


def run(*arguments):
    return CliRunner().invoke(cli, ["-q", *map(str, arguments)])


def test_a_file_becomes_parts(xmc, tmp_path):
    result = run("convert", xmc, "-o", tmp_path / "parts", "--points-per-part", 60, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["n_parts"] == 4
    assert_same(lt.open_parts(tmp_path / "parts"), lt.read_xmc(xmc))


def test_commands_take_parts_as_data(xmc, tmp_path):
    assert run("convert", xmc, "-o", tmp_path / "parts", "--points-per-part", 60).exit_code == 0
    for command in ("imbalance", "baselines"):
        result = run(command, tmp_path / "parts", "--json")
        assert result.exit_code == 0, result.output
    result = run("fit", xmc, "-o", tmp_path / "model", "--jobs", 1)
    assert result.exit_code == 0, result.output
    one, two = (run("predict", tmp_path / "model", data) for data in (xmc, tmp_path / "parts"))
    assert one.exit_code == two.exit_code == 0
    assert one.stdout == two.stdout


def test_names_are_given_to_convert(xmc, tmp_path):
    (tmp_path / "names.txt").write_text("".join(f"label {i}\n" for i in range(12)))
    assert run("convert", xmc, "-o", tmp_path / "parts", "--label-names", tmp_path / "names.txt").exit_code == 0
    assert lt.open_parts(tmp_path / "parts").label_names[3] == "label 3"
    result = run("fit", tmp_path / "parts", "-o", tmp_path / "model", "--label-names", tmp_path / "names.txt")
    assert result.exit_code == 2
    assert "labeltrees convert" in result.output


def test_a_part_of_a_file_is_converted(xmc, tmp_path):
    assert run("convert", xmc, "-o", tmp_path / "parts", "--test-share", 0.25).exit_code == 0
    assert lt.open_parts(tmp_path / "parts").n_points == 150
