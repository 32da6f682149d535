"""Change one guard of the code at a time, and see whether a test notices.

    python scripts/mutants.py [--list] [--sample 50] [--seed 0] [--only storage] [--seconds 600] [--build DIR]

A mutant is one textual change of one line in the code that guards files, native bounds, early stopping and persistence:
a comparison turned around or off by one, a condition or a refusal left out, `and` for `or`, a call of fsync dropped.
For each the tests of that file run until the first failure. Results go to build/mutants.jsonl, one line per mutant. A
second run continues where the first one ended. --list prints all mutants.

Files change while it runs, and are put back after each mutant: use a copy of the repository, as `make mutants` does.
Mutants of C++ need a build folder of CMake (--build build/dev) and are skipped without one.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "build" / "mutants.jsonl"

# The guarded files, and the tests that should notice a change: few, so that a mutant takes seconds.
_GUARDS = "tests/integration/test_guards.py"
_DAMAGE = "tests/integration/test_model_damage.py"
_TREES = ("tests/tree/test_label_tree.py", "tests/tree/test_serialize.py", "tests/integration/test_exchange_damage.py")
_CHUNKS = (_GUARDS, "tests/integration/test_saved_chunks.py", "tests/storage/test_chunks.py")
_TEXTS = (_GUARDS, "tests/models/text/test_searcher.py", "tests/core/text/test_features.py")
GUARDED: dict[str, tuple[str, ...]] = {
    "_files.py": ("tests/test_files.py", "tests/storage/test_save.py", _GUARDS),
    "_names.py": ("tests/test_names.py", "tests/integration/test_label_names.py"),
    "data/encoders/encoder_file.py": ("tests/data/encoders/test_encoder_file.py",),
    "data/files.py": ("tests/data/test_files.py", "tests/data/test_limits.py", "tests/data/test_xmc.py"),
    "data/limits.py": ("tests/data/test_limits.py",),
    "data/parquet_sizes.py": ("tests/data/test_limits.py",),
    "data/text_line_readers.py": ("tests/data/test_text_line_readers.py", "tests/data/test_limits.py"),
    "data/tfidf_files.py": ("tests/data/test_tfidf.py", "tests/data/encoders", _DAMAGE),
    "models/common/early_stop.py": ("tests/models/common/test_early_stop.py", _DAMAGE),
    "models/common/early_stop_tables.py": (
        "tests/models/common/test_early_stop_tables.py",
        "tests/models/common/test_early_stop.py",
    ),
    "models/common/label_names.py": (
        "tests/models/common/test_label_names.py",
        "tests/integration/test_label_names.py",
    ),
    "models/common/model_reader.py": ("tests/models/linear/test_files.py", _DAMAGE),
    "models/text/fasttext_file.py": ("tests/models/text/test_fasttext_file.py",),
    "models/text/store.py": (_GUARDS, "tests/models/text/test_searcher.py", _DAMAGE),
    "storage/format.py": ("tests/storage/test_format.py", "tests/storage/test_load.py"),
    "storage/load.py": ("tests/storage/test_load.py", "tests/storage/test_format.py", _DAMAGE),
    "storage/save.py": ("tests/storage/test_save.py", _GUARDS),
    "tree/arrays.py": _TREES,
    "tree/exchange/cbor.py": ("tests/tree/exchange/test_omikuji.py", "tests/integration/test_exchange_damage.py"),
    "tree/exchange/npz.py": ("tests/tree/exchange/test_pecos.py", "tests/integration/test_exchange_damage.py"),
    "tree/serialize.py": _TREES,
    "core/chunk/check.cpp": _CHUNKS,
    "core/search/engine.cpp": (_GUARDS, "tests/integration/test_ensembles.py", "tests/search"),
    "core/search/label_arguments.cpp": ("tests/search/test_label_set.py", "tests/search/test_predictor.py"),
    "core/search/query_rows.hpp": ("tests/search/test_queries.py", "tests/search/test_predictor.py"),
    "core/text/features.cpp": _TEXTS,
    "core/text/features.hpp": _TEXTS,
    "core/text/hsoftmax_search.cpp": _TEXTS,
    "core/tfidf/terms.cpp": ("tests/data/test_tfidf.py", _DAMAGE),
    "core/xmc/lines.cpp": ("tests/data/test_xmc.py", "tests/data/test_xmc_blocks.py"),
    "core/xmc/parser.cpp": ("tests/data/test_xmc.py", "tests/data/test_xmc_blocks.py"),
}

# What is changed, and what it becomes. A line may give several mutants.
BOTH = (
    (r"(?<![<>=!-])<=(?![=>])", "<"),
    (r"(?<![<>=!-])>=(?!=)", ">"),
    (r" < (?!\s*[\w:]+>)", " <= "),
    (r" > ", " >= "),
    (r" == ", " != "),
    (r" != ", " == "),
    (r"\+ 1\b", ""),
    (r"- 1\b", ""),
)
PYTHON = (
    *BOTH,
    (r"^(\s+)(if|elif) (?!.*\belse\b)(.+):$", r"\1\2 False and (\3):"),
    (r"\bnot ", ""),
    (r" and ", " or "),
    (r" or ", " and "),
    (r"^(\s+)os\.fsync\(.*\)$", r"\1pass"),
    (r"^(\s+)(self\.)?(check|_check)_\w+\(.*\)$", r"\1pass"),
    (r"\bmin\(", "max("),
    (r"\bmax\(", "min("),
)
CPP = (
    *BOTH,
    (r"^(\s+)if \((.+)\) (return|continue|throw|fail)", r"\1if (false && (\2)) \3"),
    (r" && ", " || "),
    (r" \|\| ", " && "),
    (r"std::min\b", "std::max"),
    (r"std::max\b", "std::min"),
)


@dataclass(frozen=True)
class Mutant:
    """One change of one line."""

    guarded: str
    path: str
    line: int
    before: str
    after: str

    @property
    def name(self) -> str:
        """What is changed, and where."""
        return f"{self.path}:{self.line}: {self.before.strip()} -> {self.after.strip()}"


def all_mutants() -> list[Mutant]:
    """Return every mutant, in the order of the files."""
    return [mutant for path in GUARDED for mutant in mutants_of(path)]


def mutants_of(path: str) -> Iterator[Mutant]:
    """Yield the mutants of a file; docstrings, comments, messages and imports are left alone."""
    is_python = path.endswith(".py")
    source = ROOT / "src" / (f"labeltrees/{path}" if is_python else path)
    in_docstring = False
    for number, line in enumerate(source.read_text().splitlines(), 1):
        quotes = line.count('"""')
        if is_python and (in_docstring or quotes):
            in_docstring ^= quotes == 1
            continue
        code = line.split("#" if is_python else "//")[0].rstrip()
        if not code.strip() or re.match(r"\s*(import|from|#include|template|using|def|class|message =|@)", code):
            continue
        seen = {code}
        for pattern, replacement in PYTHON if is_python else CPP:
            for match in re.finditer(pattern, code):
                if not is_python and re.search(r"#include|<\w+>\(", code) and pattern in (r" < (?!\s*[\w:]+>)", r" > "):
                    continue
                after = code[: match.start()] + match.expand(replacement) + code[match.end() :]
                if _is_in_string(code, match.start()) or after in seen:
                    continue
                seen.add(after)
                yield Mutant(path, os.path.relpath(source, ROOT), number, code, after)


