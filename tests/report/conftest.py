"""A result with a chosen setting, and its page."""

import pytest

import labeltrees as lt
from tests.tuning.conftest import make_data

NAME = "</script><b>bold</b>"


@pytest.fixture(scope="session")
def result():
    data = make_data(400)
    names = [NAME, *data.label_names[1:]]
    data = lt.Dataset(data.X, data.Y, label_names=names, texts=[f"point {row} & <i>" for row in range(400)])
    tune = {"tradeoff": [0, 0.5, 1, 1.5, 2], "fanout": [2, 8]}
    return lt.choose(data, max_precision_loss=0.5, tune=tune).result


@pytest.fixture(scope="session")
def page(result, tmp_path_factory):
    pytest.importorskip("altair")
    path = tmp_path_factory.mktemp("report") / "report.html"
    result.report(path)
    return path
