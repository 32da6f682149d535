"""An encoder in a file: the same bytes again, and damage is refused."""

import json

import numpy as np
import pytest

import labeltrees as lt
from labeltrees import _core
from labeltrees.data.encoder_file import read_encoder, write_encoder
from labeltrees.data.encoders import encoder_from_files
from tests.data.test_encoders import make_parts, make_union


def with_ids():
    return lt.encoders.ItemEncoder(["milk", "bread"], ids=[7, 8], norm="l2")


ENCODERS = {
    "text": lambda: make_parts()["query"],
    "items": with_ids,
    "column": lambda: make_parts()["tags"],
    "union": make_union,
}
CONTEXTS = {"text": "red wine", "items": ["milk", 8], "column": "new,sale", "union": {"query": "red", "tags": ["new"]}}


@pytest.mark.parametrize("kind", ENCODERS)
def test_an_encoder_is_the_same_after_writing_and_reading(kind, tmp_path):
    encoder, first, second = ENCODERS[kind](), tmp_path / "a", tmp_path / "b"
    write_encoder(encoder, first)
    again = read_encoder(first)
    again.verify()
    assert type(again) is type(encoder)
    assert (again.transform([CONTEXTS[kind]]) != encoder.transform([CONTEXTS[kind]])).nnz == 0
    write_encoder(again, second)
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("kind", ENCODERS)
def test_every_damaged_file_is_refused(kind, tmp_path):
    path = tmp_path / "encoder.bin"
    write_encoder(ENCODERS[kind](), path)
    data = path.read_bytes()
    rng = np.random.default_rng(0)
    places = rng.choice(len(data), size=60)
    damaged = [data[:place] + bytes([data[place] ^ (1 << rng.integers(8))]) + data[place + 1 :] for place in places]
    for content in [*damaged, b"", data[:7], data[:-1], data[:40], data + b"\0"]:
        path.write_bytes(content)
        with pytest.raises(lt.errors.FileFormatError, match="encoder"):
            read_encoder(path)


def forged(path, listed, content=bytes(64), settings=None):
    """An encoder file with a right checksum, and any list of arrays."""
    header = json.dumps({"encoder": settings or {}, "arrays": listed}).encode()
    body = b"labeltrees encoder 1\n" + header + b"\n" + content
    path.write_bytes(body + _core.xxh64(np.frombuffer(body, np.uint8)).to_bytes(8, "little"))
    return path


@pytest.mark.parametrize(
    "entry",
    [
        None,
        ["a", "|u1"],
        ["a", "|u1", [64], 1],
        ["a", "|O8", [8]],
        ["a", ["|u1"], [64]],
        [1, "|u1", [64]],
        ["a", "|u1", 64],
        ["a", "|u1", []],
        ["a", "|u1", [8, 8]],
        ["a", "|u1", [64.0]],
        ["a", "|u1", [True]],
        ["a", "|u1", [-1]],
        ["a", "|u1", [10**6]],
    ],
    ids=str,
)
def test_a_damaged_list_of_arrays_is_refused(tmp_path, entry):
    for listed in ([entry], {"a": entry}):
        with pytest.raises(lt.errors.FileFormatError, match="its list of arrays is damaged"):
            read_encoder(forged(tmp_path / "encoder.bin", listed))


def test_arrays_must_fill_the_file(tmp_path):
    path = tmp_path / "encoder.bin"
    with pytest.raises(lt.errors.FileFormatError, match="shorter than its arrays"):
        read_encoder(forged(path, [["a", "<i8", [9]]]))
    with pytest.raises(lt.errors.FileFormatError, match="longer than its arrays"):
        read_encoder(forged(path, [["a", "|u1", [63]]]))
    for listed in ([["a", "|u1", [64]]], [["a", "<i8", [8]], ["b", "|u1", [0]]]):
        with pytest.raises(lt.errors.FileFormatError, match="of one of the kinds"):  # the arrays are sound
            read_encoder(forged(path, listed))


@pytest.mark.parametrize("header", [b"", b"{", b"[" * 10**5, b"[]", b'{"encoder": {}}', b'{"a": 1, "arrays": []}'])
def test_a_damaged_header_is_refused(tmp_path, header):
    for end in (b"\n", b""):
        body = b"labeltrees encoder 1\n" + header + end
        checksum = _core.xxh64(np.frombuffer(body, np.uint8)).to_bytes(8, "little")
        (tmp_path / "encoder.bin").write_bytes(body + checksum)
        with pytest.raises(lt.errors.FileFormatError, match="its header is damaged"):
            read_encoder(tmp_path / "encoder.bin")


