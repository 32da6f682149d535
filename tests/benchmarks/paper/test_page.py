"""The committed page, claims and pictures are those that the committed records give."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.paper.figures import available
from benchmarks.paper.page import curve_tables, judge, read_results, section, with_section

ROOT = Path(__file__).resolve().parents[3]
RESULTS = ROOT / "benchmarks" / "results" / "paper"


@pytest.fixture(scope="module")
def results():
    return read_results(RESULTS)


@pytest.fixture(scope="module")
def findings(results):
    return judge(results)


def test_the_page_follows_from_the_records(results, findings):
    page = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
    assert page == with_section(page, section(results, findings)), "run python -m benchmarks.paper --figures-only"


def test_the_claims_follow_from_the_records(findings):
    assert json.loads((RESULTS / "claims.json").read_text()) == [json.loads(json.dumps(f.to_json())) for f in findings]


def test_the_tables_of_curves_follow_from_the_records(results):
    assert (RESULTS / "curves.md").read_text() == curve_tables(
        results.curves, results.runs, results.text, results.scale
    )


def test_the_page_shows_every_figure_that_has_records(results):
    page = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
    for number in range(1, 7):
        name = f"pictures/paper-figure-{number}.svg"
        assert (ROOT / "docs" / name).exists() == (f"]({name})" in page) == (number in available(results))
