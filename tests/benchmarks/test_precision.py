"""The comparison of precision keeps its measurements, and compares lists point by point."""

import numpy as np
import pytest

import labeltrees as lt
from benchmarks.precision.climb import climb
from benchmarks.precision.contestants import COSTS, PEERS
from benchmarks.precision.datasets import Data
from benchmarks.precision.records import Tuning, hits_of, keep_record, read_record
from benchmarks.precision.report import report


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(0)
    train, test = (lt.Dataset(np.eye(8)[:n], rng.random((n, 8)) < 0.5) for n in (8, 5))
    return Data("small", train, train, train, test, tmp_path)


def test_records_have_precision_intervals_and_lists(data):
    labels = np.tile(np.arange(5), (5, 1))
    labels[0, 3:] = -1
    assert read_record(data, "PECOS") is None
    keep_record(data, "PECOS", labels, {"us": 2.0, "seconds": 1.0, "settings": {"C": 1.0}})
    record = read_record(data, "PECOS")
    true = data.test.Y.toarray() > 0
    assert record["p"]["3"][0] == pytest.approx(true[:, :3].mean())
    assert record["p"]["3"][1] <= record["p"]["3"][0] <= record["p"]["3"][2]
    expected = true[:, :5].copy()
    expected[0, 3:] = False
    np.testing.assert_allclose(hits_of(data, "PECOS", 5), expected.mean(axis=1))


def test_the_report_compares_ours_with_the_best_peer(data, capsys):
    for name, first in (("PECOS", 0), ("omikuji", 1), ("ours, default", 2)):
        labels = (np.arange(5) + first + np.zeros((5, 1), np.int64)) % 8
        keep_record(data, name, labels, {"us": 2.0 + first, "seconds": 1.0, "settings": {}})
    report(data)
    printed = capsys.readouterr().out
    assert "| PECOS |" in printed
    assert "ours, default minus the best peer: P@1" in printed
    assert "the fastest of them takes 0.5 times as long per query" in printed
    assert "Not measured: ours, choose" in printed


@pytest.mark.parametrize(
    ("best", "measured"),
    [(1.0, {0.3, 1.0, 3.0}), (0.1, {0.1, 0.3, 1.0}), (0.3, {0.1, 0.3, 1.0}), (10.0, {0.3, 1.0, 3.0, 10.0})],
)
def test_a_climb_finds_the_best_c_and_stops_where_the_measure_falls(best, measured):
    asked = []

    def measure(cost):
        asked.append(cost)
        return -abs(np.log(cost / best))

    assert climb(COSTS, measure) == best
    assert set(asked) == measured
    assert len(asked) == len(measured)


def test_tuning_continues_after_an_interruption(data):
    first = Tuning(data, "PECOS")
    first.keep({"C": 0.3, "beam_size": 10}, 0.5)
    first.keep({"C": 1.0, "beam_size": 10}, 0.4)
    again = Tuning(data, "PECOS")
    assert {"beam_size": 10, "C": 0.3} in again
    assert {"beam_size": 30, "C": 0.3} not in again
    assert again[{"C": 1.0, "beam_size": 10}] == 0.4
    assert again.best() == {"C": 0.3, "beam_size": 10}


def test_every_peer_has_two_losses():
    assert all(len(peer.losses) == 2 for peer in PEERS.values())
