r"""Write src/core/tfidf/unicode_tables.hpp: properties of all code points as Python's str and re see them.

    python scripts/make_unicode_tables.py [--check]

The tables come from the running Python, not from Unicode's files: the matches of `\w` and `\s`, the result of
`str.lower`, the lower case of a capital sigma next to a character, and the NFKD form. So the native vectorizer splits
texts exactly as scikit-learn does. The file was made with Python 3.11 and is part of the repository; `--check` only
compares it.
"""

from __future__ import annotations

import argparse
import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

TARGET = Path(__file__).resolve().parent.parent / "src" / "core" / "tfidf" / "unicode_tables.hpp"
LAST = 0x110000
PAGE = 128
HANGUL = range(0xAC00, 0xD7A4)  # decomposed by arithmetic
SIGMA = "\N{GREEK CAPITAL LETTER SIGMA}"
FINAL = "\N{GREEK SMALL LETTER FINAL SIGMA}"
WORD, SPACE, CASED, IGNORABLE = 1, 2, 4, 8


def flags(character: str) -> int:
    r"""Return the flags of a character: matched by \w, by \s, and its effect on str.lower of a capital sigma."""
    found = 0
    if re.match(r"\w", character):
        found |= WORD
    if re.match(r"\s", character):
        found |= SPACE
    # A capital sigma becomes a final sigma after a cased character; case-ignorable characters between are skipped.
    if (character + SIGMA).lower().endswith(FINAL):
        found |= CASED
    elif ("a" + character + SIGMA).lower().endswith(FINAL):
        found |= IGNORABLE
    return found


def lower(character: str) -> list[int]:
    """Return the code points of the character's own lower case."""
    return [ord(c) for c in character.lower()]


def stripped(character: str) -> list[int]:
    """Return the code points of the NFKD form without combining characters."""
    return [ord(c) for c in unicodedata.normalize("NFKD", character) if not unicodedata.combining(c)]


class Pages:
    """A table with one value per code point, in two levels: equal pages are stored once."""

    def __init__(self, values: Sequence[int]) -> None:
        self.index: list[int] = []
        self.values: list[int] = []
        places: dict[tuple[int, ...], int] = {}
        for start in range(0, LAST, PAGE):
            page = tuple(values[start : start + PAGE])
            if page not in places:
                places[page] = len(places)
                self.values.extend(page)
            self.index.append(places[page])


def table(kind: str, name: str, values: Iterable[int]) -> str:
    """Return one C++ array."""
    texts = [str(value) for value in values]
    lines, line = [], ""
    for text in texts:
        if len(line) + len(text) + 2 > 118:
            lines.append(line.rstrip())
            line = ""
        line += text + ", "
    lines.append(line.rstrip())
    body = "\n    ".join(lines)
    return f"inline constexpr {kind} {name}[{len(texts)}] = {{\n    {body}\n}};\n"


def make() -> str:
    """Return the text of the header."""
    deltas = [0]  # of lower case; a record is (delta, flags)
    records: dict[tuple[int, int], int] = {}
    kinds: list[int] = []
    strip_ids = [0] * LAST
    pool: list[int] = []
    starts = [0, 0]  # of the sequences in the pool; number 0 means "itself"
    sequences: dict[tuple[int, ...], int] = {}
    for code in range(LAST):
        character = chr(code)
        if 0xD800 <= code < 0xE000:  # surrogates: never in UTF-8 text
            lowered, found, plain = [code], 0, [code]
        else:
            lowered, found, plain = lower(character), flags(character), stripped(character)
        if len(lowered) > 1 and code != 0x130:
            message = f"U+{code:04X} has a lower case of {len(lowered)} characters: unicode_text.cpp knows only U+0130"
            raise SystemExit(message)
        record = (0 if code == 0x130 else lowered[0] - code, found)
        kinds.append(records.setdefault(record, len(records)))
        if plain != [code] and code not in HANGUL:
            sequence = tuple(plain)
            if sequence not in sequences:
                sequences[sequence] = len(starts) - 1
                pool.extend(sequence)
                starts.append(len(pool))
            strip_ids[code] = sequences[sequence]
    deltas = [delta for delta, _ in records]
    classes, strips = Pages(kinds), Pages(strip_ids)
    if len(records) > 256 or max(classes.index) > 65535 or max(strip_ids) > 65535:
        message = "a table has values that do not fit its type"
        raise SystemExit(message)
    parts = [
        "// Made by scripts/make_unicode_tables.py: do not edit.",
        f"// Python {sys.version_info.major}.{sys.version_info.minor}, Unicode {unicodedata.unidata_version}.",
        "// clang-format off",
        "#pragma once",
        "",
        "#include <cstdint>",
        "",
        "namespace labeltrees::tfidf::unicode {",
        "",
        f'inline constexpr char version[] = "{unicodedata.unidata_version}";',
        f"inline constexpr uint32_t page_size = {PAGE};",
        f"inline constexpr uint8_t word = {WORD}, space = {SPACE}, cased = {CASED}, ignorable = {IGNORABLE};",
        "",
        "// A code point's page, the record of its place in the page, and the record: flags, lower case minus itself.",
        table("uint16_t", "class_page", classes.index),
        table("uint8_t", "class_record", classes.values),
        table("uint8_t", "record_flags", [found for _, found in records]),
        table("int32_t", "record_lower", deltas),
        "// NFKD without combining characters: a sequence of the pool, or 0 for the code point itself.",
        table("uint16_t", "strip_page", strips.index),
        table("uint16_t", "strip_sequence", strips.values),
        table("uint32_t", "strip_start", starts),
        table("uint32_t", "strip_pool", pool),
        "}  // namespace labeltrees::tfidf::unicode",
        "",
    ]
    return "\n".join(parts)


def main() -> None:
    """Write the header, or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only check that the file is what this Python would write")
    text = make()
    if parser.parse_args().check:
        sys.exit(None if TARGET.read_text() == text else f"{TARGET.name} differs from the tables of this Python")
    TARGET.write_text(text)
    print(f"{TARGET}: {len(text):,} bytes, Unicode {unicodedata.unidata_version}")


if __name__ == "__main__":
    main()
