"""A fit gives the same bytes in memory and in parts, keeps to a limit of memory, and continues after interruptions."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import normalize

import labeltrees as lt
from labeltrees.errors import FileFormatError, InputError
from labeltrees.models.linear import embeddings, pieces, trees
from labeltrees.models.linear import fit as fit_module
from labeltrees.models.linear.fit import fit
from labeltrees.models.linear.points import read_parts
from labeltrees.tasks import FolderResults, LocalRunner, TaskMemory
from labeltrees.tree.splits import embedding_rows
from tests.models.linear.same_files import N_LABELS, saved, small_dataset
from tests.sanitizers import WITH_THREAD_SANITIZER

SETTINGS = {
    "default": {},
    "one C": {"C": 0.5},
    "deep": {"fanout": 2, "tradeoff": 1.9},  # deeper than the depths that have a C of their own
    "narrow": {"fanout": 4},
    "logistic": {"tradeoff": 1.5, "fanout": 8, "loss": "logistic"},
    "binary": {
        "tradeoff": 1.7,
        "tree": lt.TreeBuilder(cover="greedy", cover_softness=0.3),
        "fanout": 2,
        "leaf_size": 5,
    },
    "all weights": {"loss": lt.Solver(prune_below=0), "tree": lt.TreeBuilder(path="direct", tolerance=0.01)},
    "flat": {"tree": "flat"},
    "two trees": {"n_trees": 2, "class_weight": "balanced", "normalize": False},
    "costs": {"class_weight": np.linspace(0.5, 2, N_LABELS), "tree": lt.TreeBuilder(weights_of="node")},
    "given tree": {"tree": lt.random_tree(N_LABELS, fanout=3, random_state=1)},
    "given embeddings": {"tree": lt.TreeBuilder(embeddings=np.random.default_rng(5).random((N_LABELS, 7)))},
}


class RecordingRunner(LocalRunner):
    """Keeps the records of all tasks."""

    def run(self, stage, tasks, progress=None):
        self.records = [*getattr(self, "records", []), *super().run(stage, tasks, progress)]


def runner_in(folder, task_bytes=2**40):
    return RecordingRunner(FolderResults(folder), memory=TaskMemory(task_bytes))


def fit_on_parts(model, dataset, folder, points_per_part, task_bytes=2**40):
    lt.write_parts(dataset, folder / "parts", points_per_part)
    fit(model, read_parts(model, lt.open_parts(folder / "parts")), runner_in(folder / "work", task_bytes))
    return model


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("data", [{}, {"weights": True, "relevance": True, "names": True}], ids=["plain", "weighted"])
def test_the_files_are_those_of_a_fit_in_memory(tmp_path, monkeypatch, name, data):
    monkeypatch.setattr(pieces, "LEAST_COST", 0)
    monkeypatch.setattr(trees, "LEAST_VALUES", 50)
    dataset, parameters = small_dataset(**data), SETTINGS[name]
    expected = saved(lt.LabelTreeClassifier(**parameters).fit(dataset), tmp_path / "expected")
    model = fit_on_parts(lt.LabelTreeClassifier(**parameters), dataset, tmp_path, 70)
    assert saved(model, tmp_path / "found") == expected


def test_with_very_many_values_labels_keep_their_largest(tmp_path, monkeypatch):
    monkeypatch.setattr(embeddings, "MOST_VALUES", 6 * N_LABELS)
    monkeypatch.setattr(trees, "LEAST_VALUES", 50)
    dataset = small_dataset()
    whole = lt.LabelTreeClassifier(fanout=4).fit(dataset)
    in_parts = fit_on_parts(lt.LabelTreeClassifier(fanout=4), dataset, tmp_path, 70)
    assert saved(in_parts, tmp_path / "in-parts") == saved(whole, tmp_path / "whole")
    rows = embedding_rows(lt.pifa(normalize(dataset.X), dataset.Y)).largest(6)
    kept = sp.csr_array((rows.values, rows.columns, rows.indptr), shape=(N_LABELS, rows.n_columns))
    given = lt.LabelTreeClassifier(fanout=4, tree=lt.TreeBuilder(embeddings=kept)).fit(dataset)
    assert whole.tree_ == given.tree_


@pytest.mark.parametrize("n_bundles", [2, 5, 60])
def test_the_features_that_a_bundle_lacks_change_no_rounding(tmp_path, monkeypatch, n_bundles):
    monkeypatch.setattr(pieces, "LEAST_COST", 0)
    monkeypatch.setattr(pieces, "BUNDLES", n_bundles)
    dataset = small_dataset(1500, 3000)
    expected = saved(lt.LabelTreeClassifier(fanout=8).fit(dataset), tmp_path / "expected")
    model = fit_on_parts(lt.LabelTreeClassifier(fanout=8), dataset, tmp_path, 400)
    assert saved(model, tmp_path / "found") == expected


@given(
    points_per_part=st.sampled_from([50, 120, 1000]),
    n_bundles=st.integers(1, 200),
    task_bytes=st.sampled_from([40_000, 200_000, 2**40]),
    seed=st.integers(0, 3),
)
@settings(max_examples=4)
def test_parts_and_tasks_do_not_matter(tmp_path_factory, points_per_part, n_bundles, task_bytes, seed):
    folder, dataset = tmp_path_factory.mktemp("any"), small_dataset(weights=True, seed=seed)
    expected = saved(lt.LabelTreeClassifier(fanout=4).fit(dataset), folder / "expected")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "LEAST_COST", 0)
        patch.setattr(pieces, "BUNDLES", n_bundles)
        model = fit_on_parts(lt.LabelTreeClassifier(fanout=4), dataset, folder, points_per_part, task_bytes)
    assert saved(model, folder / "found") == expected


def test_a_finished_task_is_not_run_again(tmp_path):
    dataset, model = small_dataset(), lt.LabelTreeClassifier()
    lt.write_parts(dataset, tmp_path / "parts", 100)
    for was_finished in (False, True):
        runner = runner_in(tmp_path / "work")
        fit(model, read_parts(model, lt.open_parts(tmp_path / "parts")), runner)
        assert {record.was_finished for record in runner.records} == {was_finished}


@pytest.mark.parametrize("how", ["cut", "flip", "empty"])
def test_a_damaged_result_is_made_again(tmp_path, how):
    dataset, model = small_dataset(), lt.LabelTreeClassifier()
    lt.write_parts(dataset, tmp_path / "parts", 100)
    runner = runner_in(tmp_path / "work")
    fit(model, read_parts(model, lt.open_parts(tmp_path / "parts")), runner)
    expected = saved(model, tmp_path / "expected")
    for path in (tmp_path / "work").glob("train_bundle-*"):
        content = bytearray(path.read_bytes())
        content[-20] ^= 1
        path.write_bytes(content if how == "flip" else content[:100] if how == "cut" else b"")
    runner.records.clear()
    fit(model, read_parts(model, lt.open_parts(tmp_path / "parts")), runner)
    assert next(record.name for record in runner.records if not record.was_finished).startswith("train_bundle")
    assert saved(model, tmp_path / "found") == expected


def test_too_little_memory_for_the_tree_names_the_option_of_the_user(tmp_path):
    lt.write_parts(small_dataset(), tmp_path / "parts", 100)
    memory = TaskMemory(5000, "memory_per_worker", 0.5)
    runner = LocalRunner(FolderResults(tmp_path / "work"), memory=memory)
    model = lt.LabelTreeClassifier()
    points = read_parts(model, lt.open_parts(tmp_path / "parts"))
    with pytest.raises(lt.errors.InputError, match=r"memory_per_worker must be at least \d{5,} bytes .*, got 10000"):
        fit(model, points, runner)


@pytest.fixture
def parts(tmp_path):
    lt.write_parts(small_dataset(names=True), tmp_path / "parts", 100)
    return lt.open_parts(tmp_path / "parts")


@pytest.fixture
def streaming(monkeypatch):
    monkeypatch.setattr(fit_module, "bytes_in_memory", lambda data: 2**60)


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
    calls = []
    route_points = fit_module.route_points

    def interrupt(*arguments):
        if not calls:
            calls.append(1)
            raise KeyboardInterrupt
        return route_points(*arguments)

    monkeypatch.setattr(fit_module, "route_points", interrupt)
    with pytest.raises(KeyboardInterrupt):
        lt.LabelTreeClassifier().fit(parts, work_folder=tmp_path / "work")
    left = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "work" / fit_module.WORK_FOLDER).iterdir()}
    assert any(name.startswith("join_tree") for name in left)
    monkeypatch.setattr(fit_module.shutil, "rmtree", lambda *_, **__: None)
    lt.LabelTreeClassifier().fit(parts, work_folder=tmp_path / "work")
    now = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "work" / fit_module.WORK_FOLDER).iterdir()}
    assert left.items() <= now.items()


@pytest.mark.usefixtures("streaming")
def test_too_little_memory_for_the_tree_names_the_amount_needed(parts):
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
def test_unsupported_arguments_for_parts_are_refused(parts, parameters, arguments, message):
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
from labeltrees.models.linear import fit
parts = lt.open_parts(sys.argv[1])
before = peak_bytes()
fit.bytes_in_memory = lambda data: 2**60
lt.LabelTreeClassifier(n_jobs=1).fit(parts, max_memory=int(sys.argv[2]))
print(peak_bytes() - before)
"""


@pytest.mark.skipif(WITH_THREAD_SANITIZER, reason="ThreadSanitizer records accesses to memory in memory")
def test_the_limit_is_kept(tmp_path):
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
