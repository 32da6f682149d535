"""Hostile clients: ``python -m benchmarks.serve --parts attack``. All on loopback, bounded in number and time.

- Large bodies that are hard to decode: how long `/health` takes meanwhile, and how much memory the worker takes.
- Answers that nobody reads: memory, and whether their connections end.
- Silent connections, renewed all the time: whether polite requests are answered.
- 10,000 connections at once, from one address and from many: polite requests, memory, and what is left of them.
"""

from __future__ import annotations

import json
import resource
import socket
import statistics
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

import labeltrees as lt
from benchmarks.serve import servers
from benchmarks.serve.hostile_bodies import PREDICT, hostile_bodies, method_of
from benchmarks.serve.load import request
from benchmarks.serve.servers import ServerProcess

_BODY_BYTES = 10 * 2**20 - 1000
_UNREAD, _SILENT, _RENEWED, _POLITE = 50, 1100, 100, 20  # connections; per second; requests
_QUIET = 7.0  # seconds until the connections of the attack before have ended
_MANY, _ADDRESSES = 10_000, 40  # connections; loopback addresses that they come from, or one


def save_models(folder: Path) -> list[str]:
    """Save three small models; return them as arguments of `labeltrees serve`."""
    rng = np.random.default_rng(0)
    texts = [f"red word{number % 3000} apple" for number in range(6000)]
    labels = [[f"label number {number % 2000}"] for number in range(6000)]
    baskets, bought = [["bread", "milk"], ["milk"]] * 10, [["jam"], ["bread"]] * 10
    shop = lt.Dataset(baskets, bought, encoder=lt.encoders.ItemEncoder(["bread", "milk"]))
    made = {
        "fruit": lt.LabelTreeClassifier(n_jobs=1).fit(texts, labels),
        "rows": lt.LabelTreeClassifier(n_jobs=1).fit(rng.random((60, 8)), rng.random((60, 12)) < 0.3),
        "shop": lt.LabelTreeClassifier(n_jobs=1).fit(shop),
    }
    for name, model in made.items():
        model.save(folder / f"{name}.model")
    return [f"{name}={folder / name}.model" for name in made]


def _ask(port: int, sent: bytes, timeout: float = 60) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=timeout) as connection:
        connection.sendall(sent)
        return connection.recv(65536)


