"""Frequencies from blocks of points have the bytes of frequencies from all points at once."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import labeltrees as lt
from labeltrees._matrices import check_Y
from labeltrees.labels.frequency_blocks import frequencies_of_blocks


@given(
    seed=st.integers(0, 2**32 - 1), cuts=st.lists(st.integers(1, 59), max_size=5, unique=True), weighted=st.booleans()
)
@settings(max_examples=30)
@pytest.mark.parametrize("method", ["marginal", "greedy"])
def test_blocks_change_nothing(method, seed, cuts, weighted):
    rng = np.random.default_rng(seed)
    Y = sp.random_array((60, 9), density=0.3, rng=rng, format="csr")
    weights = rng.random(60) ** 8 + 1e-9 if weighted else None
    bounds = [0, *sorted(cuts), 60]

    def blocks():
        for first, last in itertools.pairwise(bounds):
            yield check_Y(Y[first:last]).indicator, None if weights is None else weights[first:last]

    frequencies, covers = frequencies_of_blocks(blocks, 9, method, 0.25)
    np.testing.assert_array_equal(frequencies, lt.label_frequencies(Y, weights))
    np.testing.assert_array_equal(covers, lt.cover_frequencies(Y, weights, method, 0.25))
