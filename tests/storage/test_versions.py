"""A new version of a model is published in one step; the version before is kept."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import labeltrees as lt
from labeltrees.errors import InputError
from labeltrees.storage.versions import go_back, previous_of, publish, version_of

TEXTS = ["red apple", "green apple", "ripe pear", "green pear"] * 5
LABELS = [["apple"], ["apple"], ["pear"], ["pear"]] * 5


@pytest.fixture
def folder(tmp_path):
    lt.LabelTreeClassifier(C=1.0).fit(TEXTS, LABELS).save(tmp_path / "model")
    return tmp_path / "model"


def retired(folder):
    return lt.load(folder).retired_.tolist()


def test_publishing_keeps_the_version_before_and_shares_files(folder):
    version, model = version_of(folder), lt.load(folder)
    predictor = model.predictor(2, names=True)
    publish(model.retire(["apple"]).save, folder, folder, version)
    assert retired(folder) == ["apple"]
    assert retired(previous_of(folder)) == []
    assert os.stat(folder / "tree0.chunks.npy").st_nlink == 2
    assert os.path.samefile(folder / "tree0.chunks.npy", previous_of(folder) / "tree0.chunks.npy")
    assert not os.path.samefile(folder / "manifest.json", previous_of(folder) / "manifest.json")
    assert predictor("a pear")[0] == ["pear"]  # the model that was retired
    go_back(folder)
    assert retired(folder) == []
    go_back(folder)
    assert retired(folder) == ["apple"]


def test_a_version_beside_the_old_one_shares_files(folder):
    model = lt.load(folder)
    publish(model.retire(["pear"]).save, folder, folder.with_name("new"), version_of(folder))
    assert os.path.samefile(folder / "tree0.chunks.npy", folder.with_name("new") / "tree0.chunks.npy")
    assert (retired(folder), retired(folder.with_name("new"))) == ([], ["pear"])
    assert not previous_of(folder).exists()


def test_a_link_names_the_same_model(folder):
    link, version = folder.with_name("current"), version_of(folder)
    link.symlink_to(folder)
    first, second = lt.load(folder).retire(["apple"]), lt.load(folder).retire(["pear"])
    publish(first.save, folder, link, version)  # the same folder, so the version before is kept
    with pytest.raises(InputError, match="changed by another update"):
        publish(second.save, link, folder, version)
    assert previous_of(link) == previous_of(folder)
    assert (retired(link), retired(previous_of(link))) == (["apple"], [])
    go_back(link)
    assert link.is_symlink()
    assert (retired(folder), retired(previous_of(folder))) == ([], ["apple"])


def test_of_two_updates_one_wins(folder):
    version = version_of(folder)
    first, second = lt.load(folder).retire(["apple"]), lt.load(folder).retire(["pear"])
    publish(first.save, folder, folder, version)
    with pytest.raises(InputError, match="changed by another update"):
        publish(second.save, folder, folder, version)
    assert retired(folder) == ["apple"]


def test_there_may_be_no_version_before(folder):
    with pytest.raises(InputError, match="no previous version"):
        go_back(folder)


def test_files_of_another_length_are_not_shared(folder):
    model = lt.load(folder)
    model.update(["blue plum"] * 3, [["plum"]] * 3)
    publish(model.save, folder, folder, version_of(folder))
    loaded = lt.load(folder, verify=True)
    assert loaded.classes_.tolist() == ["apple", "pear", "plum"]
    assert lt.load(previous_of(folder), verify=True).classes_.tolist() == ["apple", "pear"]


_LOOP = """
import itertools, sys
import labeltrees as lt
from labeltrees.storage.versions import publish, version_of
folder = sys.argv[1]
print("ready", flush=True)
for number in itertools.count():
    model = lt.load(folder)
    model.restore(["apple", "pear"]).retire(["apple" if number % 2 else "pear"])
    publish(model.save, folder, folder, version_of(folder))
"""


def test_a_killed_update_leaves_a_whole_version(folder):
    rng = np.random.default_rng(0)
    for _ in range(4):
        process = subprocess.Popen([sys.executable, "-c", _LOOP, str(folder)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.2 + 0.3 * rng.random())
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        model = lt.load(folder, verify=True)
        assert model.predict_topk(["a pear"], 2)[0].shape == (1, 2)
