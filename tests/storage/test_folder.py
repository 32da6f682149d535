"""Model folders: what was saved comes back, a crash leaves a whole model, damaged or hostile folders are refused."""

import errno
import json
import os
import re
import shutil
import socket

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labeltrees import _core
from labeltrees.errors import FileFormatError, InputError
from labeltrees.storage import FORMAT_VERSION, load_arrays, save_arrays
from labeltrees.storage import folder as folder_module
from labeltrees.storage.folder import FORMAT_NAME, MANIFEST_BYTES, MANIFEST_FILE
from tests.storage.conftest import ARRAYS, PARAMETERS

pytestmark = pytest.mark.smoke


def test_the_files_are_plain_numpy(folder):
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(np.load(folder / f"{name}.npy", allow_pickle=False), array)


def test_data_starts_on_a_cache_line(folder):
    for name, entry in load_arrays(folder).manifest.arrays.items():
        assert len(entry.header()) % 64 == 0, name


def test_saving_replaces_a_model_and_leaves_nothing_else(folder):
    before = load_arrays(folder).arrays["ids"]
    save_arrays(folder, "Other", {}, {"ids": np.arange(3)})
    assert load_arrays(folder).manifest.kind == "Other"
    assert [entry.name for entry in folder.parent.iterdir()] == ["model"]
    assert sorted(entry.name for entry in folder.iterdir()) == ["ids.npy", "manifest.json"]
    np.testing.assert_array_equal(before, ARRAYS["ids"])  # whoever has the old one open keeps it


def test_saving_replaces_where_paths_cannot_be_swapped(folder, monkeypatch):
    monkeypatch.setattr(_core, "exchange_paths", lambda *_: errno.ENOSYS)
    save_arrays(folder, "Other", {}, {"ids": np.arange(3)})
    assert load_arrays(folder).manifest.kind == "Other"
    assert [entry.name for entry in folder.parent.iterdir()] == ["model"]


def test_a_failed_save_leaves_the_old_model(folder, monkeypatch):
    with pytest.raises(InputError, match="bad"):
        save_arrays(folder, "Other", {}, {"ids": np.arange(3), "bad": np.array(["text"])})
    monkeypatch.setattr(_core, "exchange_paths", lambda *_: errno.EACCES)
    with pytest.raises(PermissionError):
        save_arrays(folder, "Other", {}, {"ids": np.arange(3)})
    assert load_arrays(folder, verify=True).manifest.kind == "Example"
    assert [entry.name for entry in folder.parent.iterdir()] == ["model"]


def test_a_folder_that_is_not_a_model_is_not_replaced(tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_text("meow")
    (tmp_path / "file").write_text("text")
    for name in ("photos", "file"):
        with pytest.raises(InputError, match="not a saved model"):
            save_arrays(tmp_path / name, "Example", {}, {})
    assert (tmp_path / "photos" / "cat.jpg").read_text() == "meow"
    (tmp_path / "empty").mkdir()
    save_arrays(tmp_path / "empty", "Example", {}, {})
    assert load_arrays(tmp_path / "empty").arrays == {}


def test_a_folder_that_only_looks_like_a_model_is_not_replaced(tmp_path):
    for name, manifest, other in (("notes", FORMAT_NAME, "notes.txt"), ("foreign", "other", "weights.npy")):
        (tmp_path / name).mkdir()
        (tmp_path / name / MANIFEST_FILE).write_text(json.dumps({"format": manifest}))
        (tmp_path / name / other).write_text("mine")
        with pytest.raises(InputError, match="not a saved model"):
            save_arrays(tmp_path / name, "Example", {}, {})
        assert (tmp_path / name / other).read_text() == "mine"


@pytest.mark.parametrize("name", ["../x", "a/b", "A", "", ".a", "a b", "a" * 100, "é"])
def test_names_that_could_leave_the_folder_are_refused(tmp_path, name):
    with pytest.raises(InputError, match="name"):
        save_arrays(tmp_path / "model", "Example", {}, {name: np.arange(3)})
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("parameters", [{"x": np.nan}, {"x": object()}, {"x": {1, 2}}], ids=str)
def test_parameters_that_are_not_json_are_refused(tmp_path, parameters):
    with pytest.raises(InputError, match="parameters"):
        save_arrays(tmp_path / "model", "Example", parameters, {})


@pytest.mark.parametrize("array", [np.array(["a"]), np.array([1j]), np.array(3), np.array([None])], ids=str)
def test_arrays_of_other_types_are_refused(tmp_path, array):
    with pytest.raises(InputError, match="array x"):
        save_arrays(tmp_path / "model", "Example", {}, {"x": array})


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


@pytest.mark.parametrize("options", [{}, {"in_memory": True}, {"verify": True}], ids=str)
def test_everything_comes_back(folder, options):
    loaded = load_arrays(folder, **options)
    assert loaded.manifest.kind == "Example"
    assert loaded.manifest.parameters == PARAMETERS
    assert loaded.arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert loaded.arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(loaded.arrays[name], array)
        assert not loaded.arrays[name].flags.writeable


def test_arrays_in_memory_do_not_change_with_their_files(folder):
    copied, mapped = load_arrays(folder, in_memory=True).arrays["ids"], load_arrays(folder).arrays["ids"]
    before = mapped.copy()
    with open(folder / "ids.npy", "r+b") as file:
        file.seek(-1, os.SEEK_END)
        last = file.read(1)
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last[0] ^ 1]))
    assert not np.array_equal(mapped, before)
    np.testing.assert_array_equal(copied, before)


