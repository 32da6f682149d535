"""The Python blocks of the README and the guide run, each page by itself; its commands exist."""

from __future__ import annotations

import importlib
import re
import shlex
import socket
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest

import labeltrees as lt
from labeltrees.cli.main import cli
from tests.docs.pages import DOCS, GIVEN, ROOT, blocks_of, extras_of, pages_with_blocks, run_python, shell_lines
from tests.sanitizers import WITH_THREAD_SANITIZER, command_variables

EXTRAS = set(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"])


@pytest.fixture(scope="module")
def bundled() -> Any:
    return lt.datasets.load_debian()


def pages_with_python() -> list[str]:
    return [page for page in pages_with_blocks() if any(block.language == "python" for block in blocks_of(page))]


@pytest.mark.skipif(WITH_THREAD_SANITIZER, reason="ThreadSanitizer takes over 15 minutes for a page")
@pytest.mark.parametrize("page", pages_with_python())
def test_the_python_blocks_of_a_page_run(
    page: str, bundled: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "serve" in extras_of(page):
        for package in ("msgspec", "starlette", "prometheus_client", "httpx2"):
            pytest.importorskip(package, reason="the extra labeltrees[serve] is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(lt.datasets, "load_debian", lambda: bundled)  # read once for all pages
    names = GIVEN[page]() if page in GIVEN else {}
    for block in blocks_of(page):
        if block.language == "python":
            run_python(block, page, names)


def test_the_commands_of_the_worked_page_run(tmp_path: Path) -> None:
    pytest.importorskip("granian", reason="the extra labeltrees[serve] is not installed")
    with socket.socket() as place:
        if place.connect_ex(("127.0.0.1", 8000)) == 0:
            pytest.skip("port 8000 is in use")
    command = [sys.executable, "-m", "tests.docs.pages", "docs/ten-minutes.md"]
    done = subprocess.run(command, cwd=ROOT, env=command_variables(), capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.count("labeltrees") >= 9
    assert done.stdout.count("curl") >= 3


def commands_of(page: str) -> list[str]:
    lines = [line for block in blocks_of(page) for line in shell_lines(block)]
    return [line for line in lines if line.startswith("labeltrees ")]


@pytest.mark.parametrize("page", [page for page in pages_with_blocks() if commands_of(page)])
def test_the_commands_of_a_page_have_these_options(page: str) -> None:
    for line in commands_of(page):
        words = shlex.split(line.partition("|")[0], comments=True)[1:]
        command: click.Command = cli
        while isinstance(command, click.Group):
            found = command.get_command(click.Context(command), words.pop(0))
            assert found is not None, line
            command = found
        options = {name for option in command.params for name in option.opts}
        assert {word for word in words if re.match("--?[a-z]", word)} <= options, line


def test_pages_name_extras_that_exist() -> None:
    assert {extra for page in pages_with_blocks() for extra in extras_of(page)} <= EXTRAS


def test_the_main_pages_have_python_blocks() -> None:
    guide = {f"docs/{page}.md" for page in ("concepts", "choosing", "texts", "logs", "predicting")}
    assert {"README.md"} | guide <= set(pages_with_python())


def test_every_public_name_has_a_place_in_the_reference() -> None:
    shown = set()
    for page in (DOCS / "reference").glob("*.md"):
        shown |= set(
            re.findall(r"^\.\. auto\w+:: labeltrees\.([\w.]+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        )
    modules = {"baselines", "datasets", "metrics"}
    public = set(lt.__all__) - modules - {"encoders", "errors"}
    public |= {f"{name}.{member}" for name in modules for member in getattr(lt, name).__all__}
    assert public <= shown


def test_names_of_the_reference_exist() -> None:
    for page in (DOCS / "reference").glob("*.md"):
        for path in re.findall(r"^\.\. auto\w+:: ([\w.]+)$", page.read_text(encoding="utf-8"), re.MULTILINE):
            module, name = path.rsplit(".", 1)
            assert hasattr(importlib.import_module(module), name), path
