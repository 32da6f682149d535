"""The blocks of the README and the guide: what they are, what they assume, and how to run them.

``python -m tests.docs.pages PAGE`` runs the Python and shell blocks of a page in order, in an empty folder, with the
labeltrees that is installed. `scripts/check_blocks.py` does it for every page with the extras that the page names.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_EXTRAS = re.compile(r"labeltrees\[([a-z,]+)\]|extras? `([a-z]+)`")
_SERVER = "http://127.0.0.1:8000"

# The first words of shell lines that are not run, with the reason.
NOT_RUN = {
    "make": "other checks run the Makefile",
    "pip": "the environment has the packages that the page names",
    "docker": "needs Docker",
    "python": "programs of the repository, with data that is not in it",
    "omikuji": "another library",
}
_NOT_RUN_OPTIONS = {"tcp://": "needs a cluster"}

TEXTS = ["how to keep bread fresh", "fry an egg in a pan", "bread in a pan", "boil an egg"] * 5
LABELS = [["bread"], ["egg", "pan"], ["bread", "pan"], ["egg"]] * 5


class Block(NamedTuple):
    """A block of a page: its language as written ("" for none), its code, and the line before its code."""

    language: str
    code: str
    line: int


def blocks_of(page: str) -> list[Block]:
    """Return the blocks of a page, given by its path from the root of the repository."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return [Block(found[1], found[2], text.count("\n", 0, found.start(2))) for found in _BLOCK.finditer(text)]


def shell_lines(block: Block) -> list[str]:
    """Return the commands of a block; none if it is not a block of commands."""
    lines = [line for line in block.code.replace("\\\n", " ").splitlines() if line.strip()]
    first_words = {line.split()[0] for line in lines}
    is_shell = block.language in ("", "bash") and first_words <= {"labeltrees", "curl", *NOT_RUN}
    return lines if is_shell else []


def extras_of(page: str) -> list[str]:
    """Return the extras that a page names."""
    found = _EXTRAS.findall((ROOT / page).read_text(encoding="utf-8"))
    return sorted({extra for names in found for extra in (names[0] or names[1]).split(",")})


def pages_with_blocks() -> list[str]:
    """Return the pages that have a block to run."""
    pages = [ROOT / "README.md", *(path for path in DOCS.rglob("*.md") if "decisions" not in path.parts)]
    names = sorted(page.relative_to(ROOT).as_posix() for page in pages)
    return [
        name for name in names if any(block.language == "python" or shell_lines(block) for block in blocks_of(name))
    ]


def _texts_and_a_file() -> dict[str, Any]:
    lines = [
        " ".join([*(f"__label__{name}" for name in names), text]) for text, names in zip(TEXTS, LABELS, strict=True)
    ]
    Path("train.txt").write_text("\n".join(lines) + "\n")
    return {"texts": TEXTS, "labels": LABELS, **_questions()}


