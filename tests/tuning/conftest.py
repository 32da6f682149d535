"""A small problem with frequent and rare labels, and a sweep over it that many tests look at."""

import numpy as np
import pytest
import scipy.sparse as sp

import labeltrees as lt
from labeltrees.tuning import trial


def make_data(n_points=300, n_labels=24, seed=0, noise=1.5):
    """Labels of falling frequency; a point's features are those of its labels, and noise."""
    rng = np.random.default_rng(seed)
    chance = 0.6 / (1 + np.arange(n_labels))
    Y = rng.random((n_points, n_labels)) < chance
    Y[np.arange(n_points), rng.integers(0, n_labels, n_points)] = True
    X = Y @ np.random.default_rng(7).random((n_labels, 40)) + noise * rng.random((n_points, 40))
    X[X < 1.2] = 0
    names = [f"label {chr(97 + label)}" for label in range(n_labels)]
    return lt.Dataset(sp.csr_array(X.astype(np.float32)), Y, label_names=names)


@pytest.fixture(scope="session")
def train():
    return make_data()


@pytest.fixture(scope="session")
def validation():
    return make_data(120, seed=1)


def count_as_time(models, points, ks, timing, *, advance=None, **_):
    """Return times without a clock: a search takes one microsecond per classifier, a hundredth of it in a batch."""
    times = []
    for done in range(timing.repeats if advance is not None else 0):
        advance(done + 1)
    for model, own in zip(models, points, strict=True):
        record = {}
        for k in ks:
            work = model.predict_topk(own, k, return_stats=True)[2].classifiers
            record[f"top{k}_p50_us"] = float(np.percentile(work, 50))
            record[f"top{k}_p99_us"] = float(np.percentile(work, 99))
        times.append({**record, "batch_us": float(work.mean()) / 100})
    return times


@pytest.fixture
def counted_time(monkeypatch):
    """Times that are the same on every machine."""
    monkeypatch.setattr(trial, "measure_times", count_as_time)


@pytest.fixture(scope="session")
def result(train, validation):
    grid = {"tree__cover": ["marginal", "greedy"], "tree__path": ["weighted", "direct"]}
    return lt.sweep(train, validation, tradeoffs=[0, 1, 2], fanouts=[2, 8], grid=grid)
