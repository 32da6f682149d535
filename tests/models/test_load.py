"""Opening any saved model, also while another process saves."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest

import labeltrees as lt
from labeltrees.storage import load_arrays, save_arrays

# The normal suite does a short run; set it to 10000 for a long one (without a limit of time).
N_LOADS = int(os.environ.get("LABELTREES_LOADS_WHILE_SAVING", "0"))

SAVE_ALTERNATELY = """
import itertools, sys
import labeltrees as lt
first, second, target = sys.argv[1:]
models = [lt.load(first), lt.load(second)]
print("started", flush=True)
for model in itertools.cycle(models):
    model.save(target)
"""


@pytest.fixture(scope="module")
def two_models(tmp_path_factory):
    """Two models of the same shape with other weights, saved, and what they answer."""
    folder = tmp_path_factory.mktemp("models")
    rng = np.random.default_rng(0)
    X, Y = rng.random((60, 12)), rng.random((60, 20)) < 0.2
    Y[np.arange(20), np.arange(20)] = True
    saved = []
    for number, features in enumerate((X, X[:, ::-1])):
        names = [f"{number}-{label}" for label in range(20)]
        model = lt.LabelTreeClassifier(fanout=4).fit(lt.Dataset(features, Y, label_names=names))
        model.save(folder / str(number))
        saved.append((load_arrays(folder / str(number)), model.predict_topk(X, 3)))
    return folder, X, saved


def is_the_same(model, loaded, X, saved):
    arrays, (labels, scores) = saved[0].arrays, saved[1]
    found_labels, found_scores = model.predict_topk(X, 3)
    return (
        loaded.manifest == saved[0].manifest
        and all(np.array_equal(array, arrays[name]) for name, array in loaded.arrays.items())
        and np.array_equal(found_labels, labels)
        and np.array_equal(found_scores, scores)
    )


@pytest.mark.parametrize("options", [{}, {"verify": True}, {"in_memory": True}], ids=str)
def test_a_load_while_another_process_saves_gives_one_model_or_the_other(two_models, tmp_path, monkeypatch, options):
    folder, X, saved = two_models
    target = tmp_path / "model"
    lt.load(folder / "0").save(target)
    opened = []
    monkeypatch.setattr(
        "labeltrees.models.load.load_arrays", lambda *a, **k: opened.append(load_arrays(*a, **k)) or opened[-1]
    )
    saver = subprocess.Popen(
        [sys.executable, "-c", SAVE_ALTERNATELY, folder / "0", folder / "1", target], stdout=subprocess.PIPE
    )
    counts = [0, 0]
    try:
        assert saver.stdout.readline() == b"started\n"
        limit = time.monotonic() + (np.inf if N_LOADS else 4)
        while sum(counts) < (N_LOADS or 2000) and time.monotonic() < limit:
            model = lt.load(target, **options)
            loaded = opened.pop()
            matches = [is_the_same(model, loaded, X, one) for one in saved]
            assert sorted(matches) == [False, True], "a load mixed two models"
            counts[matches.index(True)] += 1
    finally:
        saver.kill()
        saver.communicate()
    assert min(counts) > 0


def test_a_model_of_an_unknown_kind_is_refused(tmp_path):
    save_arrays(tmp_path / "model", "Unknown", {}, {})
    with pytest.raises(lt.errors.FileFormatError, match="unknown kind 'Unknown'"):
        lt.load(tmp_path / "model")