def _questions() -> dict[str, Any]:
    with Path("questions.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["title", "body", "tags"])
        writer.writerows([text, "in short", ",".join(names)] for text, names in zip(TEXTS * 5, LABELS * 5, strict=True))
    with Path("new.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["title", "body"], *([text, "in short"] for text in TEXTS[:4])])
    records = [{"title": text, "body": "in short"} for text in TEXTS[:4]]
    Path("new.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return {}


def _titles() -> dict[str, Any]:
    lines = [
        "\t".join([text, " ".join(f"<{name}>" for name in names)]) for text, names in zip(TEXTS, LABELS, strict=True)
    ]
    Path("titles.tsv").write_text("\n".join(lines * 5) + "\n")
    return {}


def _subjects() -> dict[str, Any]:
    lines = [
        f"about {name}, number {i}\t<http://example.org/{name}>\n" for i in range(20) for name in ("tea", "gardens")
    ]
    for name in ("train.tsv", "test.tsv"):
        Path(name).write_text("".join(lines))
    Path("document.txt").write_text("a book about tea")
    concepts = [
        f'<http://example.org/{name}> a skos:Concept ; skos:prefLabel "{name}"@en .' for name in ("tea", "gardens")
    ]
    prefix = "@prefix skos: <http://www.w3.org/2004/02/skos/core#> ."
    Path("vocabulary.ttl").write_text("\n".join([prefix, *concepts]) + "\n")
    return {}


def _xmc_files() -> dict[str, Any]:
    import gzip

    import labeltrees as lt

    for name, data in zip(("train.txt", "test.txt"), lt.datasets.load_debian(), strict=True):
        lt.write_xmc(data, name)
    Path("train.txt.gz").write_bytes(gzip.compress(Path("train.txt").read_bytes(), 1))
    return {}


def _a_log() -> dict[str, Any]:
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(0)
    queries, products = rng.integers(30, size=2000), rng.integers(12, size=2000)
    events = {
        "query": [f"red word{query}" for query in queries],
        "product": [f"item {product}" for product in products],
    }
    pl.DataFrame(events).write_parquet("clicks.parquet")
    Path("events").mkdir()
    pl.DataFrame(events).write_parquet("events/1.parquet")
    baskets = {"basket": queries, "article": products}
    pl.DataFrame(baskets).write_csv("baskets.csv")
    articles = rng.integers(24, size=2000)
    colours, things = ["red", "blue", "green"], ["enamel mug", "tea towel", "lunch bag", "paper lantern"]
    names = [f"{colours[article % 3]} {things[article % 4]}" for article in articles]
    sales = {"invoice": rng.integers(300, size=2000), "article": articles, "name": names}
    pl.DataFrame(sales).write_csv("sales.csv")
    Path("new-queries.csv").write_text("query\nred word3\nred word7\n")
    return {}


def _articles() -> dict[str, Any]:
    import numpy as np
    import polars as pl

    import labeltrees as lt

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


def _all_of(*makers: Callable[[], dict[str, Any]]) -> Callable[[], dict[str, Any]]:
    return lambda: {name: value for make in makers for name, value in make().items()}


# The names and files that a page assumes to exist.
GIVEN: dict[str, Callable[[], dict[str, Any]]] = {
    "README.md": _questions,
    "docs/cluster.md": _xmc_files,
    "docs/coming-from-text-tools.md": _subjects,
    "docs/coming-from-tree-libraries.md": _xmc_files,
    "docs/logs.md": _a_log,
    "docs/online-shop.md": _articles,
    "docs/text-model.md": _texts_and_a_file,
    "docs/texts.md": _all_of(_questions, _titles),
}


def run_python(block: Block, page: str, names: dict[str, Any]) -> None:
    """Run a Python block; an error shows the line of the page."""
    exec(compile("\n" * block.line + block.code, page, "exec"), names)


@contextlib.contextmanager
def _server(command: str) -> Iterator[None]:
    process = subprocess.Popen(["/bin/sh", "-c", f"exec {command}"])
    try:
        for _ in range(300):
            with contextlib.suppress(OSError), urllib.request.urlopen(f"{_SERVER}/ready", timeout=2):
                break
            time.sleep(0.2)
        yield
    finally:
        process.terminate()
        process.wait(30)


def _run_line(line: str, servers: contextlib.ExitStack) -> None:
    words = line.split()
    reasons = [reason for text, reason in _NOT_RUN_OPTIONS.items() if text in line]
    reason = NOT_RUN.get(words[0]) or (reasons[0] if reasons else "")
    missing = [
        word
        for word in words[1:]
        if re.fullmatch(r"(shop|library)\.model|.*=library\.model|events\.csv\.xz|NEW-DATA", word)
    ]
    if missing:
        reason = f"{missing[0]} is the reader's own"
    if reason:
        print(f"    not run: {line} ({reason})", flush=True)
    elif words[:2] == ["labeltrees", "serve"]:
        servers.enter_context(_server(line.partition("#")[0]))
    else:
        print(f"    {line}", flush=True)
        # A preloaded sanitizer makes curl hang.
        line = line.replace("curl ", "LD_PRELOAD= curl --silent --show-error --fail ")
        done = subprocess.run(["/bin/sh", "-c", line], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(done.stderr or f"exit code {done.returncode}")


def run_page(page: str) -> None:
    """Run the blocks of a page in the current folder."""
    names = GIVEN[page]() if page in GIVEN else {}
    with contextlib.ExitStack() as servers:
        for block in blocks_of(page):
            if block.language == "python":
                print(f"    Python block of line {block.line}", flush=True)
                with contextlib.redirect_stdout(None):
                    run_python(block, page, names)
            for line in shell_lines(block):
                _run_line(line, servers)


if __name__ == "__main__":
    # The command labeltrees of this interpreter, not of another one on the path.
    os.environ["PATH"] = str(Path(sys.executable).parent) + os.pathsep + os.environ.get("PATH", "")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        run_page(sys.argv[1])
