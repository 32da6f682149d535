"""The compression of charts by benchmarks/png.py."""

from __future__ import annotations

import struct
import zlib

from benchmarks.png import packed


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
