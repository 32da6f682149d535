"""The checksum against published values of XXH64."""

import numpy as np
import pytest

from labeltrees import _core


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"", 0xEF46DB3751D8E999),
        (b"a", 0xD24EC4F1A98C6E5B),
        (b"abc", 0x44BC2CF5AD770999),
        (b"Nobody inspects the spammish repetition", 0xFBCEA83C8A378BF1),
    ],
)
def test_the_checksum_is_xxh64(text, value):
    assert _core.xxh64(np.frombuffer(text, np.uint8)) == value
