"""Check the size limits of the C++ core: files of at most 500 lines, functions of at most 60.

A file or function that must be longer says why in a comment ``// long because ...``: in the first ten lines of the
file, or in the function or the comment above it. Files made by a script (``do not edit``) are not checked.

Run with ``python scripts/check_core_sizes.py [FILE ...]``; without files it checks all of ``src/core``.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 60
REASON = "// long because"
SUFFIXES = {".cpp", ".hpp", ".inl"}

# A brace that opens one of these is not a function's; functions inside it are looked at one by one.
CONTAINER = re.compile(r"^\s*(?:\[\[[^]]*\]\]\s*)?(?:inline\s+)?(?:namespace|class|struct|union|enum|extern)\b")
# Comments, raw strings, strings and characters: braces in them do not count.
NO_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"\((?:.*?)\)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'', re.DOTALL
)


def blank_out(match: re.Match[str]) -> str:
    """Replace the text by spaces that keep its line ends."""
    return re.sub(r"[^\n]", " ", match[0])


def functions_of(code: str) -> Iterator[tuple[int, int, str]]:
    """Yield the first line, the last line and the head of every function, from text without comments and strings."""
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", blank_out, code, flags=re.MULTILINE)
    depth_in_function = 0
    first_line, head = 0, ""
    start = 0  # of the text since the last brace or semicolon
    parentheses = 0
    for match in re.finditer(r"[{}();]", code):
        sign, at = match[0], match.start()
        if sign in "()":
            parentheses += 1 if sign == "(" else -1
            continue
        if depth_in_function:
            depth_in_function += {"{": 1, "}": -1, ";": 0}[sign]
            if depth_in_function == 0:
                yield first_line, code.count("\n", 0, at) + 1, head
                start = at + 1
            continue
        text = code[start:at]
        if sign == "{" and parentheses == 0:
            body = re.sub(r"template\s*<[^{}]*?>\s*(?=\w)", "", text)
            if "(" in text and not CONTAINER.match(body.lstrip()):
                skipped = len(text) - len(text.lstrip())
                first_line = code.count("\n", 0, start + skipped) + 1
                head = " ".join(text.split())
                depth_in_function = 1
            else:
                start = at + 1
        elif parentheses == 0:
            start = at + 1


def faults_of(path: Path) -> Iterator[str]:
    """Yield a message for the file if it is too long, and for each of its functions that is."""
    text = path.read_text(encoding="utf-8")
    lines = text.split("\n")
    if "do not edit" in lines[0]:
        return
    n_lines = text.count("\n")
    if n_lines > MAX_FILE_LINES and not any(REASON in line for line in lines[:10]):
        yield f"{path}:1: the file has {n_lines} lines, more than {MAX_FILE_LINES}"
    for first, last, head in functions_of(NO_CODE.sub(blank_out, text)):
        if last - first + 1 <= MAX_FUNCTION_LINES:
            continue
        above = first - 1  # lines[above - 1] is the line above the function
        while above > 0 and lines[above - 1].lstrip().startswith("//"):
            above -= 1
        if any(REASON in line for line in lines[above:last]):
            continue
        yield f"{path}:{first}: {last - first + 1} lines, more than {MAX_FUNCTION_LINES}: {head[:80]}"


def main() -> int:
    """Print what is too long; return 1 if there is anything, else 0."""
    root = Path(__file__).resolve().parent.parent
    paths = [Path(name) for name in sys.argv[1:]]
    if not paths:
        paths = [
            path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
            for path in sorted((root / "src/core").rglob("*"))
            if path.suffix in SUFFIXES
        ]
    faults = [fault for path in paths for fault in faults_of(path)]
    for fault in faults:
        sys.stdout.write(fault + "\n")
    if faults:
        sys.stdout.write(f"Split what is too long, or say why it must be so in a comment: {REASON} ...\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
