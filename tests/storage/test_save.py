"""Saving replaces a model in one step, and nothing that is not a model."""

import errno
import json

import numpy as np
import pytest

from labeltrees import _core
from labeltrees.errors import InputError
from labeltrees.storage import load_arrays, save_arrays
from labeltrees.storage.format import FORMAT_NAME, MANIFEST_FILE
from tests.storage.conftest import ARRAYS

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


def test_what_is_not_a_model_is_not_replaced(tmp_path):
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
