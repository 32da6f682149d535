"""labeltrees imbalance."""

import json
import sys

import pytest

from labeltrees import imbalance
from labeltrees.data.read_data import load_data


def test_the_table_shows_the_curve(run, data_folder):
    output = run("imbalance", data_folder).stdout
    result = imbalance(load_data(str(data_folder)).Y)
    assert f"39 labels on {result.n_points} points" in output
    assert f"serve {100 * result.top_percent:.1f} % of the points" in output
    rows = output.strip().splitlines()[-len(result.q) :]
    assert [int(row.split()[0]) for row in rows] == result.q.tolist()
    assert rows[-1].endswith("█" * 20)


def test_json_is_the_librarys_table(run, data_folder):
    record = json.loads(run("imbalance", data_folder, "--json").stdout)
    assert record["curve"] == imbalance(load_data(str(data_folder)).Y).table()
    assert record["n_labels"] == 39


@pytest.mark.parametrize(("ending", "magic"), [("png", b"\x89PNG"), ("svg", b"<svg"), ("pdf", b"%PDF")])
def test_the_plot_is_drawn_the_same_every_time(run, data_folder, tmp_path, ending, magic):
    pytest.importorskip("altair")
    files = [tmp_path / f"{name}.{ending}" for name in "ab"]
    for file in files:
        assert run("imbalance", data_folder, "--plot", file).exit_code == 0
    first, second = (file.read_bytes() for file in files)
    assert first.startswith(magic)
    assert ending == "pdf" or first == second  # a PDF numbers its parts anew each time


def test_an_unknown_form_of_plot_is_refused(run, data_folder, tmp_path):
    result = run("imbalance", data_folder, "--plot", tmp_path / "plot.xls")
    assert result.exit_code == 2
    assert "--plot must end in one of .png, .svg, .pdf" in result.stderr


def test_without_the_library_the_error_names_the_extra(run, data_folder, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    result = run("imbalance", data_folder, "--plot", tmp_path / "plot.png")
    assert result.exit_code == 4
    assert "pip install labeltrees[plots]" in result.stderr
