"""Links lead to the same files on the site as in the repository, and files that pages name exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts.docs_links import adapt_links

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s#:]+)(?:#[^)\s]*)?\)")
NAMED_FILE = re.compile(r"`((?:src|tests|docs|scripts|benchmarks|examples)/[\w./-]+)`")

SITE = {"format.md", "decisions/0002-two-starts.md", "benchmarks/README.md", "benchmarks/results/labels.md"}


@pytest.mark.parametrize(
    ("source", "at", "link", "expected"),
    [
        ("docs/index.md", "index.md", "[a](format.md)", "[a](format.md)"),
        ("docs/index.md", "index.md", "[a](../benchmarks/README.md#results)", "[a](benchmarks/README.md#results)"),
        ("docs/coming-from/x.md", "coming-from/x.md", "[a](../format.md)", "[a](../format.md)"),
        ("benchmarks/README.md", "benchmarks/README.md", "[a](results/labels.md)", "[a](results/labels.md)"),
        ("benchmarks/README.md", "benchmarks/README.md", "[a](../docs/format.md)", "[a](../format.md)"),
        ("benchmarks/results/paper.md", "paper.md", "![a](labels.md)", "![a](benchmarks/results/labels.md)"),
        ("docs/index.md", "index.md", "[the tests](../tests/conftest.py)", "the tests (`tests/conftest.py`)"),
        ("docs/index.md", "index.md", "[conftest.py](../tests/conftest.py)", "`tests/conftest.py`"),
        ("docs/index.md", "index.md", "[a](nowhere.md)", "[a](nowhere.md)"),
        ("docs/index.md", "index.md", "[a](https://example.org) [b](#c)", "[a](https://example.org) [b](#c)"),
        ("docs/index.md", "index.md", "```\n[a](../README.md)\n```\n", "```\n[a](../README.md)\n```\n"),
    ],
)
def test_links_are_adapted_to_the_site(source: str, at: str, link: str, expected: str) -> None:
    assert adapt_links(link, source, at, SITE) == expected


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_and_named_files_exist(page: Path) -> None:
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    targets = [page.parent / link for link in LINK.findall(text)] + [ROOT / name for name in NAMED_FILE.findall(text)]
    assert [str(target) for target in targets if not target.exists()] == []
