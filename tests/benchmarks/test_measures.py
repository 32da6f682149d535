"""Precision and times of benchmarks/measures.py."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.measures import best_times, median_call, precisions


def test_precisions_are_percentages_of_the_first_labels() -> None:
    Y = sp.csr_array(np.array([[1, 1, 0, 0, 0, 1], [0, 0, 0, 0, 1, 0]]))
    labels = np.array([[0, 2, 1, 3, 4], [0, 1, 4, 2, 3]])
    assert precisions(Y, labels) == pytest.approx([50, 50, 30])


def test_functions_take_turns() -> None:
    order: list[str] = []
    seconds = best_times([lambda: order.append("a"), lambda: order.append("b")], 3)
    assert order == ["a", "b"] * 3
    assert all(each.wall > 0 and each.processor >= 0 for each in seconds)


def test_each_query_is_one_call() -> None:
    seen: list[tuple[int, str]] = []
    assert median_call(lambda number, text: seen.append((number, text)), [(1, "x"), (2, "y")]) > 0
    assert seen == [(1, "x"), (2, "y")]
