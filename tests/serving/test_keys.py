"""API keys."""

import hmac

import pytest

from labeltrees.errors import FileFormatError, InputError
from labeltrees.serving.keys import Keys, read_keys


def test_every_key_is_compared_in_constant_time(monkeypatch):
    compared = []

    def compare(one, other):
        compared.append((one, other))
        return one == other

    monkeypatch.setattr(hmac, "compare_digest", compare)
    keys = Keys(["first", "second", "third"])
    assert keys.allow({"x-api-key": "first"}.get)
    assert not keys.allow({"x-api-key": "f"}.get)
    assert len(compared) == 6
    assert len({len(text) for pair in compared for text in pair}) == 1


def test_a_file_without_keys_is_refused(tmp_path):
    file = tmp_path / "keys"
    file.write_text("# none\n")
    with pytest.raises(FileFormatError, match="no keys"):
        read_keys(file)
    with pytest.raises(InputError, match="api_keys"):
        read_keys([""])
