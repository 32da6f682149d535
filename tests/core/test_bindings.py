"""Every native entry refuses arguments of the wrong type: bindings never convert arrays, and never crash."""

import ast
import gc
import inspect
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from labeltrees import _core
from labeltrees.models.linear.settings import LinearSettings
from labeltrees.search import SearchRequest

pytestmark = pytest.mark.smoke

NAMES = sorted(name for name in dir(_core) if not name.startswith("_") and callable(getattr(_core, name)))
JUNK = [object(), "text", 1.5, np.zeros(3, np.complex64), np.zeros((2, 2, 2), np.int8), None, [1, "a"]]


def test_there_is_at_least_one_entry():
    assert len(NAMES) > 30


@pytest.mark.parametrize("name", NAMES)
def test_an_unknown_argument_is_refused(name):
    with pytest.raises(TypeError):
        getattr(_core, name)(no_such_argument=1)


@pytest.mark.parametrize("name", NAMES)
def test_too_many_arguments_are_refused(name):
    with pytest.raises(TypeError):
        getattr(_core, name)(*[object()] * 40)


@pytest.mark.parametrize("junk", JUNK, ids=lambda junk: type(junk).__name__)
@pytest.mark.parametrize("name", [name for name in NAMES if inspect.isclass(getattr(_core, name))])
def test_objects_are_not_made_from_junk(name, junk):
    for n in range(1, 9):
        try:
            made = getattr(_core, name)(*[junk] * n)
        except (TypeError, ValueError, RuntimeError):
            continue
        pytest.fail(f"{name} was made from {n} times {junk!r}: {made!r}")
    gc.collect()


ARRAYS = {
    "xxh64": ["uint8"],
    "copy_to_huge_pages": ["uint8"],
    "gather_dot": ["int32", "float32", "float32"],
    "dense_dot": ["float32", "float32"],
    "sum_present": ["uint64", "uint64", "uint16"],
    "fasttext_entries": ["uint8"],
    "word_slots": ["uint8", "int64"],
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_of_another_type_shape_or_order_are_refused(name):
    function = getattr(_core, name)
    good = [np.zeros(4, kind) for kind in ARRAYS[name]]
    for place, kind in enumerate(ARRAYS[name]):
        other = "float64" if kind != "float64" else "int8"
        for bad in (np.zeros(4, other), np.zeros((2, 2), kind), np.zeros(8, kind)[::2], [0, 0, 0, 0], None):
            arguments = [*good[:place], bad, *good[place + 1 :]]
            with pytest.raises(TypeError):
                function(*arguments, 1) if name == "fasttext_entries" else function(*arguments)


def make_problem():
    indptr, zeros = np.array([0, 1, 2]), np.zeros(2, np.int32)
    arrays = {"x_indptr": indptr, "x_columns": zeros, "x_values": np.ones(2, np.float32), "y_indptr": indptr}
    tree = {"child_ptr": np.array([0, 1]), "children": np.array([~0], np.int32)}
    absent = dict.fromkeys(("y_values", "point_weight", "label_cost", "extra_indptr", "extra_points"))
    return _core.LinearProblem(n_points=2, n_features=1, n_labels=1, y_columns=zeros, **arrays, **tree, **absent)


@pytest.mark.parametrize("name", ["loss", "eps", "max_iter", "bias", "prune_below", "max_memory"])
@pytest.mark.parametrize("value", [object(), [1], b"x"])
def test_a_setting_of_a_wrong_type_is_an_error(name, value):
    settings = SimpleNamespace(**{**vars(LinearSettings()), name: value})
    one = {key: np.array([number]) for key, number in (("nodes", 0), ("first_edges", 0), ("n_edges", 1))}
    with pytest.raises((TypeError, ValueError), match=name):
        make_problem().train(**one, costs=np.ones(1, np.float32), settings=settings, seed=0, n_threads=1, progress=None)


@pytest.mark.parametrize("name", ["search", "beam", "max_chunks", "max_microseconds"])
@pytest.mark.parametrize("value", [object(), [1], 1.5j, 10**40])
def test_a_field_of_a_request_of_a_wrong_type_is_an_error(name, value):
    settings = SimpleNamespace(**{**vars(SearchRequest(3)), name: value})
    absent = dict.fromkeys(
        (
            "discounts",
            "candidate_ptr",
            "candidates",
            "exclude_ptr",
            "exclude",
            "candidate_set",
            "exclude_set",
            "weights",
            "calibration",
            "boosted",
            "boosts",
            "limits",
        )
    )
    with pytest.raises(TypeError, match=name):
        _core.SearchRequest(settings, k=3, n_candidates=0, evidence=False, **absent)


def test_a_missing_setting_is_an_error():
    with pytest.raises(AttributeError, match="loss"):
        make_problem().train(
            nodes=np.zeros(1, np.int64),
            first_edges=np.zeros(1, np.int64),
            n_edges=np.ones(1, np.int64),
            costs=np.ones(1, np.float32),
            settings=object(),
            seed=0,
            n_threads=1,
            progress=None,
        )


def test_the_stub_names_what_the_module_has():
    stub = Path(_core.__file__).with_name("_core.pyi")
    names = {
        node.name
        for node in ast.parse(stub.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
    }
    assert names == set(NAMES)