def _is_in_string(code: str, place: int) -> bool:
    return code[:place].count('"') % 2 == 1


def run_tests(tests: tuple[str, ...], seconds: float, python: str) -> str:
    """Return "killed", "survived" or "killed by time"."""
    command = [python, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, timeout=seconds, capture_output=True, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return "killed by time"
    return "survived" if done.returncode == 0 else "killed"


def try_mutant(mutant: Mutant, seconds: float, build: Path | None, python: str) -> str:
    """Change the file, run its tests, and put the file back."""
    path = ROOT / mutant.path
    original = path.read_bytes()
    lines = original.decode().split("\n")
    assert lines[mutant.line - 1].startswith(mutant.before)
    lines[mutant.line - 1] = mutant.after
    native = not mutant.path.endswith(".py")
    try:
        path.write_text("\n".join(lines))
        if native and not _build(build):
            return "does not compile"
        return run_tests(GUARDED[mutant.guarded], seconds, python)
    finally:
        path.write_bytes(original)


def _build(folder: Path | None) -> bool:
    assert folder is not None
    if subprocess.run(["cmake", "--build", str(folder)], capture_output=True).returncode:
        return False
    (library,) = folder.glob("_core*.so")
    shutil.copy(library, ROOT / "src" / "labeltrees" / library.name)
    return True


def finished() -> dict[str, str]:
    """Return the outcome of each mutant that was tried."""
    if not RESULTS.exists():
        return {}
    records = map(json.loads, RESULTS.read_text().splitlines())
    return {record["name"]: record["outcome"] for record in records}


def summary(outcomes: dict[str, str]) -> str:
    """Return one line with the counts."""
    tried = {name: outcome for name, outcome in outcomes.items() if outcome != "does not compile"}
    killed = sum(outcome.startswith("killed") for outcome in tried.values())
    share = 100 * killed / max(len(tried), 1)
    return f"{len(tried)} mutants, {killed} killed ({share:.1f} %), {len(tried) - killed} survived"


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print all mutants")
    parser.add_argument("--sample", type=int, help="try only this many, chosen at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="only paths that contain this")
    parser.add_argument("--seconds", type=float, default=600, help="the most per mutant")
    parser.add_argument("--minutes", type=float, help="the most in all")
    parser.add_argument("--build", type=Path, help="build folder, for mutants of C++")
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_args()
    wanted = [mutant for mutant in all_mutants() if not options.only or options.only in mutant.path]
    if options.sample is not None:
        wanted = random.Random(options.seed).sample(wanted, min(options.sample, len(wanted)))
    if options.list:
        print("\n".join(mutant.name for mutant in wanted))
        print(f"{len(wanted)} mutants")
        return 0
    outcomes = finished()
    RESULTS.parent.mkdir(exist_ok=True)
    sound: set[tuple[str, ...]] = set()  # tests that pass without a change
    deadline = time.monotonic() + 60 * (options.minutes or 1e9)
    for mutant in wanted:
        if mutant.name in outcomes or (options.build is None and not mutant.path.endswith(".py")):
            continue
        if time.monotonic() > deadline:
            break
        tests = GUARDED[mutant.guarded]
        if tests not in sound and run_tests(tests, 10 * options.seconds, options.python) != "survived":
            print(f"{', '.join(tests)}: fail without any change", file=sys.stderr)
            return 1
        sound.add(tests)
        outcomes[mutant.name] = try_mutant(mutant, options.seconds, options.build, options.python)
        with RESULTS.open("a") as file:
            file.write(json.dumps({**asdict(mutant), "name": mutant.name, "outcome": outcomes[mutant.name]}) + "\n")
        print(f"{outcomes[mutant.name]:>16}  {mutant.name}", flush=True)
    print(summary(outcomes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
