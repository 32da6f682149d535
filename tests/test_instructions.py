"""The instruction set can be chosen, and what is promised about bytes holds."""

import os
import subprocess
import sys

import numpy as np
import pytest

import labeltrees as lt
from labeltrees import _core, _instructions
from tests.models.twin import make_problem

pytestmark = pytest.mark.smoke


@pytest.fixture
def restored():
    before = _core.active_kernels()
    yield
    _core.use_kernels(before)


def trained(name):
    assert _core.use_kernels(name)
    X, Y = make_problem(seed=5, n=300, d=60, n_labels=40)
    model = lt.LabelTreeClassifier(fanout=8, n_jobs=1).fit(X, Y)
    return model.searcher_.stores[0], model.predict_topk(X, 5)[1]


@pytest.mark.parametrize("name", _core.available_kernels())
def test_the_environment_chooses_the_instructions(name, monkeypatch, restored):
    monkeypatch.setenv("LABELTREES_INSTRUCTIONS", name)
    _instructions.choose_instructions()
    assert _core.active_kernels() == name


def test_unknown_instructions_give_a_warning(monkeypatch):
    before = _core.active_kernels()
    monkeypatch.setenv("LABELTREES_INSTRUCTIONS", "mmx")
    with pytest.warns(UserWarning, match=r"LABELTREES_INSTRUCTIONS must be one of baseline.*got 'mmx'"):
        _instructions.choose_instructions()
    assert _core.active_kernels() == before


def test_the_variable_is_read_when_the_package_is_imported():
    code = "import labeltrees._core as core; print(core.active_kernels())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "LABELTREES_INSTRUCTIONS": "baseline"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "baseline"


@pytest.mark.skipif("avx512" not in _core.available_kernels(), reason="the processor has no AVX-512")
def test_avx2_and_avx512_train_the_same_bytes(restored):
    first, second = trained("avx2")[0], trained("avx512")[0]
    assert first.chunks.tobytes() == second.chunks.tobytes()
    np.testing.assert_array_equal(first.children, second.children)


@pytest.mark.parametrize("name", _core.available_kernels())
def test_an_instruction_set_repeats_its_bytes_and_agrees_with_the_baseline(name, restored):
    first, scores = trained(name)
    assert first.chunks.tobytes() == trained(name)[0].chunks.tobytes()
    np.testing.assert_allclose(scores[:, 0], trained("baseline")[1][:, 0], atol=5e-3)
