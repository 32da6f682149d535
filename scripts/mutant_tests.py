"""Run tests in a fork of this process, which has imported the libraries already, and find the tests of a line."""

from __future__ import annotations

import contextlib
import functools
import gc
import hashlib
import importlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from mutant_list import GUARDED, ROOT, Mutant

# Importing these takes longer than most tests.
for library in ("hypothesis", "polars", "pandas", "scipy.stats", "sklearn.feature_extraction.text", "joblib"):
    with contextlib.suppress(ImportError):
        importlib.import_module(library)

SOURCES = ROOT / "src" / "labeltrees"
LOG = ROOT / "build" / "mutants.log"  # what pytest printed last
TOO_LATE = 99  # instead of an exit code of pytest


def run_tests(tests: tuple[str, ...], seconds: float, plugin: object = None) -> int:
    """Return the exit code of pytest, or TOO_LATE if it took too long."""
    gc.freeze()  # a collection in the fork leaves alone what was imported here
    child = os.fork()
    if child == 0:
        _run_in_child(tests, plugin)
    deadline = time.monotonic() + seconds
    while True:
        is_late = time.monotonic() > deadline
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if is_late:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return TOO_LATE
        time.sleep(0.02)


def _run_in_child(tests: tuple[str, ...], plugin: object) -> None:
    code = 1
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        log = os.open(LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.chdir(ROOT)
        os.environ["PYTHONPATH"] = str(SOURCES.parent)
        sys.path.insert(0, str(SOURCES.parent))
        imported = "ignore::pytest.PytestAssertRewriteWarning"  # hypothesis is imported already
        arguments = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:anyio", "-W", imported, *tests]
        code = int(pytest.main(arguments, plugins=[plugin] if plugin else None))
    finally:
        os._exit(code)


class LinesByTest:
    """A plugin of pytest that writes, for each test, its time and the lines of one file that it reaches."""

    def __init__(self, source: Path, output: Path) -> None:
        self.source = str(source)
        self.output = output
        self.lines: set[int] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Run one test."""
        self.lines = set()
        began = time.perf_counter()
        sys.settrace(self._trace)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            record = [item.nodeid, time.perf_counter() - began, sorted(self.lines)]
            with self.output.open("a") as file:
                file.write(json.dumps(record) + "\n")

    def _trace(self, frame: FrameType, _event: str, _argument: Any) -> Callable[..., Any] | None:
        return self._line if frame.f_code.co_filename == self.source else None

    def _line(self, frame: FrameType, _event: str, _argument: Any) -> Callable[..., Any]:
        self.lines.add(frame.f_lineno)
        return self._line


@functools.cache
def _lines_by_test(guarded: str) -> list[tuple[str, float, list[int]]]:
    """Return test, seconds and lines for the tests of a file, the fastest first; end if they fail without a change."""
    output = ROOT / "build" / "lines" / f"{_digest(guarded)}.jsonl"  # kept for the next run
    if not output.exists():
        output.parent.mkdir(parents=True, exist_ok=True)
        new = output.with_suffix(".new")
        new.write_text("")
        if run_tests(GUARDED[guarded], 1200, LinesByTest(SOURCES / guarded, new)) != 0:
            sys.exit(f"{', '.join(GUARDED[guarded])}: fail without any change, see {LOG}")
        new.rename(output)
    return sorted(map(json.loads, output.read_text().splitlines()), key=lambda record: record[1])


def _digest(guarded: str) -> str:
    tests = [ROOT / test for test in GUARDED[guarded]]
    files = [file for test in tests for file in ([test] if test.is_file() else sorted(test.rglob("*.py")))]
    content = b"".join(file.read_bytes() for file in [SOURCES / guarded, *files])
    return hashlib.sha256(guarded.encode() + content).hexdigest()[:20]


def tests_of(mutant: Mutant) -> tuple[str, ...]:
    """Return the tests that reach the line of a mutant, the fastest first.

    These are all tests of the file if the line is native or runs in no test, for example when a module is imported.
    """
    if not mutant.path.endswith(".py"):
        return GUARDED[mutant.guarded]
    near = tuple(test for test, _, lines in _lines_by_test(mutant.guarded) if mutant.line in lines)
    return near or GUARDED[mutant.guarded]
