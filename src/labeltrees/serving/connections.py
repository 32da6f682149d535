"""ConnectionGuard: limits on connections that granian lacks.

granian limits the time for the headers of a request. It has no time limit for a client that does not read its answer,
and no limit per client address. Both limits are set on sockets, which the worker finds among its open files.
"""

from __future__ import annotations

import logging
import os
import socket
import stat
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

from labeltrees.serving.settings import ServingSettings

_logger = logging.getLogger("labeltrees")
_OPEN_FILES = "/dev/fd"
_SECONDS = 1.0  # between two checks of the sockets
_FIRST_BYTE_SECONDS = 5


class ConnectionGuard:
    """Watches the connections to one port of this process, in a thread.

    On Linux, socket options make the system end a connection whose client reads nothing for `max_seconds`, and hand
    over a connection only when its first byte arrives. If one address has more than `max_connections`, the guard closes
    the oldest ones without a request in progress.

    Parameters
    ----------
    port : int
        The port that the server listens on.
    settings : ServingSettings
    in_progress : set of (host, port)
        The clients of the requests in progress.
    """

    def __init__(self, port: int, settings: ServingSettings, in_progress: set[Any]) -> None:
        self._port, self._settings, self._in_progress = port, settings, in_progress
        self._peers: dict[int, tuple[str, str] | None] = {}  # by inode, oldest first; None for other sockets
        self._stopped = threading.Event()

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._run, name="labeltrees-connections", daemon=True).start()

    def stop(self) -> None:
        """End the thread."""
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.wait(_SECONDS):
            try:
                self.check()
            except Exception:  # the next check may find enough memory and file handles again
                _logger.exception("looking at the connections failed")

    def check(self) -> None:
        """Check all sockets once."""
        found = dict(_sockets())  # from inodes to file handles
        self._peers = {inode: peer for inode, peer in self._peers.items() if inode in found}
        for inode, handle in found.items():
            if inode not in self._peers:
                self._peers[inode] = self._look_at(handle)
        counts = Counter(peer[0] for peer in self._peers.values() if peer is not None)
        crowded = {address: n for address, n in counts.items() if n > self._settings.max_connections}
        if not crowded:
            return
        busy = {str(port) for _, port in self._in_progress.copy()}
        for inode, peer in list(self._peers.items()):
            if peer is not None and crowded.get(peer[0], 0) > self._settings.max_connections and peer[1] not in busy:
                crowded[peer[0]] -= 1
                with _opened(found[inode]) as connection:
                    _shut(connection)
                self._peers[inode] = None

    def _look_at(self, handle: int) -> tuple[str, str] | None:
        """Return the host and port of the client of a connection; set the options of the listening socket."""
        with _opened(handle) as found:
            try:
                if found.family not in (socket.AF_INET, socket.AF_INET6) or found.getsockname()[1] != self._port:
                    return None
                if found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    self._set_options(found)
                    return None
                host, port = found.getpeername()[:2]
                return host, str(port)
            except OSError:  # closed meanwhile
                return None

    def _set_options(self, listening: socket.socket) -> None:
        """Set options that new connections inherit, where the system (Linux) has them."""
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            milliseconds = max(int(self._settings.max_seconds * 1000), 1)
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)
        if hasattr(socket, "TCP_DEFER_ACCEPT"):
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, _FIRST_BYTE_SECONDS)


def _sockets() -> Iterator[tuple[int, int]]:
    """Yield the inode and the file handle of every socket of this process."""
    for name in os.listdir(_OPEN_FILES):
        try:
            found = os.fstat(int(name))
        except OSError:  # closed meanwhile
            continue
        if stat.S_ISSOCK(found.st_mode):
            yield found.st_ino, int(name)


def _opened(handle: int) -> socket.socket:
    """Return a socket for a copy of a file handle; closing it leaves the original open."""
    return socket.socket(fileno=os.dup(handle))


def _shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:  # closed meanwhile
        pass
