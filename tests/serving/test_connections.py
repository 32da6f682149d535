"""The sockets of a process: which of them are closed, and with which options new ones begin."""

import socket

import pytest

from labeltrees.serving import ServingSettings
from labeltrees.serving.connections import ConnectionGuard


@pytest.fixture
def listening():
    with socket.create_server(("127.0.0.1", 0)) as found:
        yield found


def connect(listening, n):
    """Return n pairs of sockets: that of the client, and that of the server."""
    pairs = []
    for _ in range(n):
        client = socket.create_connection(listening.getsockname())
        client.settimeout(0.2)
        client.sendall(b"G")
        pairs.append((client, listening.accept()[0]))
    return pairs


def is_closed(client):
    try:
        return client.recv(1) == b""
    except TimeoutError:
        return False


def test_the_oldest_idle_connections_of_a_crowded_address_are_closed(listening):
    busy = set()
    guard = ConnectionGuard(listening.getsockname()[1], ServingSettings(max_connections=5), busy)
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        others = connect(elsewhere, 8)
        pairs = connect(listening, 4)
        guard.check()
        pairs += connect(listening, 4)
        busy.add(pairs[1][0].getsockname())
        guard.check()
        assert [is_closed(client) for client, _ in pairs[:4]] == [True, False, True, True]
        assert not any(is_closed(client) for client, _ in pairs[4:] + others)
        guard.check()
        assert not is_closed(pairs[4][0])
        for pair in pairs + others:
            for one in pair:
                one.close()


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="the system has no limit on unread answers")
def test_new_connections_have_a_limit_for_unread_answers(listening):
    ConnectionGuard(listening.getsockname()[1], ServingSettings(max_seconds=3), set()).check()
    ((client, server),) = connect(listening, 1)
    assert server.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 3000
    assert listening.getsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT) >= 1
    client.close()
    server.close()
