"""Links lead to files that exist, and files that pages name exist."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s#:]+)(?:#[^)\s]*)?\)")
NAMED_FILE = re.compile(r"`((?:src|tests|docs|scripts|benchmarks|examples)/[\w./-]+)`")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_and_named_files_exist(page: Path) -> None:
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    targets = [page.parent / link for link in LINK.findall(text)] + [ROOT / name for name in NAMED_FILE.findall(text)]
    assert [str(target) for target in targets if not target.exists()] == []


def test_every_page_of_the_guide_is_in_the_navigation() -> None:
    names = [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/reference/*.md")]
    shown = {page for pages in runpy.run_path(str(ROOT / "docs/conf.py"))["NAVIGATION"].values() for page in pages}
    assert {name.relative_to(ROOT).with_suffix("").as_posix() for name in names} <= shown
