"""A dataset in parts is the Dataset it was written from, and damage is found before anything reads it."""

import dataclasses
import json
import os
import pickle
import shutil

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import labeltrees as lt
from labeltrees.data.parts import part as manifest_module
from labeltrees.errors import FileFormatError, InputError


def random_dataset(n_points=50, *, weights=False, relevance=False, names=False, texts=False, seed=0):
    rng = np.random.default_rng(seed)
    X = sp.random_array((n_points, 30), density=0.2, rng=rng, dtype=np.float32, format="csr")
    Y = sp.random_array((n_points, 12), density=0.2, rng=rng, dtype=np.float32, format="csr")
    if not relevance:
        Y.data[:] = 1
    return lt.Dataset(
        X,
        Y,
        sample_weight=rng.random(n_points) + 0.5 if weights else None,
        label_names=[f"label {i}" for i in range(12)] if names else None,
        feature_names=[f"wörd {i}" for i in range(30)] if names else None,
        texts=[f"text {i} ä" for i in range(n_points)] if texts else None,
    )


def assert_same(one, other):
    for name in ("X", "Y"):
        left, right = getattr(one, name), getattr(other, name)
        for field in ("data", "indices", "indptr", "shape"):
            np.testing.assert_array_equal(getattr(left, field), getattr(right, field))
    for name in ("label_names", "feature_names", "sample_weight", "texts", "times"):
        left, right = getattr(one, name), getattr(other, name)
        assert (left is None) == (right is None)
        if left is not None:
            np.testing.assert_array_equal(left, right)


@pytest.fixture
def folder(tmp_path):
    lt.write_parts(random_dataset(weights=True, names=True), tmp_path / "parts", 20)
    return tmp_path / "parts"


@pytest.mark.parametrize("points_per_part", [13, 50, 1000])
@pytest.mark.parametrize("options", [{}, {"weights": True, "relevance": True, "names": True, "texts": True}])
def test_parts_are_the_dataset_they_were_written_from(tmp_path, points_per_part, options):
    dataset = random_dataset(**options)
    lt.write_parts(dataset, tmp_path / "parts", points_per_part)
    opened = lt.open_parts(tmp_path / "parts", verify=True)
    assert_same(opened, dataset)
    assert len(opened.parts) == -(-50 // points_per_part)
    assert_same(opened[[3, 40, 3]], dataset[[3, 40, 3]])


@given(sizes=st.lists(st.integers(0, 9), min_size=1, max_size=8), points_per_part=st.integers(3, 12))
@settings(max_examples=8)
def test_the_size_of_blocks_does_not_matter(tmp_path_factory, sizes, points_per_part):
    n_points = sum(sizes) + 1
    dataset, base = random_dataset(n_points), tmp_path_factory.mktemp("blocks")
    lt.write_parts(dataset, base / "one", points_per_part)
    with lt.PartsWriter(base / "two", 30, 12, points_per_part=points_per_part) as writer:
        first = 0
        for size in [*sizes, 1]:
            writer.add(dataset.X[first : first + size], dataset.Y[first : first + size])
            first += size
    one, two = lt.open_parts(base / "one"), lt.open_parts(base / "two")
    assert one.manifest.fingerprint() == two.manifest.fingerprint()
    assert_same(one, two)


def test_times_and_encoders_are_kept(tmp_path):
    texts = ["red wine", "white wine", "red cheese"]
    vectorizer = lt.TfidfVectorizer(dtype=np.float32).fit(texts)
    times = np.array(["2026-01-02", "2026-01-03", "2026-02-01"], "datetime64[us]")
    dataset = lt.Dataset(vectorizer.transform(texts), np.eye(3), vectorizer=vectorizer, times=times)
    lt.write_parts(dataset, tmp_path / "parts", 2)
    opened = lt.open_parts(tmp_path / "parts")
    np.testing.assert_array_equal(opened.times, times)
    found, expected = (made.transform(["red red"]).toarray() for made in (opened.encoder, vectorizer))
    np.testing.assert_array_equal(found, expected)


def test_a_pickle_holds_the_path_alone(folder):
    opened = lt.open_parts(folder)
    assert len(pickle.dumps(opened)) < 300
    assert_same(pickle.loads(pickle.dumps(opened)), opened)


def test_parts_are_accepted_where_a_dataset_is(folder):
    parts, whole = lt.open_parts(folder), random_dataset(weights=True, names=True)
    np.testing.assert_array_equal(lt.label_frequencies(parts.Y), lt.label_frequencies(whole.Y))
    found = [lt.baselines.popularity(data).predict_topk(data.X[:2])[0] for data in (parts, whole)]
    np.testing.assert_array_equal(*found)


def test_an_error_while_writing_leaves_the_old_parts(folder):
    before = lt.open_parts(folder).manifest.fingerprint()

    def write():
        with lt.PartsWriter(folder, 30, 12, points_per_part=5) as writer:
            writer.add(random_dataset().X, random_dataset().Y)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    assert lt.open_parts(folder, verify=True).manifest.fingerprint() == before
    assert os.listdir(folder.parent) == [folder.name]


def test_a_folder_with_other_files_is_not_replaced(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "thesis.txt").write_text("do not delete")
    with pytest.raises(InputError, match="is not a dataset in parts"):
        lt.write_parts(random_dataset(), tmp_path / "parts")


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ({"X": np.eye(2, 31), "Y": np.eye(2, 12)}, "of 30 features and 12 labels"),
        ({"X": np.eye(2, 30), "Y": np.eye(3, 12)}, "same number of rows"),
        ({"X": np.eye(2, 30), "Y": np.eye(2, 12), "sample_weight": [1, -1]}, "at least 0"),
        ({"X": np.eye(2, 30), "Y": np.eye(2, 12), "sample_weight": [1, 1]}, "like the blocks before it"),
    ],
)
def test_blocks_that_do_not_fit_are_refused(tmp_path, block, message):
    def write():
        with lt.PartsWriter(tmp_path / "parts", 30, 12) as writer:
            writer.add(np.eye(3, 30), np.eye(3, 12))
            writer.add(**block)

    with pytest.raises(InputError, match=message):
        write()
    assert not (tmp_path / "parts").exists()


