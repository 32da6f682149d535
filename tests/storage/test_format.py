"""Manifests that are damaged or hostile are refused."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labeltrees import _core
from labeltrees.errors import FileFormatError
from labeltrees.storage import FORMAT_VERSION, load_arrays, save_arrays
from labeltrees.storage.format import MANIFEST_BYTES
from tests.storage.conftest import PARAMETERS


def rewrite(folder, change):
    """Change the manifest as someone would who can compute checksums."""
    body = json.loads((folder / "manifest.json").read_text())
    change(body)
    body.pop("checksum", None)
    canonical = json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
    body["checksum"] = f"{_core.xxh64(np.frombuffer(canonical, np.uint8)):016x}"
    (folder / "manifest.json").write_text(json.dumps(body))


def set_array(**values):
    return lambda body: body["arrays"]["ids"].update(values)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda body: body.update(version=FORMAT_VERSION + 1), "newer"),
        (lambda body: body.update(version="1"), "version"),
        (lambda body: body.update(version=True), "version"),
        (lambda body: body.update(version=0), "version"),
        (lambda body: body.update(format="other"), "not the manifest"),
        (lambda body: body.update(extra=1), "keys"),
        (lambda body: body.pop("class"), "keys"),
        (lambda body: body.update({"class": 5}), "class"),
        (lambda body: body.update(parameters=[]), "parameters"),
        (lambda body: body.update(arrays=[]), "arrays"),
        (lambda body: body["arrays"].update({"../../etc/passwd": body["arrays"]["ids"]}), "not a valid array name"),
        (lambda body: body["arrays"].update({"/etc/passwd": body["arrays"]["ids"]}), "not a valid array name"),
        (set_array(shape=[2**40, 2**40]), "impossible"),
        (set_array(shape=[2**62, 4]), "impossible"),
        (set_array(shape=[-7]), "impossible"),
        (set_array(shape=[7.0]), "impossible"),
        (set_array(shape=[True]), "impossible"),
        (set_array(shape=[]), "shape"),
        (set_array(shape=7), "shape"),
        (set_array(shape=[8]), "expected"),
        (set_array(shape=[1, 7]), "header"),
        (set_array(dtype="<f4"), "header"),
        (set_array(dtype="O"), "dtype"),
        (set_array(dtype=["<i4"]), "dtype"),
        (set_array(checksum="zz"), "checksum"),
        (set_array(file="/etc/passwd"), "must have"),
    ],
)
def test_hostile_manifests_are_refused(folder, change, message):
    rewrite(folder, change)
    with pytest.raises(FileFormatError, match=message):
        load_arrays(folder)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "{}",
        '{"format": "labeltrees"}',
        "[" * 100_000,
        '{"format": NaN}',
        '{"a": 1, "a": 2}',
        '{"format": "labeltrees", "version": ' + "1" * 5000 + "}",
        '{"format": "labeltrees", "version": 1, "class": "A", "parameters": {"k": 9e999}, "arrays": {}, "checksum":""}',
    ],
    ids=lambda text: text[:20],
)
def test_broken_manifests_are_refused(folder, text):
    (folder / "manifest.json").write_text(text)
    with pytest.raises(FileFormatError, match=r"manifest\.json"):
        load_arrays(folder)


def test_a_key_that_occurs_twice_is_refused(folder):
    text = (folder / "manifest.json").read_text()
    (folder / "manifest.json").write_text(text.replace("{", '{"version": 99, ', 1))
    assert json.loads((folder / "manifest.json").read_text()) == json.loads(text)
    with pytest.raises(FileFormatError, match="a key occurs twice"):
        load_arrays(folder)


def test_a_manifest_of_the_longest_length_is_read(folder):
    text = (folder / "manifest.json").read_text()
    (folder / "manifest.json").write_text(text.ljust(MANIFEST_BYTES))
    assert load_arrays(folder).manifest.kind == "Example"
    (folder / "manifest.json").write_text(text.ljust(MANIFEST_BYTES + 1))
    with pytest.raises(FileFormatError, match="too long"):
        load_arrays(folder)


def test_a_manifest_that_is_not_text_or_too_long_is_refused(folder):
    (folder / "manifest.json").write_bytes(b"\xff\xfe")
    with pytest.raises(FileFormatError, match="UTF-8"):
        load_arrays(folder)
    (folder / "manifest.json").write_bytes(b" " * (17 * 2**20))
    with pytest.raises(FileFormatError, match="too long"):
        load_arrays(folder)


@given(st.data())
def test_a_manifest_with_any_byte_changed_is_refused(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("fuzz") / "model"
    save_arrays(folder, "Example", PARAMETERS, {"ids": np.arange(3)})
    original = (folder / "manifest.json").read_bytes()
    place = data.draw(st.integers(0, len(original) - 1))
    value = data.draw(st.integers(0, 255))
    altered = original[:place] + bytes([value]) + original[place + 1 :]
    (folder / "manifest.json").write_bytes(altered)
    try:
        same = json.loads(altered) == json.loads(original)  # only white space differs
    except ValueError:
        same = False
    if same:
        load_arrays(folder)
    else:
        with pytest.raises(FileFormatError):
            load_arrays(folder)


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
