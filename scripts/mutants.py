"""Change one guard of the code at a time, and see whether a test notices.

    python scripts/mutants.py [--list] [--only storage] [--sample 300] [--spread] [--seed 0] [--minutes 60] [--again]
        [--sanitize]

A mutant is one textual change of one line in the code that guards files, native bounds, early stopping and persistence:
a comparison turned around or off by one, a condition or a refusal left out, `and` for `or`, a call of fsync dropped
(`mutant_list.py`). For each mutant the tests of its file run until the first failure. Results go to
build/mutants.jsonl. A second run continues where the first one ended; --again tries the survivors once more, for
example after a test was added; --sanitize does so for those in C++, with AddressSanitizer. --list prints all mutants,
--results writes the table of all results, with the reasons in mutant_reasons.txt.

Files change while it runs, and are put back after each mutant: use a copy of the repository, as `make mutants` does.
Only the tests that reach the changed line run (`mutant_tests.py`).
"""

from __future__ import annotations

import argparse
import compileall
import fcntl
import functools
import json
import os
import py_compile
import random
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from mutant_list import ROOT, Mutant, all_mutants, mutants_by_hand
from mutant_tests import LOG, SOURCES, TOO_LATE, run_tests, tests_of

RESULTS = ROOT / "build" / "mutants.jsonl"
REASONS = ROOT / "scripts" / "mutant_reasons.txt"
SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")
BUILD = ROOT / "build" / ("core-sanitized" if SANITIZED else "core")


def try_mutant(mutant: Mutant, seconds: float) -> str:
    """Change the file, run its tests, and put the file back."""
    near = tests_of(mutant)
    is_native = not mutant.path.endswith(".py")
    path = ROOT / mutant.path
    original = path.read_bytes()
    lines = original.decode().split("\n")
    assert lines[mutant.line - 1].startswith(mutant.before)
    lines[mutant.line - 1] = mutant.after
    (library,) = SOURCES.glob("_core*.so")
    kept = library.with_suffix(".kept")
    shutil.copy2(library, kept)
    try:
        if is_native:
            _check_native_tests(near, library)
        path.write_text("\n".join(lines))
        if is_native and not _build(library):
            return "does not compile"
        code = run_tests(near, seconds)
        return {0: "survived", TOO_LATE: "killed by the time limit"}.get(code, "killed")
    finally:
        path.write_bytes(original)
        os.replace(kept, library)


def _build(library: Path) -> bool:
    """Compile the files that changed, each by itself and with few optimizations: a mutant takes seconds."""
    tools = Path(sys.executable).parent
    variables = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    if not (BUILD / "build.ninja").exists():
        make = ["cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"]
        make += [f"-DPython_EXECUTABLE={sys.executable}", f"-DCMAKE_MAKE_PROGRAM={tools / 'ninja'}"]
        make += ["-DLABELTREES_UNITY=OFF", "-DLABELTREES_OPTIMIZE=-O1", f"-DLABELTREES_SANITIZE={SANITIZED}"]
        subprocess.run(make, executable=tools / "cmake", check=True, capture_output=True, env=variables)
    if subprocess.run([tools / "ninja", "-C", BUILD], capture_output=True, env=variables).returncode:
        return False
    built = BUILD / library.name
    library.unlink()  # a process that maps it keeps its own
    shutil.copy(built, library)
    return True


@functools.cache
def _check_native_tests(tests: tuple[str, ...], library: Path) -> None:
    """End if tests of native code fail without any change: they would kill every mutant."""
    if not _build(library) or run_tests(tests, 1200) != 0:
        sys.exit(f"{', '.join(tests)}: fail without any change, see {LOG}")


def finished() -> dict[str, str]:
    """Return the outcome of each mutant that was tried."""
    if not RESULTS.exists():
        return {}
    records = map(json.loads, RESULTS.read_text().splitlines())
    return {record["name"]: record["outcome"] for record in records}


def reasons() -> dict[str, str]:
    """Return why a mutant may survive, by its name: a line with the name, and below it the reason, indented."""
    found: dict[str, str] = {}
    for line in REASONS.read_text().splitlines() if REASONS.exists() else []:
        if line and not line.startswith((" ", "#")):
            name = line
        elif line.strip() and not line.startswith("#"):
            found[name] = f"{found.get(name, '')} {line.strip()}".strip()
    return found


def summary(outcomes: dict[str, str]) -> str:
    """Return one line with the counts."""
    tried = {name: outcome for name, outcome in outcomes.items() if outcome != "does not compile"}
    killed = sum(outcome.startswith("killed") for outcome in tried.values())
    share = 100 * killed / max(len(tried), 1)
    return f"{len(tried)} mutants, {killed} killed ({share:.1f} %), {len(tried) - killed} survived"


