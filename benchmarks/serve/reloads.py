"""A model is replaced many times under load: no request fails, and no answer mixes versions."""

from __future__ import annotations

import itertools
import json
import threading
import time
from pathlib import Path
from typing import Any

import labeltrees as lt
from benchmarks.serve import servers


def two_versions(texts: list[str], labels: list[list[str]]) -> list[Any]:
    """Return two models whose labels say which version they belong to."""
    return [
        lt.LabelTreeClassifier(n_jobs=1).fit(texts, [[f"{name}@{version}" for name in row] for row in labels])
        for version in (1, 2)
    ]


def run_reloads(models: list[Any], folder: Path, texts: list[str], n_reloads: int) -> dict[str, int]:
    """Return the numbers of requests, of failed ones, of mixed answers, and of versions that were seen in a row."""
    import httpx2

    models[0].save(folder)
    counts = {"requests": 0, "failed": 0, "mixed": 0, "changes": 0}
    stop = threading.Event()
    seen: list[str] = []

    def ask() -> None:
        with httpx2.Client(base_url=f"http://127.0.0.1:{server.port}", timeout=60) as client:
            while not stop.is_set():
                counts["requests"] += 1
                try:
                    reply = client.post("/v1/models/reloaded/predict", content=body)
                    answer = reply.json()
                    tags = {label[-2:] for one in answer["results"] for label in one["labels"]}
                    seen.append(answer["version"])
                except (httpx2.HTTPError, KeyError, ValueError):
                    counts["failed"] += 1
                    continue
                counts["mixed"] += len(tags) != 1
                known.setdefault(answer["version"], tags)
                counts["mixed"] += known[answer["version"]] != tags

    known: dict[str, set[str]] = {}
    body = json.dumps({"texts": texts[:20], "k": 5}).encode()
    with servers.ours([f"reloaded={folder}"], "--reload-seconds", "0.02") as server:
        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        for number in range(n_reloads):
            old = seen[-1] if seen else ""
            models[(number + 1) % 2].save(folder)
            limit = time.monotonic() + 20
            while time.monotonic() < limit and (not seen or seen[-1] == old):
                time.sleep(0.01)
        stop.set()
        for thread in threads:
            thread.join()
    counts["changes"] = sum(one != other for one, other in itertools.pairwise(seen))
    counts["versions"] = len(known)
    return counts
