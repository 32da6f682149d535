"""Every input of the fuzzer's corpus, and a few changes of each, end well or in an error of ours."""

import contextlib
import logging
import random

import pytest

import labeltrees as lt
from tests.fuzz.engine import mutate
from tests.fuzz.run import seeds_of
from tests.fuzz.targets import TARGETS, forget


@pytest.fixture(autouse=True)
def quiet():
    logger = logging.getLogger("labeltrees")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(before)


@pytest.fixture(autouse=True, scope="module")
def clean_up():
    yield
    forget()


@pytest.mark.parametrize("name", TARGETS)
def test_inputs_end_well_or_in_an_error_of_ours(name):
    seeds = seeds_of(name)
    assert seeds
    rng = random.Random(0)
    n_changes = 10 if name.startswith("events") else 40
    for data in [*seeds, *(mutate(rng.choice(seeds), seeds, rng) for _ in range(n_changes))]:
        with contextlib.suppress(lt.errors.LabelTreesError):
            TARGETS[name](data)
