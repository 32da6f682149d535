"""Times of single calls."""

import numpy as np
import scipy.sparse as sp

from labeltrees.profiling import single_call_microseconds


def test_each_point_of_a_sample_is_predicted_twice():
    X = sp.random_array((120, 30), density=0.3, format="csr", rng=np.random.default_rng(0))
    calls = []
    times = single_call_microseconds(
        lambda features, values: calls.append((features.tolist(), values.tolist())), X, max_points=50
    )
    assert len(times) == 50
    assert calls[:50] == calls[50:]
    rows = [(row.indices.tolist(), row.data.tolist()) for row in (X[[number]] for number in range(120))]
    assert all(call in rows for call in calls)


def test_only_the_second_call_of_a_point_is_timed():
    ticks = iter(range(0, 10**6, 500))
    times = single_call_microseconds(lambda row: None, np.eye(3), clock=lambda: next(ticks))
    assert times.tolist() == [0.5] * 3
    assert next(ticks) == 6 * 500
