"""Evidence keeps the strongest entries, and says how many bytes it takes."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from labeltrees.models.linear.evidence_rows import make_evidence, strongest_entries
from labeltrees.search.evidence import from_short

entries = st.lists(st.lists(st.sampled_from([-2.0, -1.0, -0.5, 0.5, 1.0]), max_size=8), min_size=1, max_size=6)


@given(entries, st.integers(1, 8))
def test_the_largest_magnitudes_of_each_row_are_kept_the_first_of_equal_ones(rows, n_kept):
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    columns = np.concatenate([np.arange(len(row)) * 3 for row in rows])
    found = strongest_entries(indptr, columns, np.concatenate([np.array(row, np.float32) for row in rows]), n_kept)
    for number, row in enumerate(rows):
        kept = sorted(sorted(range(len(row)), key=lambda place: (-abs(row[place]), place))[:n_kept])
        own = slice(found.indptr[number], found.indptr[number + 1])
        assert found.columns[own].tolist() == [3 * place for place in kept]
        assert from_short(found.values[own]).tolist() == [row[place] for place in kept]


@pytest.mark.parametrize("parts", [(True, False), (False, True), (True, True)])
def test_only_the_parts_asked_for_are_made(parts):
    X, Y = sp.csr_array(np.eye(6, dtype=np.float32)), sp.csr_array(np.eye(6, 4, dtype=np.float32))
    evidence = make_evidence(X, Y, neighbours=parts[0], centroids=parts[1])
    assert (evidence.points is not None, evidence.centroids is not None) == parts
    # Rows of X and Y: a pointer of 8 bytes per row, 6 or 4 bytes per value; 4 bytes per feature.
    expected = parts[0] * (7 * 8 + 6 * 6 + 6 * 4 + 7 * 8 + 4 * 4) + parts[1] * (5 * 8 + 4 * 6)
    assert evidence.nbytes == expected
