import numpy as np
import pytest

from labeltrees._validation import (
    check_choice,
    check_fanout,
    check_integer,
    check_n_jobs,
    check_number,
    check_seed,
    refuse,
)
from labeltrees.errors import InputError


@pytest.mark.parametrize("value", [True, "1", None, np.nan, np.inf, -0.1, 1.1])
def test_numbers_outside_an_interval_are_refused(value):
    with pytest.raises(InputError, match=r"share must be a number in \[0, 1\], got"):
        check_number("share", value, 0, 1)
    assert check_number("share", np.float32(0.5), 0, 1) == 0.5
    with pytest.raises(InputError, match="share must be a number in"):
        check_number("share", 10**400, 0, 1)


@pytest.mark.parametrize("value", [True, "1", None, 1.0, 0, 6])
def test_integers_outside_an_interval_are_refused(value):
    with pytest.raises(InputError, match=r"n must be an integer in \[1, 5\], got"):
        check_integer("n", value, 1, 5)
    assert check_integer("n", np.int64(5), 1, 5) == 5


def test_choices_fanouts_seeds_and_threads():
    assert check_choice("path", "direct", ("weighted", "direct")) == "direct"
    assert (check_fanout("fanout", "auto"), check_fanout("fanout", 2)) == ("auto", 2)
    assert check_n_jobs(None) == 1
    for call, message in (
        (lambda: check_choice("path", "round", ("weighted", "direct")), "path must be one of 'weighted', 'direct'"),
        (lambda: check_fanout("fanout", "wide"), "fanout must be an integer of at least 2 or 'auto'"),
        (lambda: check_seed(-1), "random_state must be"),
        (lambda: check_n_jobs(0), "n_jobs must be a non-zero integer or None"),
        (lambda: check_n_jobs(True), "n_jobs must be a non-zero integer or None, got True"),
        (lambda: check_n_jobs(1.5), "n_jobs must be a non-zero integer or None, got 1.5"),
        (lambda: check_n_jobs(2**31), "n_jobs must be a non-zero integer or None"),
    ):
        with pytest.raises(InputError, match=message):
            call()


def test_a_long_value_is_cut_in_the_message():
    with pytest.raises(InputError) as error:
        refuse("texts", "short", "x" * 500)
    assert len(str(error.value)) < 120
