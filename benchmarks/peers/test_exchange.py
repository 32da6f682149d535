"""The peers load our trees, train on them and save them again: `python -m pytest -m peers benchmarks/peers`."""

import pytest

from benchmarks.peers.exchange_check import CHECKS


@pytest.mark.peers
@pytest.mark.parametrize("peer", CHECKS)
def test_a_peer_trains_on_our_tree_and_returns_it_unchanged(peer, tmp_path):
    CHECKS[peer](tmp_path)
