"""The Python blocks of the README and the guide run, each page by itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import labeltrees as lt

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TEXTS = ["how to keep bread fresh", "fry an egg in a pan", "bread in a pan", "boil an egg"] * 5
LABELS = [["bread"], ["egg", "pan"], ["bread", "pan"], ["egg"]] * 5


def texts_and_a_file() -> dict[str, Any]:
    lines = [
        " ".join([f"__label__{name}" for name in names] + [text]) for text, names in zip(TEXTS, LABELS, strict=True)
    ]
    Path("train.txt").write_text("\n".join(lines) + "\n")
    return {"texts": TEXTS, "labels": LABELS}


def a_log() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    queries, products = rng.integers(30, size=2000), rng.integers(12, size=2000)
    events = {
        "query": [f"red word{query}" for query in queries],
        "product": [f"item {product}" for product in products],
    }
    pl.DataFrame(events).write_parquet("clicks.parquet")
    Path("events").mkdir()
    pl.DataFrame(events).write_parquet("events/1.parquet")
    return {}


def articles() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    names = ["EDWARDIAN PARASOL PINK", "PINK POLKADOT GARDEN PARASOL", *(f"BAG {i}" for i in range(10))]
    bought = rng.integers(len(names), size=1000)
    customers = rng.integers(20, size=250)
    events = {
        "CustomerID": [f"customer {customer}" for customer in customers.repeat(4)],
        "InvoiceNo": [f"invoice {i}" for i in np.arange(250).repeat(4)],
        "StockCode": [f"{10000 + item}" for item in bought],
        "Description": [names[item] for item in bought],
        "Quantity": rng.integers(2, 9, size=1000),
        "InvoiceDate": [f"2011-{10 + i // 100:02d}-{1 + i // 10 % 10 * 2:02d}" for i in np.arange(250).repeat(4)],
    }
    return {"lt": lt, "articles": pl.DataFrame(events)}


def a_model() -> dict[str, Any]:
    lt.LabelTreeClassifier().fit(TEXTS, LABELS).save("questions.model")
    return {}


def the_server() -> dict[str, Any]:
    for package in ("msgspec", "prometheus_client", "httpx"):
        pytest.importorskip(package, reason="the extra labeltrees[serve] is not installed")
    return {}


# The names and files that a page assumes to exist.
GIVEN: dict[str, Callable[[], dict[str, Any]]] = {
    "docs/text-model.md": texts_and_a_file,
    "docs/logs.md": a_log,
    "docs/server.md": the_server,
    "docs/examples/online-shop.md": articles,
    "docs/examples/short-texts.md": a_model,
}


@pytest.fixture(scope="module")
def bundled() -> Any:
    return lt.datasets.load_debian()


def pages_with_python() -> list[str]:
    pages = [ROOT / "README.md", *(path for path in DOCS.rglob("*.md") if "decisions" not in path.parts)]
    return sorted(page.relative_to(ROOT).as_posix() for page in pages if BLOCK.search(page.read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", pages_with_python())
def test_the_python_blocks_of_a_page_run(
    page: str, bundled: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(lt.datasets, "load_debian", lambda: bundled)  # read once for all pages
    names = GIVEN[page]() if page in GIVEN else {}
    text = (ROOT / page).read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        line = text.count("\n", 0, found.start(1))
        exec(compile("\n" * line + found[1], page, "exec"), names)  # an error shows the line number of the page


def test_the_main_pages_have_python_blocks() -> None:
    guide = {f"docs/{page}.md" for page in ("index", "concepts", "choosing", "texts", "serving")}
    assert {"README.md"} | guide <= set(pages_with_python())


def test_every_public_name_has_a_place_in_the_reference() -> None:
    shown = set()
    for page in (DOCS / "reference").glob("*.md"):
        shown |= set(re.findall(r"^::: labeltrees\.([\w.]+)$", page.read_text(encoding="utf-8"), re.MULTILINE))
    modules = {"baselines", "datasets", "metrics"}
    public = set(lt.__all__) - modules
    public |= {f"{name}.{member}" for name in modules for member in getattr(lt, name).__all__}
    assert public <= shown
