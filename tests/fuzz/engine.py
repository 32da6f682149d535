"""A small coverage-guided fuzzer: inputs that reach new lines, or a new kind of refusal, are kept and changed further.

Lines are those of the package's Python code. Native readers say no with messages, so a message that was not seen before
(its numbers left out) counts as new ground, too.
"""

from __future__ import annotations

import random
import re
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from labeltrees.errors import LabelTreesError

EXTREME = (0, 1, 127, 128, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**53, 2**63 - 1, 2**63, 2**64 - 1)
TOKENS = (b"\n", b"\r\n", b",", b":", b'"', b"-1", b"1e999", b"nan", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"0 0:1")
# In place of a number in a text, such as JSON or a table.
VALUES = (
    b"0",
    b"1",
    b"-1",
    b"0.5",
    b"1e30",
    b"2147483648",
    b"9223372036854775807",
    b"null",
    b"true",
    b'"x"',
    b"[]",
    b"{}",
)
LONGEST = 1 << 16
WATCHED = 0.1  # share of the executions whose lines are collected: that takes most of the time


@dataclass
class Findings:
    """What a run found."""

    executions: int = 0
    refused: int = 0
    covered: set[Any] = field(default_factory=set)
    kept: list[bytes] = field(default_factory=list)
    crashes: list[tuple[bytes, str]] = field(default_factory=list)


class Coverage:
    """Collects the lines of the package that run."""

    def __init__(self, package: Path) -> None:
        self.package = str(package)
        self.lines: set[tuple[CodeType, int]] = set()

    def trace(self, frame: FrameType, event: str, _argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(self.package):
            return None
        self.lines.add((frame.f_code, frame.f_lineno))
        return self.trace

    def of(self, call: Callable[[], None]) -> set[tuple[CodeType, int]]:
        self.lines = set()
        before = sys.gettrace()
        sys.settrace(self.trace)
        try:
            call()
        finally:
            sys.settrace(before)
        return self.lines


def mutate(data: bytes, others: list[bytes], rng: random.Random) -> bytes:
    """Return the data with one to eight changes."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 4, 8))):
        place = rng.randrange(len(changed) + 1)
        match rng.randrange(10):
            case 0 if changed:
                changed[place % len(changed)] ^= 1 << rng.randrange(8)
            case 1 if changed:
                changed[place % len(changed)] = rng.choice(EXTREME) & 255
            case 2 | 3:
                width = rng.choice((2, 4, 8))
                number = (rng.choice(EXTREME) + rng.randrange(-1, 2)) % (1 << 8 * width)
                changed[place : place + width] = number.to_bytes(width, "little")
            case 4:
                del changed[place : place + rng.choice((1, 2, 8, 64, 1000))]
            case 5:
                changed[place:place] = changed[place : place + rng.choice((1, 8, 100))] * rng.choice((1, 2, 50))
            case 6:
                changed[place:place] = rng.choice(TOKENS)
            case 7:
                other = rng.choice(others)
                start = rng.randrange(len(other) + 1)
                changed[place:] = other[start:]
            case 8 if numbers := list(re.finditer(rb"-?\d+(\.\d+)?", changed)):
                number_at = rng.choice(numbers)
                changed[number_at.start() : number_at.end()] = rng.choice(VALUES)
            case _:
                changed[place:place] = rng.randbytes(rng.choice((1, 4, 16)))
    return bytes(changed[:LONGEST])


class Bounds:
    """Fails an execution that takes too much memory or time.

    Memory is the growth of the process's peak: small inputs must not need much, whatever they say.
    """

    MOST_BYTES = 256 << 20
    MOST_SECONDS = 10.0

    def __init__(self) -> None:
        self.peak, self.started = peak_bytes(), time.perf_counter()

    def check(self) -> None:
        grown, seconds = peak_bytes() - self.peak, time.perf_counter() - self.started
        if grown > self.MOST_BYTES:
            message = f"took {grown >> 20} MiB of memory"
            raise AssertionError(message)
        if seconds > self.MOST_SECONDS:
            message = f"took {seconds:.1f} s"
            raise AssertionError(message)


def peak_bytes() -> int:
    """Return the most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def fuzz(
    target: Callable[[bytes], None], seeds: list[bytes], package: Path, seconds: float, most: int, seed: int
) -> Findings:
    """Run a target on changed inputs for some seconds, or until it ran `most` times."""
    rng = random.Random(seed)
    coverage, found = Coverage(package), Findings()
    folder = tempfile.gettempdir()
    deadline = time.monotonic() + seconds
    waiting = list(seeds)
    while found.executions < most and (waiting or time.monotonic() < deadline):
        is_seed = bool(waiting)
        data = waiting.pop() if waiting else mutate(rng.choice(found.kept), found.kept, rng)
        outcome = []

        def call(data: bytes = data, outcome: list[Any] = outcome) -> None:
            bounds = Bounds()
            try:
                try:
                    target(data)
                finally:
                    bounds.check()
            except LabelTreesError as error:
                outcome.append(re.sub(r"'[^']*'|[^A-Za-z ]+", "", str(error).replace(folder, ""))[:60])
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                found.crashes.append((data, f"{type(error).__name__}: {error}"[:300]))

        if is_seed or rng.random() < WATCHED:
            reached = coverage.of(call) | set(outcome)
        else:
            call()
            reached = set(outcome)
        found.executions += 1
        found.refused += bool(outcome)
        if is_seed or not reached <= found.covered:
            found.covered |= reached
            found.kept.append(data)
    return found
