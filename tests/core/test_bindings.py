"""Every native entry refuses arguments of the wrong type: bindings never convert arrays, and never crash."""

import gc
import inspect

import numpy as np
import pytest

from labeltrees import _core

pytestmark = pytest.mark.smoke

NAMES = sorted(name for name in dir(_core) if not name.startswith("_") and callable(getattr(_core, name)))
JUNK = [object(), "text", 1.5, np.zeros(3, np.complex64), np.zeros((2, 2, 2), np.int8), None, [1, "a"]]


def test_there_are_entries():
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
