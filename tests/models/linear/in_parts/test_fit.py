"""A model trained on parts has the bytes of the model trained in memory, whatever the parts and the tasks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import labeltrees as lt
from labeltrees.models.linear.in_parts import bundles, tree_tasks
from labeltrees.models.linear.in_parts.fit import PartsFit
from labeltrees.tasks import FolderResults, LocalRunner, TaskMemory
from tests.models.linear.in_parts.same_files import N_LABELS, saved, small_dataset

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
    PartsFit(model, lt.open_parts(folder / "parts"), runner_in(folder / "work", task_bytes)).run()
    return model


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("data", [{}, {"weights": True, "relevance": True, "names": True}], ids=["plain", "weighted"])
def test_the_files_are_those_of_a_fit_in_memory(tmp_path, monkeypatch, name, data):
    monkeypatch.setattr(bundles, "LEAST_COST", 0)
    monkeypatch.setattr(tree_tasks, "LEAST_VALUES", 50)
    dataset, parameters = small_dataset(**data), SETTINGS[name]
    expected = saved(lt.LabelTreeClassifier(**parameters).fit(dataset), tmp_path / "expected")
    model = fit_on_parts(lt.LabelTreeClassifier(**parameters), dataset, tmp_path, 70)
    assert saved(model, tmp_path / "found") == expected


@pytest.mark.parametrize("n_bundles", [2, 5, 60])
def test_the_features_that_a_bundle_lacks_change_no_rounding(tmp_path, monkeypatch, n_bundles):
    monkeypatch.setattr(bundles, "LEAST_COST", 0)
    monkeypatch.setattr(bundles, "BUNDLES", n_bundles)
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
        patch.setattr(bundles, "LEAST_COST", 0)
        patch.setattr(bundles, "BUNDLES", n_bundles)
        model = fit_on_parts(lt.LabelTreeClassifier(fanout=4), dataset, folder, points_per_part, task_bytes)
    assert saved(model, folder / "found") == expected


def test_a_finished_task_is_not_run_again(tmp_path):
    dataset, model = small_dataset(), lt.LabelTreeClassifier()
    lt.write_parts(dataset, tmp_path / "parts", 100)
    for was_finished in (False, True):
        runner = runner_in(tmp_path / "work")
        PartsFit(model, lt.open_parts(tmp_path / "parts"), runner).run()
        assert {record.was_finished for record in runner.records} == {was_finished}


@pytest.mark.parametrize("how", ["cut", "flip", "empty"])
def test_a_damaged_result_is_made_again(tmp_path, how):
    dataset, model = small_dataset(), lt.LabelTreeClassifier()
    lt.write_parts(dataset, tmp_path / "parts", 100)
    runner = runner_in(tmp_path / "work")
    PartsFit(model, lt.open_parts(tmp_path / "parts"), runner).run()
    expected = saved(model, tmp_path / "expected")
    for path in (tmp_path / "work").glob("train_bundle-*"):
        content = bytearray(path.read_bytes())
        content[-20] ^= 1
        path.write_bytes(content if how == "flip" else content[:100] if how == "cut" else b"")
    runner.records.clear()
    PartsFit(model, lt.open_parts(tmp_path / "parts"), runner).run()
    assert next(record.name for record in runner.records if not record.was_finished).startswith("train_bundle")
    assert saved(model, tmp_path / "found") == expected


def test_too_little_memory_for_the_tree_names_the_option_of_the_user(tmp_path):
    lt.write_parts(small_dataset(), tmp_path / "parts", 100)
    memory = TaskMemory(5000, "memory_per_worker", 0.5)
    runner = LocalRunner(FolderResults(tmp_path / "work"), memory=memory)
    fit = PartsFit(lt.LabelTreeClassifier(), lt.open_parts(tmp_path / "parts"), runner)
    with pytest.raises(lt.InputError, match=r"memory_per_worker must be at least \d{5,} bytes .*, got 10000"):
        fit.run()
