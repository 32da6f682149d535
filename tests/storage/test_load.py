"""A model's folder comes back as it was saved, or is refused with a message that names the fault."""

import os
import shutil

import numpy as np
import pytest

from labeltrees.errors import FileFormatError
from labeltrees.storage import load as load_module
from labeltrees.storage import load_arrays, save_arrays
from tests.storage.conftest import ARRAYS, PARAMETERS


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


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_anything_but_a_regular_file_is_refused_at_once(folder, make):
    os.remove(folder / "ids.npy")
    make(folder / "ids.npy")
    with pytest.raises(FileFormatError, match=r"ids\.npy"):
        load_arrays(folder)


def test_a_pipe_in_place_of_the_manifest_is_refused_at_once(folder):
    os.remove(folder / "manifest.json")
    os.mkfifo(folder / "manifest.json")
    with pytest.raises(FileFormatError, match=r"manifest\.json: not a regular file"):
        load_arrays(folder)


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
    original = load_module.open_regular

    def open_regular(path, handle=None):
        if path.name == "ids.npy" and (kind := next(kinds, None)) is not None:
            save_arrays(folder, kind, {}, {name: array[::-1] for name, array in ARRAYS.items()})
        return original(path, handle)

    monkeypatch.setattr(load_module, "open_regular", open_regular)


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
    monkeypatch.setattr(load_module, "MAX_ATTEMPTS", 3)
    replace_during(monkeypatch, folder, 100)
    with pytest.raises(FileFormatError, match="replaced by another process during each of 3 attempts"):
        load_arrays(folder)


def test_where_paths_cannot_be_exchanged_a_missing_folder_is_awaited(folder, monkeypatch):
    aside = folder.with_name(".model.old-0123")
    folder.rename(aside)
    monkeypatch.setattr(load_module.time, "sleep", lambda _: aside.exists() and aside.rename(folder))
    assert load_arrays(folder).manifest.kind == "Example"


def test_a_folder_deleted_while_it_is_read_is_an_error(folder, monkeypatch):
    original = load_module.open_regular

    def open_regular(path, handle=None):
        if path.name == "ids.npy":
            shutil.rmtree(folder, ignore_errors=True)
        return original(path, handle)

    monkeypatch.setattr(load_module, "open_regular", open_regular)
    with pytest.raises(FileFormatError, match="model: no such folder"):
        load_arrays(folder)
