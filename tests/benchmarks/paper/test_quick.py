"""The quick reproduction, from the command to the pictures: what continuous integration runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.paper import records
from benchmarks.paper.page import BEGIN, CLAIMS, END

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Run the command once. It must not need the shared data."""
    folder = tmp_path_factory.mktemp("paper")
    environment = {**os.environ, "LABELTREES_DATA": str(folder / "nothing")}
    command = [sys.executable, "-W", "error", "-m", "benchmarks.paper", "--quick", "--output", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, env=environment, capture_output=True)
    return folder


@pytest.mark.parametrize("number", range(1, 7))
def test_every_figure_is_an_svg(folder, number):
    root = ElementTree.parse(folder / "pictures" / f"paper-figure-{number}.svg").getroot()
    assert root.tag.endswith("svg")
    assert any(element.tag.endswith("path") for element in root.iter())


def test_every_claim_has_a_verdict(folder):
    findings = json.loads((folder / "claims.json").read_text())
    assert {finding["claim"] for finding in findings} == set(CLAIMS)
    for finding in findings:
        assert finding["verdict"] in ("holds", "fails", "undecided")
        for value, low, high in finding["estimates"].values():
            assert low <= high
            assert low - 1 <= value <= high + 1


def test_the_page_has_the_table(folder):
    page = (folder / "paper.md").read_text()
    table = page.split(BEGIN)[1].split(END)[0]
    assert table.count("quick debian") == 8  # seven claims, and the leaves that a search opens
    assert "undecided" in table
    assert (folder / "claims.md").read_text().count("| quick debian |") == 7


@pytest.mark.parametrize("name", ["runs", "imbalance", "text", "scale"])
def test_records_are_json_lines(folder, name):
    assert records.read(folder / f"{name}.jsonl")
    assert (folder / "curves.md").read_text().startswith("P@1")