def write_results(path: Path, outcomes: dict[str, str]) -> None:
    """Write a table of the files, and the list of the survivors with their reasons."""
    listed = Counter(mutant.path for mutant in all_mutants())
    counts = {file: Counter[str]() for file in sorted(listed)}
    for name, outcome in outcomes.items():
        counts[name.split(": ")[0]][outcome.split()[0]] += 1
    lines = ["# Mutants", "", f"`make mutants`: {summary(outcomes)}, of {listed.total()} in all.", ""]
    lines += ["| file | mutants | killed | survived |", "| --- | --- | --- | --- |"]
    lines += [f"| {file} | {listed[file]} | {own['killed']} | {own['survived']} |" for file, own in counts.items()]
    lines += ["", "## Survivors", ""]
    known = reasons()
    survivors = sorted(name for name, outcome in outcomes.items() if outcome == "survived")
    lines += [f"- `{name}`  \n  {known.get(name, 'A test is missing.')}" for name in survivors] or ["None."]
    path.write_text("\n".join(lines) + "\n")


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print all mutants")
    parser.add_argument("--only", help="only paths that match this regular expression")
    parser.add_argument("--sample", type=int, help="try only this many, chosen at random")
    parser.add_argument("--spread", action="store_true", help="take turns among the files")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=120, help="the most per mutant")
    parser.add_argument("--minutes", type=float, default=1e9, help="the most in all")
    parser.add_argument("--again", action="store_true", help="try the survivors again")
    parser.add_argument("--sanitize", action="store_true", help="try the survivors in C++ again, with AddressSanitizer")
    parser.add_argument("--results", type=Path, help="write the table to this file")
    options = parser.parse_args()
    if options.sanitize and not SANITIZED:
        _start_sanitized()
    wanted = [mutant for mutant in all_mutants() if not options.only or re.search(options.only, mutant.path)]
    if options.sample is not None:
        by_hand = {mutant.name for mutant in mutants_by_hand()}
        wanted = random.Random(options.seed).sample(wanted, len(wanted))
        wanted.sort(key=lambda mutant: mutant.name not in by_hand)  # those come first
        if options.spread:
            wanted = _take_turns(wanted)
        wanted = wanted[: options.sample]
    if options.list:
        print("\n".join(f"{mutant.name}  [line {mutant.line}]" for mutant in wanted))
        print(f"{len(wanted)} mutants")
        return 0
    names = {mutant.name for mutant in all_mutants()}
    outcomes = {name: outcome for name, outcome in finished().items() if name in names}
    wanted = [mutant for mutant in wanted if mutant.name not in outcomes or options.again or options.sanitize]
    if options.again or options.sanitize:
        wanted = [mutant for mutant in wanted if outcomes.get(mutant.name) == "survived"]
    if options.sanitize:
        wanted = [mutant for mutant in wanted if not mutant.path.endswith(".py")]
    if wanted:
        RESULTS.parent.mkdir(exist_ok=True)
        with RESULTS.with_suffix(".lock").open("w") as lock:  # two runs would test each other's changes
            fcntl.flock(lock, fcntl.LOCK_EX)
            _try_all(wanted, outcomes, options.seconds, options.minutes)
    if options.results:
        write_results(options.results, outcomes)
    print(summary(outcomes))
    return 0


def _start_sanitized() -> None:
    """Start this command again with the run-time library of AddressSanitizer."""
    compiler = os.environ.get("CXX", "c++")
    command = [[compiler, f"-print-file-name={name}"] for name in ("libasan.so", "libstdc++.so")]
    libraries = [subprocess.run(parts, check=True, capture_output=True, text=True).stdout.strip() for parts in command]
    variables = {**os.environ, "LD_PRELOAD": " ".join(libraries), "ASAN_OPTIONS": "detect_leaks=0"}
    os.execve(sys.executable, [sys.executable, *sys.argv], variables)


def _take_turns(mutants: list[Mutant]) -> list[Mutant]:
    """Return the first mutant of every file, then the second of every file, and so on."""
    turns = Counter[str]()
    ordered: list[tuple[int, Mutant]] = []
    for mutant in mutants:
        ordered.append((turns[mutant.path], mutant))
        turns[mutant.path] += 1
    return [mutant for _, mutant in sorted(ordered, key=lambda pair: pair[0])]


def _try_all(wanted: list[Mutant], outcomes: dict[str, str], seconds: float, minutes: float) -> None:
    # A hash says whether a compiled file is current. The time of a change would not: mutants come too fast.
    compileall.compile_dir(SOURCES, quiet=1, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)
    deadline = time.monotonic() + 60 * minutes
    for mutant in wanted:
        if time.monotonic() > deadline:
            break
        outcomes[mutant.name] = try_mutant(mutant, seconds)
        with RESULTS.open("a") as file:
            file.write(json.dumps({**asdict(mutant), "name": mutant.name, "outcome": outcomes[mutant.name]}) + "\n")
        print(f"{outcomes[mutant.name]:>16}  {mutant.name}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