def test_a_missing_folder_or_file_is_named(folder):
    with pytest.raises(FileFormatError, match=r"none: no such folder"):
        load_arrays(folder.parent / "none")
    os.remove(folder / "ids.npy")
    with pytest.raises(FileFormatError, match=r"ids\.npy: No such file"):
        load_arrays(folder)


@pytest.mark.parametrize("change", ["cut", "grown", "emptied"])
def test_a_file_of_another_length_is_refused(folder, change):
    data = (folder / "ids.npy").read_bytes()
    (folder / "ids.npy").write_bytes({"cut": data[:-1], "grown": data + b"\0", "emptied": b""}[change])
    with pytest.raises(FileFormatError, match=r"ids\.npy: \d+ bytes long, \d+ expected"):
        load_arrays(folder)


def test_a_file_with_another_header_is_refused(folder):
    data = (folder / "ids.npy").read_bytes()
    (folder / "ids.npy").write_bytes(data.replace(b"<i4", b"<f4"))
    with pytest.raises(FileFormatError, match=r"ids\.npy: its header"):
        load_arrays(folder)


def test_altered_contents_are_found_by_verify(folder):
    data = bytearray((folder / "weights.npy").read_bytes())
    data[-1] ^= 1
    (folder / "weights.npy").write_bytes(data)
    load_arrays(folder)
    with pytest.raises(FileFormatError, match=r"weights\.npy: its checksum"):
        load_arrays(folder, verify=True)


def make_socket(path):
    here = os.getcwd()
    os.chdir(path.parent)  # the path of a socket may have 107 bytes
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def make_device(path):
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("name", ["ids.npy", "manifest.json"])
@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, make_socket, make_device])
def test_anything_but_a_regular_file_is_refused_at_once(folder, make, name):
    os.remove(folder / name)
    make(folder / name)
    with pytest.raises(FileFormatError, match=re.escape(name)):
        load_arrays(folder)


class Unpickled:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, path):
        self._path = path

    def __reduce__(self):
        return os.mkdir, (self._path,)


def test_no_array_is_unpickled(folder):
    trace = folder.parent / "trace"
    np.save(folder / "ids.npy", np.array([Unpickled(str(trace))] * 3, dtype=object), allow_pickle=True)
    for dtype in ("<i4", "|O", "object"):
        rewrite(folder, set_array(dtype=dtype, shape=[3]))
        for verify in (False, True):
            with pytest.raises(FileFormatError):
                load_arrays(folder, verify=verify)
    assert not trace.exists()
    np.load(folder / "ids.npy", allow_pickle=True)
    assert trace.exists()  # the file is as hostile as it should be


def test_a_file_in_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "model").write_text("text")
    with pytest.raises(FileFormatError, match=r"model: Not a directory"):
        load_arrays(tmp_path / "model")


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_no_descriptor_stays_open(folder):
    before = os.listdir("/proc/self/fd")
    load_arrays(folder, in_memory=True)
    os.remove(folder / "ids.npy")
    with pytest.raises(FileFormatError, match=r"ids\.npy"):
        load_arrays(folder, in_memory=True)
    assert os.listdir("/proc/self/fd") == before


# ---- while another process saves -------------------------------------------------------------------------------------


@pytest.fixture(params=["handle", "paths"])
def any_system(request, monkeypatch):
    """Both ways to open files: through a handle of the folder, and by path where the system cannot do that."""
    if request.param == "paths":
        monkeypatch.setattr(os, "supports_dir_fd", set())


def replace_during(monkeypatch, folder, n_times):
    """Replace the model whenever its array `ids` is about to be opened, the first `n_times`."""
    kinds = iter(f"Version{number}" for number in range(n_times))
    original = folder_module.open_regular

    def open_regular(path, handle=None):
        if path.name == "ids.npy" and (kind := next(kinds, None)) is not None:
            save_arrays(folder, kind, {}, {name: array[::-1] for name, array in ARRAYS.items()})
        return original(path, handle)

    monkeypatch.setattr(folder_module, "open_regular", open_regular)


@pytest.mark.usefixtures("any_system")
@pytest.mark.parametrize("options", [{}, {"in_memory": True}, {"verify": True}], ids=str)
@pytest.mark.parametrize("n_times", [1, 2, 5])
def test_a_model_replaced_while_it_is_read_is_read_again(folder, monkeypatch, options, n_times):
    replace_during(monkeypatch, folder, n_times)
    loaded = load_arrays(folder, **options)
    assert loaded.manifest.kind == f"Version{n_times - 1}"
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(loaded.arrays[name], array[::-1])


@pytest.mark.usefixtures("any_system")
def test_a_model_that_is_replaced_all_the_time_is_an_error(folder, monkeypatch):
    monkeypatch.setattr(folder_module, "MAX_ATTEMPTS", 3)
    replace_during(monkeypatch, folder, 100)
    with pytest.raises(FileFormatError, match="replaced by another process during each of 3 attempts"):
        load_arrays(folder)


def test_where_paths_cannot_be_exchanged_a_missing_folder_is_awaited(folder, monkeypatch):
    aside = folder.with_name(".model.old-0123")
    folder.rename(aside)
    monkeypatch.setattr(folder_module.time, "sleep", lambda _: aside.exists() and aside.rename(folder))
    assert load_arrays(folder).manifest.kind == "Example"


def test_a_folder_deleted_while_it_is_read_is_an_error(folder, monkeypatch):
    original = folder_module.open_regular

    def open_regular(path, handle=None):
        if path.name == "ids.npy":
            shutil.rmtree(folder, ignore_errors=True)
        return original(path, handle)

    monkeypatch.setattr(folder_module, "open_regular", open_regular)
    with pytest.raises(FileFormatError, match="model: no such folder"):
        load_arrays(folder)
