"""The walks of ARCHITECTURE.md name files and functions that exist, at most 12 files each."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
HOUR = PAGE.split("## The code in one hour")[1].split("\n## ")[0]
WALKS = {title: text for title, text in re.findall(r"### (.+)\n\n((?:\d+\..*\n(?:   .*\n)*)+)", HOUR)}
SHOWN = ["`fit`", "`predict_topk`", "`choose`", "`logs prepare`", "One HTTP request"]


def file_of(name):
    return ROOT / (name if name.startswith("src/") else f"src/labeltrees/{name}")


def test_every_walk_is_there():
    assert list(WALKS) == SHOWN


@pytest.mark.parametrize("title", SHOWN)
def test_a_walk_names_at_most_12_files_that_exist(title):
    files = set(re.findall(r"`([\w/]+\.(?:py|cpp|hpp|inl))`", WALKS[title]))
    assert 0 < len(files) <= 12
    assert [name for name in files if not file_of(name).exists()] == []


@pytest.mark.parametrize("title", SHOWN)
def test_the_names_of_a_walk_are_defined_in_their_files(title):
    steps = re.findall(r"`([\w/]+\.py)` `(\w+)`", WALKS[title])
    assert steps
    for file, name in steps:
        assert re.search(rf"^\s*(?:async )?(?:def|class) {name}\b", file_of(file).read_text(), re.M), (file, name)


def test_the_table_of_edits_is_short_and_names_files_that_exist():
    table = PAGE.split("## To add ..., edit ...")[1].split("\n## ")[0]
    rows = [row for row in table.splitlines() if row.startswith("| ") and "---" not in row][1:]
    assert len(rows) <= 15
    files = re.findall(r"`((?:src/core|[a-z]+)/[\w/]+\.(?:py|cpp|hpp|inl|cmake))`", table)
    missing = [name for name in files if not file_of(name).exists() and not (ROOT / name).exists()]
    assert missing == []