def test_the_header_has_a_limit(tmp_path, monkeypatch):
    path = forged(tmp_path / "encoder.bin", [["a", "|u1", [64]]])
    n_bytes = len(json.dumps({"encoder": {}, "arrays": [["a", "|u1", [64]]]})) + 1
    for limit, fault in ((n_bytes, "of one of the kinds"), (n_bytes - 1, "its header is damaged")):
        monkeypatch.setattr("labeltrees.data.encoder_file._HEADER_BYTES", limit)
        with pytest.raises(lt.errors.FileFormatError, match=fault):
            read_encoder(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(lt.errors.FileFormatError, match=r"nothing\.bin: No such file"):
        read_encoder(tmp_path / "nothing.bin")


def change(settings, arrays, **values):
    return {**settings, **values}, arrays


def with_arrays(settings, arrays, **values):
    return settings, {**arrays, **{name.replace("__", "."): value for name, value in values.items()}}


HOSTILE = {
    "no object": ("items", lambda s, a: ([], a), "of one of the kinds"),
    "unknown kind": ("items", lambda s, a: change(s, a, kind="os.system"), "of one of the kinds"),
    "kind of another type": ("items", lambda s, a: change(s, a, kind=["items"]), "of one of the kinds"),
    "unknown setting": ("items", lambda s, a: change(s, a, extra=1), "must have the keys"),
    "bad weighting": ("items", lambda s, a: change(s, a, weighting=3), "weighting"),
    "no names": ("items", lambda s, a: (s, {}), "names is missing"),
    "no ends": ("items", lambda s, a: (s, {"names": a["names"]}), "are damaged"),
    "other type": ("items", lambda s, a: with_arrays(s, a, names=np.ones(3)), "are damaged"),
    "two dimensions": ("items", lambda s, a: with_arrays(s, a, names__ends=np.zeros((1, 3), np.int64)), "damaged"),
    "ends of nothing": ("items", lambda s, a: with_arrays(s, a, names__ends=np.zeros(1, np.int64)), "has 0 names"),
    "fewer ids": ("items", lambda s, a: with_arrays(s, a, ids__ends=np.zeros(2, np.int64)), "one id per name"),
    "union of nothing": ("union", lambda s, a: change(s, a, parts=[]), "1 to 16 encoders"),
    "union of numbers": ("union", lambda s, a: change(s, a, parts=[3]), "name, weight and encoder"),
    "union of itself": (
        "union",
        lambda s, a: change(s, a, parts=[{"name": "a", "weight": 1, "encoder": s}]),
        "must not be a union",
    ),
    "same names": ("union", lambda s, a: change(s, a, parts=[s["parts"][0]] * 2), "different names"),
    "bad weight": ("union", lambda s, a: change(s, a, parts=[{**s["parts"][0], "weight": "1"}]), "weights"),
    "text without settings": ("text", lambda s, a: ({**s, "settings": None}, a), "settings"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_values_are_refused(case):
    kind, alter, message = HOSTILE[case]
    settings, arrays = alter(*ENCODERS[kind]().to_files(""))
    with pytest.raises(lt.errors.FileFormatError, match=message):
        encoder_from_files(json.loads(json.dumps(settings)), arrays, "", "somewhere")


@pytest.mark.parametrize(
    "ends", [[0, 99, 9], [0, 4, 99], [0, -1, 9], [-5, 4, 9], [0, 8, 4], [2**62, 2**62, 2**62]], ids=str
)
@pytest.mark.parametrize("which", ["names", "ids"])
def test_damaged_bounds_are_refused_when_names_are_first_used(which, ends):
    settings, arrays = with_ids().to_files("")
    arrays[f"{which}.ends"] = np.array(ends, np.int64)
    encoder = encoder_from_files(settings, arrays, "", "somewhere")
    with pytest.raises(lt.errors.FileFormatError, match="somewhere"):
        encoder.transform([["unknown"]])
    with pytest.raises(lt.errors.FileFormatError, match="somewhere"):
        encoder.verify()


def test_names_that_are_not_unicode_or_occur_twice_are_found_by_verify():
    for text in (b"\xff\xfe\xfd\xfcbread", b"breabread"):
        settings, arrays = with_ids().to_files("")
        arrays["names"] = np.frombuffer(text, np.uint8)
        arrays["names.ends"] = np.array([0, 4, 8] if text.startswith(b"brea") else [0, 4, 9], np.int64)
        encoder = encoder_from_files(settings, arrays, "", "somewhere")
        assert encoder.transform([["x"]]).nnz == 0
        if text.startswith(b"\xff"):
            with pytest.raises(lt.errors.FileFormatError, match="somewhere"):
                encoder.verify()
    arrays["names"], arrays["names.ends"] = np.frombuffer(b"samesame", np.uint8), np.array([0, 4, 8])
    with pytest.raises(lt.errors.FileFormatError, match="occurs twice"):
        encoder_from_files(settings, arrays, "", "somewhere").verify()


def test_another_version_is_named(tmp_path):
    (tmp_path / "later.bin").write_bytes(b"labeltrees encoder 2\n" + bytes(100))
    with pytest.raises(lt.errors.FileFormatError, match=r"later\.bin: not an encoder of this version"):
        read_encoder(tmp_path / "later.bin")
