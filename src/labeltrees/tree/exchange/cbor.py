"""A small strict CBOR reader (RFC 8949): only what is needed to find a tree among large weights."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NoReturn

from labeltrees._files import refuse_file

UNSIGNED, BYTES, TEXT, ARRAY, MAP, TAG = 0, 2, 3, 4, 5, 6

# Runs of numbers are skipped by a regular expression, for speed: weights are arrays of millions of numbers. The first
# byte gives the size: integers up to 0x3b, floats 0xf9 to 0xfb.
_RUN = 512
_NUMBER = (
    rb"[\x00-\x17\x20-\x37]|[\x18\x38][\x00-\xff]|[\x19\x39\xf9][\x00-\xff]{2}"
    rb"|[\x1a\x3a\xfa][\x00-\xff]{4}|[\x1b\x3b\xfb][\x00-\xff]{8}"
)
_NUMBERS = re.compile(rb"(?>" + _NUMBER + rb"){%d}" % _RUN)


class CborReader:
    """Reads the bytes of one file; a size beyond its end is refused before it is used."""

    def __init__(self, path: Path) -> None:
        self.path, self.data, self.position = path, path.read_bytes(), 0

    def refuse(self, fault: str) -> NoReturn:
        """Raise the error for a fault at the current position."""
        refuse_file(self.path, f"{fault} at byte {self.position}")

    def head(self) -> tuple[int, int]:
        """Return the major type of the next item and its number: a value, a length or a count."""
        start = self.position
        if start >= len(self.data):
            self.refuse("ends too soon")
        kind, number = self.data[start] >> 5, self.data[start] & 31
        self.position += 1
        if number >= 24:
            if number > 27:
                self.refuse("has an item of indefinite length or an unknown kind")
            size = 1 << (number - 24)
            if len(self.data) - self.position < size:
                self.refuse("ends too soon")
            number = int.from_bytes(self.data[self.position : self.position + size], "big")
            self.position += size
        items = {ARRAY: number, MAP: 2 * number, TEXT: number, BYTES: number}.get(kind, 0)
        if items > len(self.data) - self.position:
            self.refuse(f"claims {number} items or bytes, more than the file has left,")
        return kind, number

    def expect(self, kind: int, what: str) -> int:
        """Return the number of the next item, which must be of `kind`."""
        found, number = self.head()
        if found != kind:
            self.refuse(f"has something else where {what} should be")
        return number

    def text(self) -> str:
        """Return the next item, a text."""
        size = self.expect(TEXT, "a text")
        try:
            value = self.data[self.position : self.position + size].decode()
        except UnicodeDecodeError:
            self.refuse("has a text that is not UTF-8")
        self.position += size
        return value

    def unsigned_list(self, below: int) -> list[int]:
        """Return the next item, an array of unsigned integers, all smaller than `below`."""
        count = self.expect(ARRAY, "an array")
        values = [self.expect(UNSIGNED, "an unsigned integer") for _ in range(count)]
        if max(values, default=0) >= below:
            self.refuse(f"has an integer of {below} or more")
        return values

    def skip(self) -> None:
        """Skip the next item, of any type and depth."""
        waiting = 1
        while waiting > 0:
            while waiting >= _RUN:
                run = _NUMBERS.match(self.data, self.position)
                if run is None:
                    break
                waiting -= _RUN
                self.position = run.end()
            if waiting == 0:
                return
            kind, number = self.head()
            waiting -= 1
            if kind in (ARRAY, MAP, TAG):
                waiting += {ARRAY: number, MAP: 2 * number, TAG: 1}[kind]
            elif kind in (BYTES, TEXT):
                self.position += number