class _Health:
    """Asks for /health all the time, in a thread, and notes the longest time."""

    def __init__(self, port: int) -> None:
        self._port, self._stop = port, threading.Event()
        self.longest = 0.0
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        sent = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
        with socket.create_connection(("127.0.0.1", self._port), timeout=60) as connection:
            while not self._stop.is_set():
                start = time.perf_counter()
                connection.sendall(sent)
                answer = connection.recv(65536)
                if not answer.startswith(b"HTTP/1.1 200"):
                    raise RuntimeError(answer)
                self.longest = max(self.longest, time.perf_counter() - start)
                time.sleep(0.002)

    def __enter__(self) -> _Health:
        self._thread.start()
        time.sleep(0.05)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def _memory(server: ServerProcess, what: str) -> float:
    """Return the resident memory of the worker in MiB: now (VmRSS), or the most since `_forget_peak` (VmHWM)."""
    (worker,) = server.workers
    lines = Path(f"/proc/{worker}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what)) / 1024


def _forget_peak(server: ServerProcess) -> None:
    Path(f"/proc/{server.workers[0]}/clear_refs").write_text("5")


def _attack_bodies(server: ServerProcess) -> None:
    for _ in range(5):  # what a worker makes with the first request in its pool, and keeps
        _ask(server.port, request(*hostile_bodies(20_000)["a long text"]))
    print("\n| body of 10 MiB | status | longest /health, ms | memory, times the body |\n| --- | --- | --- | --- |")
    for name, (path, body) in hostile_bodies(_BODY_BYTES).items():
        before = _memory(server, "VmRSS")
        _forget_peak(server)
        with _Health(server.port) as health:
            answer = _ask(server.port, request(path, body, method=method_of(path)))
        growth = (_memory(server, "VmHWM") - before) * 2**20 / len(body)
        status = answer.split()[1].decode() if answer else "closed"
        print(f"| {name} | {status} | {health.longest * 1000:.0f} | {growth:.1f} |", flush=True)


def _sockets(server: ServerProcess) -> int:
    return sum(file.is_socket() for file in Path(f"/proc/{server.workers[0]}/fd").iterdir())


def _attack_unread(server: ServerProcess) -> None:
    time.sleep(_QUIET)
    before, sockets = _memory(server, "VmRSS"), _sockets(server)
    sent = request(PREDICT, json.dumps({"texts": ["red"] * 100, "k": 1000}).encode())
    unread = []
    for _ in range(_UNREAD):
        connection = socket.create_connection(("127.0.0.1", server.port), timeout=60)
        connection.sendall(sent)
        unread.append(connection)
    most, start = 0.0, time.perf_counter()
    while _sockets(server) > sockets and time.perf_counter() - start < 120:
        most = max(most, _memory(server, "VmRSS") - before)
        time.sleep(0.2)
    seconds, left = time.perf_counter() - start, _sockets(server) - sockets
    print(f"\n{_UNREAD} unread answers: {most:.0f} MiB at most, {left} connections left after {seconds:.0f} s")
    for connection in unread:
        connection.close()


def _attack_silent(server: ServerProcess) -> None:
    silent: list[Any] = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(_SILENT)]
    stop = threading.Event()

    def renew() -> None:
        while not stop.wait(1 / _RENEWED):
            silent.pop(0).close()
            silent.append(socket.create_connection(("127.0.0.1", server.port)))
            silent[-1].sendall(b"P" * (len(silent) % 2))

    thread = threading.Thread(target=renew)
    thread.start()
    times = _polite(server)
    stop.set()
    thread.join()
    for connection in silent:
        connection.close()
    print(f"\n{_SILENT} silent connections, {_RENEWED} renewed per second: {_answered(times)}")


def _attack_many(server: ServerProcess, addresses: int) -> None:
    """Open connections that send the beginning of a request, from some addresses, faster than they end."""
    time.sleep(_QUIET)
    before, sockets = _memory(server, "VmRSS"), _sockets(server)
    _forget_peak(server)
    opened: list[socket.socket] = []
    for number in range(_MANY):
        try:
            address = (f"127.0.1.{1 + number % addresses}", 0)
            opened.append(socket.create_connection(("127.0.0.1", server.port), timeout=5, source_address=address))
            opened[-1].sendall(b"P")
        except OSError:  # closed, or refused for now
            continue
    held, most = _sockets(server) - sockets, _memory(server, "VmHWM") - before
    times = _polite(server)
    for connection in opened:
        connection.close()
    time.sleep(3)
    print(f"\n{len(opened):,} connections, {addresses} client addresses: {held:,} held by the worker, {most:.0f} MiB, "
          f"{_sockets(server) - sockets} left 3 s after they were closed; {_answered(times)}")  # fmt: skip


def _polite(server: ServerProcess) -> list[float]:
    """Return the times of polite requests that were answered."""
    times = []
    for _ in range(_POLITE):
        start = time.perf_counter()
        try:
            if _ask(server.port, request(PREDICT, b'{"text": "red"}'), 5).startswith(b"HTTP/1.1 200"):
                times.append(time.perf_counter() - start)
        except OSError:
            pass
        time.sleep(0.5)
    return times


def _answered(times: list[float]) -> str:
    middle = statistics.median(times) * 1000 if times else float("nan")
    return f"{len(times)} of {_POLITE} polite requests answered, median {middle:.0f} ms"


def attack(folder: Path, package: Path | None = None) -> None:
    """Run all attacks on a server with one worker."""
    options = ["--max-seconds", "5", "--sets", str(folder / "sets")]
    with servers.ours(save_models(folder), *options, package=package) as server:
        time.sleep(2)  # the options of the listening socket are set in the first second
        _attack_bodies(server)
        _attack_unread(server)
        _attack_silent(server)
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 2 * _MANY), most))
        for addresses in (1, _ADDRESSES):
            _attack_many(server, addresses)
