"""The checksum of a file, read block by block, is that of its bytes."""

import numpy as np
import pytest

from labeltrees import _array_files, _core


@pytest.mark.parametrize("size", [0, 1, 4, 8, 31, 32, 33, 63, 64, 95, 96, 127, 128, 129, 1000])
def test_blocks_have_the_checksum_of_the_whole(tmp_path, monkeypatch, size):
    monkeypatch.setattr(_array_files, "_BLOCK_BYTES", 64)
    content = np.random.default_rng(size).integers(0, 256, size).astype(np.uint8)
    (tmp_path / "file").write_bytes(content.tobytes())
    assert _array_files.hash_file(tmp_path / "file") == _core.xxh64(content)


def test_pieces_of_other_sizes_are_refused():
    state = _core.Xxh64()
    state.add(np.zeros(64, np.uint8))
    with pytest.raises(ValueError, match="whole stripes"):
        state.add(np.zeros(33, np.uint8))
    first = state.finish(np.ones(5, np.uint8))
    assert first == state.finish(np.ones(5, np.uint8))  # what was added stays as it is
