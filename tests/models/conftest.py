"""A problem and a model that many tests look at and none changes."""

import shutil

import numpy as np
import pytest

import labeltrees as lt
from tests.models.twin import all_scores, make_problem


@pytest.fixture(scope="session")
def problem():
    return make_problem()


@pytest.fixture(scope="session")
def names():
    return [f"label {chr(97 + 11 - label)}" for label in range(12)]  # not in the order of the ids


@pytest.fixture(scope="session")
def name_lists(problem, names):
    _, Y = problem
    return [[names[label] for label in Y[[row]].indices] for row in range(Y.shape[0])]


@pytest.fixture(scope="session")
def model(problem):
    return lt.LabelTreeClassifier(fanout=3, beam=None).fit(*problem)


@pytest.fixture(scope="session")
def named(problem, name_lists):
    return lt.LabelTreeClassifier(fanout=3, beam=None).fit(problem[0], name_lists)


@pytest.fixture(scope="session")
def rich(problem, name_lists):
    """A model with everything a folder can hold."""
    X = problem[0]
    model = lt.LabelTreeClassifier(
        fanout=3, n_trees=2, k=3, class_weight={"label a": 2.0, "label c": np.float32(0.5)}, random_state=3
    )
    model.fit(X, name_lists).calibrate(X, name_lists)
    model.feature_names_in_ = np.array([f"word {i}" for i in range(40)], dtype=object)
    return model


@pytest.fixture(scope="session")
def folder(rich, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model"
    rich.save(path)
    return path


@pytest.fixture
def copied(folder, tmp_path):
    return shutil.copytree(folder, tmp_path / "copy")


@pytest.fixture(scope="session")
def scores(model, problem):
    """All scores of the model, to filter by hand."""
    return all_scores(model, problem[0])
