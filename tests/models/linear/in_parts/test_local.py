"""fit(parts) keeps to max_memory, continues after an interruption, and refuses what it cannot do."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

import labeltrees as lt
from labeltrees import FileFormatError, InputError
from labeltrees.models.linear.in_parts import local
from tests.models.linear.in_parts.same_files import saved, small_dataset


@pytest.fixture
def parts(tmp_path):
    lt.write_parts(small_dataset(names=True), tmp_path / "parts", 100)
    return lt.open_parts(tmp_path / "parts")


@pytest.fixture
def streaming(monkeypatch):
    monkeypatch.setattr(local, "bytes_in_memory", lambda data: 2**60)


@pytest.mark.usefixtures("streaming")
def test_fit_reads_part_by_part(parts, tmp_path, monkeypatch):
    monkeypatch.setattr(type(parts), "_joined", property(lambda self: pytest.fail("the parts were joined")))
    model = lt.LabelTreeClassifier(fanout=4).fit(parts, max_memory="1GiB")
    assert saved(model, tmp_path / "a") == saved(
        lt.LabelTreeClassifier(fanout=4).fit(small_dataset(names=True)), tmp_path / "b"
    )
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("labeltrees-fit")] == []
    X = small_dataset().X
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_topk(X)[0], model.predict_topk(X)[0])


def test_small_parts_are_joined_in_memory(parts, tmp_path):
    whole = small_dataset(names=True)
    one, two = (lt.LabelTreeClassifier(fanout=4).fit(data) for data in (parts, whole))
    assert saved(one, tmp_path / "a") == saved(two, tmp_path / "b")


@pytest.mark.usefixtures("streaming")
def test_an_interrupted_fit_continues(parts, tmp_path, monkeypatch):
    from labeltrees.models.linear.in_parts import fit as fit_module

    calls = []
    route_tasks = fit_module.route_tasks

    def interrupt(*arguments):
        if not calls:
            calls.append(1)
            raise KeyboardInterrupt
        return route_tasks(*arguments)

    monkeypatch.setattr(fit_module, "route_tasks", interrupt)
    with pytest.raises(KeyboardInterrupt):
        lt.LabelTreeClassifier().fit(parts, work_folder=tmp_path / "work")
    left = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "work" / local.WORK_FOLDER).iterdir()}
    assert any(name.startswith("join_tree") for name in left)
    monkeypatch.setattr(local.shutil, "rmtree", lambda *_, **__: None)
    lt.LabelTreeClassifier().fit(parts, work_folder=tmp_path / "work")
    now = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "work" / local.WORK_FOLDER).iterdir()}
    assert left.items() <= now.items()


@pytest.mark.usefixtures("streaming")
def test_too_little_memory_for_the_tree_says_how_much_it_needs(parts):
    with pytest.raises(InputError, match=r"max_memory must be at least \d+ bytes to build the tree"):
        lt.LabelTreeClassifier().fit(parts, max_memory=10_000)


@pytest.mark.usefixtures("streaming")
@pytest.mark.parametrize(
    ("parameters", "arguments", "message"),
    [
        ({"evidence": "auto"}, {}, "evidence must be None.*all points in memory"),
        ({}, {"label_texts": ["text"] * 60}, "label_texts must be None for a dataset in parts"),
        ({}, {"Y": np.eye(3)}, "Y must be None for a dataset in parts"),
        ({}, {"sample_weight": np.ones(240)}, "sample_weight must be None"),
        ({}, {"max_memory": "much"}, "a size such as 4GiB"),
        ({}, {"max_memory": 0}, "at least 1"),
    ],
)
def test_what_parts_cannot_do_is_refused(parts, parameters, arguments, message):
    with pytest.raises(InputError, match=message):
        lt.LabelTreeClassifier(**parameters).fit(parts, **arguments)


def test_max_memory_is_for_parts(parts):
    with pytest.raises(InputError, match="a dataset in parts"):
        lt.LabelTreeClassifier().fit(parts.X, parts.Y, max_memory="1GiB")


@pytest.mark.usefixtures("streaming")
def test_a_damaged_part_is_named(parts):
    path = parts.folder / "part-00001" / "X_values.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=r"part-00001/X_values.npy: its checksum is wrong"):
        lt.LabelTreeClassifier().fit(parts)


PEAK = """
import sys, labeltrees as lt
from labeltrees._memory import peak_bytes
from labeltrees.models.linear.in_parts import local
parts = lt.open_parts(sys.argv[1])
before = peak_bytes()
local.bytes_in_memory = lambda data: 2**60
lt.LabelTreeClassifier(n_jobs=1).fit(parts, max_memory=int(sys.argv[2]))
print(peak_bytes() - before)
"""


def test_the_limit_is_kept(tmp_path):
    import scipy.sparse as sp

    rng = np.random.default_rng(0)
    X = sp.random_array((8000, 1500), density=0.03, rng=rng, dtype=np.float32, format="csr")
    columns = rng.zipf(1.3, 8000) % 300
    Y = sp.csr_array((np.ones(8000, np.float32), (np.arange(8000), columns)), shape=(8000, 300))
    lt.write_parts(lt.Dataset(X, Y), tmp_path / "parts", 2000)
    limit = 16 * 2**20
    done = subprocess.run(
        [sys.executable, "-c", PEAK, str(tmp_path / "parts"), str(limit)], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) <= limit
