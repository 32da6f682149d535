"""The bundled data loads from the installed package."""

from importlib.resources import files

import numpy as np
import pytest

import labeltrees as lt


@pytest.fixture(scope="module")
def pair():
    return lt.datasets.load_debian()


def test_train_and_test_share_features_and_labels(pair):
    train, test = pair
    assert (train.n_points, train.n_labels) == (13_500, 9_938)
    assert test.n_points == 1_464
    assert train.label_names.tolist() == test.label_names.tolist() == sorted(train.label_names)
    assert train.feature_names.tolist() == test.feature_names.tolist()
    assert len(train.texts) == train.n_points


def test_every_label_occurs_in_train_and_every_point_has_one(pair):
    train, test = pair
    assert train.Y.sum(axis=0).min() >= 1
    for dataset in pair:
        assert np.diff(dataset.Y.indptr).min() >= 1
        assert (dataset.Y.data == 1).all()
    assert not set(train.texts) & set(test.texts)


def test_a_package_depends_on_what_debian_says(pair):
    train, test = pair
    found = {
        text: set(dataset.label_names[dataset.Y[[i]].indices])
        for dataset in (train, test)
        for i, text in enumerate(dataset.texts)
        if text.startswith("389 ds base 389 Directory Server suite - server")
    }
    (labels,) = found.values()
    assert {"389-ds-base-libs", "libc6", "python3"} <= labels


def test_the_files_are_small_and_have_a_readme():
    folder = files("labeltrees") / "data" / "bundled"
    total = sum(len(file.read_bytes()) for file in folder.iterdir())
    assert total < 4_000_000
    readme = (folder / "README.md").read_text()
    for word in ("Source", "Licence", "Made by", "13,500 / 1,464"):
        assert word in readme
