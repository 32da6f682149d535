"""A wall clock that jumps by hours changes nothing: times are measured with clocks that only go forward."""

import os
import random
import time
from pathlib import Path

import numpy as np
import pytest

import labeltrees as lt
from labeltrees.tasks import FolderResults, LocalRunner, Task

HOURS = 6 * 3600.0


@pytest.fixture(autouse=True)
def jumping(monkeypatch):
    """Let the wall clock jump with every look at it."""
    usual, rng = time.time, random.Random(0)
    monkeypatch.setattr(time, "time", lambda: usual() + rng.choice((-HOURS, 0.0, HOURS)))


def small_model(seed=0):
    rng = np.random.default_rng(seed)
    return lt.LabelTreeClassifier(C=1.0, n_jobs=1).fit(rng.random((60, 8)), rng.random((60, 12)) < 0.3)


def test_the_wall_clock_is_asked_only_for_the_age_of_temporary_files():
    sources = Path(lt.__file__).parent.rglob("*.py")
    assert [source.name for source in sources if "time.time(" in source.read_text("utf-8")] == ["_files.py"]


def test_models_are_saved_again_and_a_server_goes_over_to_an_older_file(tmp_path):
    registry_module = pytest.importorskip("labeltrees.serving.registry", reason="needs labeltrees[serve]")
    folder = tmp_path / "fruit.model"
    small_model().save(folder)
    registry = registry_module.Registry(folder)
    for seed in range(1, 6):
        small_model(seed).save(folder)
        for path in folder.iterdir():  # the clock went back before this version was written
            os.utime(path, (time.time() - seed * HOURS,) * 2)
        registry.refresh()
        expected = lt.load(folder).predict_topk(np.eye(8, dtype=np.float32))[0]
        np.testing.assert_array_equal(registry.current("fruit").model.predict_topk(np.eye(8))[0], expected)
    assert [path.name for path in tmp_path.iterdir()] == ["fruit.model"]


def double(results, *, number):
    return {"doubled": np.array([2 * number])}, {}


def test_finished_tasks_are_recognised(tmp_path):
    tasks = [Task(double, {"number": number}) for number in range(3)]
    for round_ in range(2):
        runner = LocalRunner(FolderResults(tmp_path))
        assert [record.was_finished for record in runner.run("Doubling", tasks)] == [round_ == 1] * 3
        for path in tmp_path.iterdir():
            os.utime(path, (time.time(),) * 2)


def test_a_choice_has_its_time(tmp_path):
    rng = np.random.default_rng(0)
    data = lt.Dataset(rng.random((80, 6)), rng.random((80, 9)) < 0.3)
    chosen = lt.choose(data, max_precision_loss=0.5, time_budget=60)
    assert len(chosen.result.table) > 1