@pytest.mark.parametrize("name", ["X_values", "X_indices", "X_indptr", "Y_indices", "weights"])
@pytest.mark.parametrize("how", ["flip", "cut", "delete"])
def test_a_damaged_part_is_named(folder, name, how):
    path = folder / "part-00001" / f"{name}.npy"
    content = bytearray(path.read_bytes())
    if how == "flip":
        content[-3] ^= 64
        path.write_bytes(content)
    elif how == "cut":
        path.write_bytes(content[:-4])
    else:
        path.unlink()
    with pytest.raises(FileFormatError, match=rf"part-00001/{name}.npy: .*"):
        lt.open_parts(folder).X  # noqa: B018


def test_damage_after_the_first_use_is_found_too(folder):
    opened = lt.open_parts(folder, verify=True)
    path = folder / "part-00000" / "X_values.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match="checksum is wrong"):
        opened.parts[0].read()


def forge(folder, name, change):
    """Change an array of part 0 and correct all checksums, as an attacker would."""
    path = folder / "part-00000" / f"{name}.npy"
    array = np.load(path)
    change(array)
    path.unlink()
    entry = manifest_module.read_manifest(folder)
    entry.parts[0].arrays[name] = lt._array_files.write_array(path, array)
    (folder / "parts.json").write_text(entry.to_json())


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("X_indices", 0, 2**30),
        ("X_indices", 0, -1),
        ("Y_indices", 2, 12),
        ("X_indptr", 3, 2**30),
        ("X_indptr", 1, -5),
        ("X_values", 0, np.nan),
        ("weights", 0, -1.0),
    ],
)
def test_forged_parts_never_reach_native_code(folder, name, place, value):
    def change(array):
        array[place] = value

    forge(folder, name, change)
    with pytest.raises(FileFormatError, match="part-00000"):
        lt.open_parts(folder).parts[0].read()


def change_manifest(folder, **changes):
    body = json.loads((folder / "parts.json").read_text())
    (folder / "parts.json").write_text(json.dumps({**body, **changes}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 2}, "version 2 of the format, this release reads 1: upgrade labeltrees"),
        ({"version": 0}, "convert the data again"),
        ({"n_labels": 11}, "checksum is wrong"),
        ({"more": 1}, "keys must be"),
        ({"format": "labeltrees"}, "not the manifest of a dataset in parts"),
    ],
)
def test_a_manifest_of_another_version_or_altered_is_refused(folder, changes, message):
    change_manifest(folder, **changes)
    with pytest.raises(FileFormatError, match=message):
        lt.open_parts(folder)


def test_times_are_in_the_manifest_and_in_the_parts_or_in_neither(tmp_path):
    data = lt.Dataset(np.eye(4), np.eye(4), times=np.arange(4))
    lt.write_parts(data, tmp_path / "with", 2)
    lt.write_parts(lt.Dataset(np.eye(4), np.eye(4)), tmp_path / "without", 2)
    times = {"with": None, "without": "int64"}
    for name, wrong in times.items():
        entry = manifest_module.read_manifest(tmp_path / name)
        (tmp_path / name / "parts.json").write_text(dataclasses.replace(entry, times=wrong).to_json())
        with pytest.raises(FileFormatError, match="but not in both"):
            lt.open_parts(tmp_path / name)


def test_a_part_of_another_dataset_is_refused(folder, tmp_path):
    lt.write_parts(random_dataset(weights=True, names=True, seed=1), tmp_path / "other", 20)
    shutil.rmtree(folder / "part-00001")
    shutil.copytree(tmp_path / "other" / "part-00001", folder / "part-00001")
    with pytest.raises(FileFormatError, match="part-00001"):
        lt.open_parts(folder, verify=True)


def test_a_folder_without_parts_says_what_to_do(tmp_path):
    with pytest.raises(FileFormatError, match="labeltrees convert DATA -o FOLDER"):
        lt.open_parts(tmp_path)
    with pytest.raises(FileFormatError, match="no such folder"):
        lt.open_parts(tmp_path / "missing")
