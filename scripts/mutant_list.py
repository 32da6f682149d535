"""The mutants of `mutants.py`: the guarded files with their tests, and the changes that are made to a line."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]

# The guarded files, and the tests that should notice a change: few, so that a mutant takes seconds.
_GUARDS = "tests/integration/test_guards.py"
_DAMAGE = "tests/integration/test_model_damage.py"
_TREES = ("tests/tree/test_label_tree.py", "tests/tree/test_files.py", "tests/integration/test_exchange_damage.py")
_CHUNKS = (
    _GUARDS,
    "tests/integration/test_chunk_guards.py",
    "tests/integration/test_saved_chunks.py",
    "tests/storage/test_chunks.py",
)
_TEXTS = (_GUARDS, "tests/models/text/test_searcher.py", "tests/core/text/test_features.py")
_SEARCH = (_GUARDS, "tests/search")
_EARLY_STOP = "tests/models/common/test_early_stop.py"
_ENCODERS = ("tests/data/test_encoders.py", "tests/data/test_encoder_file.py")
GUARDED: dict[str, tuple[str, ...]] = {
    "_files.py": ("tests/test_files.py", "tests/storage/test_folder.py", _GUARDS),
    "_names.py": ("tests/test_names.py", "tests/integration/test_label_names.py"),
    "data/encoder_file.py": ("tests/data/test_encoder_file.py",),
    "data/files.py": ("tests/data/test_files.py", "tests/data/test_limits.py", "tests/data/test_xmc.py"),
    "data/limits.py": ("tests/data/test_limits.py", "tests/data/test_files.py"),
    "data/parquet.py": ("tests/data/test_parquet.py", "tests/data/test_limits.py"),
    "data/text_formats.py": (
        "tests/data/test_text_formats.py",
        "tests/data/test_texts.py",
        "tests/data/test_limits.py",
    ),
    "data/tfidf_files.py": ("tests/data/test_tfidf_files.py", "tests/data/test_tfidf_state.py"),
    "models/common/early_stop.py": (_EARLY_STOP, _DAMAGE),
    "models/common/label_names.py": (
        "tests/models/common/test_label_names.py",
        "tests/integration/test_label_names.py",
    ),
    "models/common/model_files.py": ("tests/models/linear/test_files.py", _DAMAGE),
    "models/text/fasttext_file.py": (
        "tests/models/text/test_fasttext_file.py",
        "tests/models/text/test_fasttext.py",
    ),
    "models/text/store.py": (_GUARDS, "tests/models/text/test_searcher.py", _DAMAGE),
    "storage/folder.py": ("tests/storage/test_folder.py", _DAMAGE, _GUARDS),
    "tree/arrays.py": (*_TREES, "tests/tree/test_baselines.py"),
    "tree/exchange.py": ("tests/tree/test_exchange.py", "tests/integration/test_exchange_damage.py"),
    "tree/files.py": _TREES,
    "tree/pecos.py": ("tests/tree/test_pecos.py", "tests/integration/test_exchange_damage.py"),
    "core/chunk/check.cpp": _CHUNKS,
    "core/encode/encoders.cpp": _ENCODERS,
    "core/encode/encoder.cpp": (
        *_ENCODERS,
        "tests/search/test_label_rules.py",
        "tests/models/linear/test_item_models.py",
        "tests/models/common/test_label_names.py",
    ),
    "core/search/best.hpp": _SEARCH,
    "core/search/engine.cpp": (*_SEARCH, "tests/integration/test_ensembles.py"),
    "core/search/frontier.hpp": _SEARCH,
    "core/search/request_bindings.cpp": ("tests/search/test_label_rules.py", "tests/search/test_predictor.py"),
    "core/search/query.hpp": ("tests/search/test_request.py", "tests/search/test_predictor.py"),
    "core/search/store.cpp": (*_CHUNKS, _DAMAGE),
    "core/search/tree_search.cpp": (*_SEARCH, "tests/storage/test_chunks.py", _EARLY_STOP),
    "core/text/fasttext.hpp": (
        "tests/models/text/test_fasttext_file.py",
        "tests/models/text/test_fasttext.py",
    ),
    "core/text/features.cpp": (*_TEXTS, "tests/models/text/test_estimator.py"),
    "core/text/features.hpp": _TEXTS,
    "core/text/hsoftmax_search.cpp": (*_TEXTS, "tests/search/test_label_rules.py", _EARLY_STOP),
    "core/text/hsoftmax_search.hpp": (*_TEXTS, _EARLY_STOP),
    "core/tfidf/terms.cpp": ("tests/data/test_tfidf.py", _DAMAGE),
    "core/tree/arrays.cpp": _TREES,
    "core/xmc/lines.cpp": ("tests/data/test_xmc.py",),
    "core/xmc/parser.cpp": ("tests/data/test_xmc.py",),
    "report/page.py": ("tests/report/test_page.py",),
}

# Changes that no pattern makes: survivors of an earlier trial by hand. File, text in a line, and what it becomes.
BY_HAND = (
    ("models/common/early_stop.py", "1 - agreement)", "2 * (1 - agreement))"),
    ("models/common/early_stop.py", "1 - CONFIDENCE", "2 * (1 - CONFIDENCE)"),
    ("models/text/store.py", " or len(self.input) != self.n_words + total", ""),
    ("models/text/store.py", "np.diff(self.child_ptr).max() > 2 or ", ""),
    ("models/text/store.py", " or len(self.output) != tree.n_nodes", ""),
    ("report/page.py", "html.escape(title or result.data_name", "(title or result.data_name"),
    ("report/page.py", "html.escape(decision.sentence)", "decision.sentence"),
    ("report/page.py", "html.escape(_summary(result))", "_summary(result)"),
    ("report/page.py", "html.escape(result.explanation or", "(result.explanation or"),
    ("core/search/engine.cpp", "request.max_chunks / n_trees", "request.max_chunks"),
    ("core/search/best.hpp", "a.label < b.label", "a.label > b.label"),
    ("core/search/frontier.hpp", "a.node < b.node", "a.node > b.node"),
    ("core/search/tree_search.cpp", "limit + 1e-6f * limit", "0.9f * limit"),
    ("core/text/hsoftmax_search.cpp", "a.label < b.label", "a.label > b.label"),
    ("core/text/hsoftmax_search.hpp", "return score * request.discounts[node];", "return score;"),
    ("core/text/hsoftmax_search.hpp", "priority * slack_ >=", "priority >="),
    ("core/chunk/check.cpp", "header.n_words[0] != top_words(header.n_features, header.n_levels)", "false"),
    ("core/text/features.hpp", "++out.n;", "if (row >= 0) ++out.n;"),
    ("core/text/features.hpp", "if (id >= n_entries) continue;", ""),
    ("core/text/features.hpp", "begin < 0 || ", ""),
    ("core/text/features.hpp", "end < begin || ", ""),
    ("core/text/features.hpp", " || end > n_bytes", ""),
)

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

    nth: int

    @property
    def name(self) -> str:
        """The file and the change. It stays the same if lines are added elsewhere."""
        again = f" ({self.nth})" if self.nth > 1 else ""
        return f"{self.path}: {self.before.strip()} -> {self.after.strip()}{again}"


def all_mutants() -> list[Mutant]:
    """Return every mutant, in the order of the files."""
    return [
        *mutants_by_hand(),
        *(mutant for path in GUARDED if path != "report/page.py" for mutant in mutants_of(path)),
    ]


def mutants_by_hand() -> Iterator[Mutant]:
    """Yield the mutants of BY_HAND."""
    for path, old, new in BY_HAND:
        source = source_of(path)
        found = [(at, line) for at, line in enumerate(source.read_text().splitlines(), 1) if old in line]
        if len(found) != 1:
            sys.exit(f"BY_HAND: {old!r} is in {len(found)} lines of {path}; it must be in one")
        ((number, line),) = found
        yield Mutant(path, os.path.relpath(source, ROOT), number, line, line.replace(old, new), 1)


def source_of(path: str) -> Path:
    """Return the file of a key of GUARDED."""
    return ROOT / "src" / (f"labeltrees/{path}" if path.endswith(".py") else path)


def mutants_of(path: str) -> Iterator[Mutant]:
    """Yield the mutants of a file; docstrings, comments, messages and imports are left alone."""
    is_python = path.endswith(".py")
    source = source_of(path)
    in_docstring = False
    times: Counter[str] = Counter()  # how often a line occurred
    for number, line in enumerate(source.read_text().splitlines(), 1):
        quotes = line.count('"""')
        if is_python and (in_docstring or quotes):
            in_docstring ^= quotes == 1
            continue
        code = line.split("#" if is_python else "//")[0].rstrip()
        if not code.strip() or re.match(r"\s*(import|from|#include|template|using|def|class|message =|@)", code):
            continue
        if "prefetch" in code:  # it changes the time, never a result
            continue
        seen = {code}
        times[code] += 1
        for pattern, replacement in PYTHON if is_python else CPP:
            for match in re.finditer(pattern, code):
                if not is_python and re.search(r"#include|<\w+>\(", code) and pattern in (r" < (?!\s*[\w:]+>)", r" > "):
                    continue
                after = code[: match.start()] + match.expand(replacement) + code[match.end() :]
                if _is_in_string(code, match.start()) or after in seen:
                    continue
                seen.add(after)
                yield Mutant(path, os.path.relpath(source, ROOT), number, code, after, times[code])


def _is_in_string(code: str, place: int) -> bool:
    return code[:place].count('"') % 2 == 1
