"""The real peers load, train on and give back trees: `python -m pytest -m peers benchmarks/peers`."""

import pytest

from benchmarks.peers.exchange_check import CHECKS


@pytest.mark.peers
@pytest.mark.parametrize("peer", CHECKS)
def test_trees_go_to_the_peer_and_come_back(peer, tmp_path):
    CHECKS[peer](tmp_path)
