"""Many requests over all routes, a tenth of them malformed: every one is answered or refused, and right."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
from collections import Counter
from typing import Any
from urllib.parse import urlencode

from benchmarks.serve.load import request, run
from benchmarks.serve.servers import ServerProcess

_CONNECTIONS = 16
_SLOW = 0.005  # the share of slow senders among malformed requests
_STALLED = 10  # connections that send half a request and then nothing


def good_requests(model: Any, name: str, texts: list[str]) -> list[tuple[bytes, Any]]:
    """Return requests, each with a check of the body of its answer."""
    found: list[tuple[bytes, Any]] = []
    for text in texts:
        labels = [label for label in model.predict_topk([text], 5)[0][0].tolist() if label is not None]
        own = request(f"/v1/models/{name}/predict", json.dumps({"text": text, "k": 5}).encode())
        found.append((own, lambda body, labels=labels: json.loads(body)["labels"] == labels))
        tensor = {"name": "text", "shape": [1], "datatype": "BYTES", "data": [text]}
        infer = request(f"/v2/models/{name}/infer", json.dumps({"inputs": [tensor], "parameters": {"k": 5}}).encode())
        found.append((infer, lambda body, labels=labels: json.loads(body)["outputs"][0]["data"] == labels))
        suggest = request(f"/v1/projects/{name}/suggest", urlencode({"text": text, "limit": 5}).encode())
        found.append(
            (suggest, lambda body, labels=labels: [one["uri"] for one in json.loads(body)["results"]] == labels)
        )
    several = [label for label in model.predict_topk(texts[:20], 3)[0].tolist()]
    batch = request(f"/v1/models/{name}/predict", json.dumps({"texts": texts[:20], "k": 3}).encode())
    found.append((batch, lambda body: [one["labels"] for one in json.loads(body)["results"]] == several))
    for path in ("/health", "/ready", "/v1/models", f"/v1/models/{name}", "/metrics", "/openapi.json", "/", "/v2"):
        found.append((f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode(), lambda body: len(body) > 1))
    return found


def bad_requests(name: str) -> list[bytes]:
    """Return malformed requests of many kinds."""
    path = f"/v1/models/{name}/predict"
    bodies = [
        b"", b"{", b"null", b"[]", b"\xff\xfe", b'{"text": 1}', b'{"text": "\xc3"}', b'{"text": "a", "k": -1}',
        b'{"text": "a", "k": 1e9}', b'{"text": "a", "beam": "x"}', b'{"rows": [{"indices": [-1], "values": [1]}]}',
        b'{"texts": ' + b"[" * 5000, b'{"text": "a", "candidates": [99999999]}', b"x" * 50_000,
        json.dumps({"texts": ["a"] * 5000}).encode(),
    ]  # fmt: skip
    bad = [request(path, body) for body in bodies]
    bad += [request(f"/v2/models/{name}/infer", body) for body in bodies]
    bad += [request(f"/v1/projects/{name}/suggest", body) for body in (b"", b"text=%ff", b"text=a&limit=-3")]
    bad += [
        b"DELETE / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /static/%2e%2e/keys.py HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"NONSENSE\r\n\r\n",
        b"POST " + path.encode() + b" HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
        b"POST " + path.encode() + b" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n{",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 600_000 + b"\r\n\r\n",
    ]
    return bad


class Mix:
    """Sends the requests and counts what came of them."""

    def __init__(
        self, server: ServerProcess, good: list[tuple[bytes, Any]], bad: list[bytes], n: int, seed: int
    ) -> None:
        self._server, self._good, self._bad = server, good, bad
        self._left = n
        self._random = random.Random(seed)
        self.counts: Counter[str] = Counter()
        self.faults: list[str] = []

    async def run(self, kill_at: int) -> None:
        """Send everything; kill a worker when `kill_at` requests are left."""
        self._kill_at = kill_at
        await asyncio.gather(*(self._client() for _ in range(_CONNECTIONS)), *map(self._stall, range(_STALLED)))

    async def _stall(self, number: int) -> None:
        """Send half of the headers or of the body; the server must refuse it or close the connection."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._server.port)
        sent = self._good[0][0]
        writer.write(sent[: 20 if number % 2 else -5])
        try:
            status, _ = await asyncio.wait_for(_read(reader), 60)
            self.counts[f"stalled {status}"] += 1
            if status // 100 != 4:
                self.faults.append(f"{status} for a request that never ended")
        except (ConnectionError, asyncio.IncompleteReadError):
            self.counts["closed after stalling"] += 1
        except TimeoutError:
            self.faults.append("a request that never ended was kept for a minute")
        writer.close()

    async def _client(self) -> None:
        reader = writer = None
        while self._left > 0:
            self._left -= 1
            if self._left == self._kill_at:
                os.kill(self._server.workers[0], signal.SIGKILL)
            if writer is None:
                reader, writer = await asyncio.open_connection("127.0.0.1", self._server.port)
            keep = await self._one(reader, writer)
            if not keep:
                writer.close()
                reader = writer = None
        if writer is not None:
            writer.close()

    async def _one(self, reader: Any, writer: Any) -> bool:
        """Send one request; return whether the connection can be used again."""
        is_bad = self._random.random() < 0.1
        sent, check = (self._random.choice(self._bad), None) if is_bad else self._random.choice(self._good)
        is_cut = is_bad and self._random.random() < 0.1
        try:
            if is_cut:
                writer.write(sent[: len(sent) // 2])
                writer.write_eof()
            elif is_bad and self._random.random() < _SLOW:
                for at in range(0, min(len(sent), 40), 10):
                    writer.write(sent[at : at + 10])
                    await asyncio.sleep(0.05)
                writer.write(sent[40:])
            else:
                writer.write(sent)
            status, body = await asyncio.wait_for(_read(reader), 60)
        except (ConnectionError, asyncio.IncompleteReadError):
            self.counts["closed after malformed" if is_bad else "closed"] += 1
            return False
        except TimeoutError:
            self.faults.append(f"no answer within a minute: {sent[:200]!r}")
            return False
        self.counts[f"{'malformed' if is_bad else 'good'} {status}"] += 1
        if status >= 500 or (is_bad and not is_cut and status == 200):
            self.faults.append(f"{status}: {sent[:200]!r} {body[:200]!r}")
        if check is not None and (status != 200 or not check(body)):
            self.faults.append(f"wrong answer {status}: {sent[:200]!r} {body[:200]!r}")
        return not is_bad


async def _read(reader: Any) -> tuple[int, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    lower = head.lower()
    at = lower.find(b"content-length:")
    length = int(lower[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
    return int(head.split()[1]), await reader.readexactly(length)


def run_mix(
    server: ServerProcess, good: list[tuple[bytes, Any]], bad: list[bytes], n: int, seed: int
) -> dict[str, Any]:
    """Return the counts, the faults, the growth of the workers' memory, and their open files before and after."""
    warm = Mix(server, good, bad, max(n // 10, 1000), seed)
    run(warm.run(-1))
    before, open_before = server.memory(), server.descriptors()
    mix = Mix(server, good, bad, n, seed + 1)
    run(mix.run(n // 2))
    after, open_after = server.memory(), server.descriptors()
    growth = {pid: after[pid] - before[pid] for pid in after if pid in before}
    return {
        "counts": dict(sorted(mix.counts.items())),
        "faults": warm.faults + mix.faults,
        "requests": mix.counts.total() + warm.counts.total(),
        "growth_mib": list(growth.values()),
        "descriptors": [[open_before[pid], open_after[pid]] for pid in after if pid in before],
        "replaced": len(after) == len(before) and set(after) != set(before),
    }
