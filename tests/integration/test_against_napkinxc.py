"""Every metric napkinXC has gives napkinXC's figure (napkinxc_table.json, made by make_napkinxc_table.py)."""

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from labeltrees import metrics

TABLE = json.loads(Path(__file__).with_name("napkinxc_table.json").read_text())


def indicator(label_lists):
    rows = np.repeat(np.arange(len(label_lists)), [len(labels) for labels in label_lists])
    columns = np.concatenate([np.array(labels, dtype=int) for labels in label_lists])
    return sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(label_lists), TABLE["n_labels"]))


def padded(label_lists, k):
    return np.array([labels + [-1] * (k - len(labels)) for labels in label_lists])


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("name", sorted(TABLE["results"]))
def test_equals_napkinxc(name, k):
    extra = {"Y_train": indicator(TABLE["train"])} if name.startswith("ps") else {}
    result = getattr(metrics, name)(indicator(TABLE["true"]), padded(TABLE["returned"], 5), k, **extra)
    assert result == pytest.approx(TABLE["results"][name][k - 1], rel=1e-12)


def test_propensities_equal_napkinxc():
    result = metrics.label_propensities(indicator(TABLE["train"]))
    np.testing.assert_allclose(1 / result, TABLE["inverse_propensities"], rtol=1e-12)
