"""The share of labels found that benchmarks/budgets.py reports, and the compression of its charts."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest

from benchmarks.budgets import share_found
from benchmarks.png import packed


@pytest.mark.parametrize(
    ("found", "exact", "share"),
    [
        ([[1, 2, 3]], [[3, 2, 1]], 1.0),
        ([[1, 2, 3]], [[1, 8, 9]], 1 / 3),
        ([[1, -1, -1]], [[1, 2, -1]], 0.5),
        ([[-1, -1], [4, 5]], [[1, 2], [4, 5]], 0.5),
    ],
)
def test_share_found_ignores_padding(found: list[list[int]], exact: list[list[int]], share: float) -> None:
    assert share_found(np.array(found), np.array(exact)) == pytest.approx(share)


def block(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def test_a_compressed_chart_has_the_same_header_and_pixels() -> None:
    header = struct.pack(">IIBBBBB", 50, 40, 8, 6, 0, 0, 0)
    pixels = bytes(range(256)) * 32
    data = zlib.compress(pixels, 0)
    image = b"\x89PNG\r\n\x1a\n" + block(b"IHDR", header) + block(b"pHYs", b"123456789")
    image += block(b"IDAT", data[:1000]) + block(b"IDAT", data[1000:]) + block(b"IEND", b"")
    small = packed(image)
    assert len(small) < len(image) / 10
    assert small[:33] == image[:33]
    length = struct.unpack(">I", small[33:37])[0]
    assert small[37:41] == b"IDAT"
    assert zlib.decompress(small[41 : 41 + length]) == pixels
    assert small.endswith(block(b"IEND", b""))
