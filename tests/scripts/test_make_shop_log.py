"""The bundled log is what its script makes."""

import lzma

from scripts import make_shop_log


def test_the_bundled_log_is_what_the_script_makes():
    assert lzma.decompress(make_shop_log.OUTPUT.read_bytes()).decode() == make_shop_log.make_log()
    assert make_shop_log.OUTPUT.stat().st_size < 1_000_000
