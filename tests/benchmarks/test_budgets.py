"""The share of labels found that benchmarks/budgets.py reports."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.budgets import share_found


@pytest.mark.parametrize(
    ("found", "exact", "share"),
    [
        ([[1, 2, 3]], [[3, 2, 1]], 1.0),
        ([[1, 2, 3]], [[1, 8, 9]], 1 / 3),
        ([[1, -1, -1]], [[1, 2, -1]], 0.5),
        ([[-1, -1], [4, 5]], [[1, 2], [4, 5]], 0.5),
    ],
)
def test_share_found_ignores_padding(found: list[list[int]], exact: list[list[int]], share: float) -> None:
    assert share_found(np.array(found), np.array(exact)) == pytest.approx(share)
