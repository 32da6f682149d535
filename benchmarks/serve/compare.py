"""Two builds of the server side by side: ``python -m benchmarks.serve --parts compare --old FOLDER``.

FOLDER holds the package of the other build (``pip install --target FOLDER``). The builds take turns. Best means: the
most requests per second and the shortest p99 of all rounds, so that other work disturbs the figures little.
"""

from __future__ import annotations

import statistics
from pathlib import Path

from benchmarks.serve import servers
from benchmarks.serve.load import Load, request

_PATH = "/v1/models/debian/predict"


def compare(folder: Path, bodies: dict[str, list[bytes]], old: Path, rounds: int, seconds: float, rate: float) -> None:
    """Print requests per second at 64 connections, and p99 at `rate` requests per second, of both builds."""
    builds = {"old": old, "new": None}
    full: dict[tuple[str, str], list[Load]] = {}
    paced: dict[tuple[str, str], list[Load]] = {}
    for number in range(rounds):
        order = list(builds) if number % 2 else list(builds)[::-1]
        for build in order:
            with servers.ours([f"debian={folder}"], package=builds[build]) as server:
                for what, listed in bodies.items():
                    requests = [request(_PATH, body) for body in listed]
                    server.measure(requests, 8, 0.3)
                    full.setdefault((what, build), []).append(server.measure(requests, 64, seconds))
                    if len(listed) > 1:
                        paced.setdefault((what, build), []).append(server.measure(requests, 64, seconds, rate))
    print(
        "\n| request | build | best requests per second | of old | server's processor us | of old "
        f"| p99 ms at {rate:,.0f} per second: best, median |\n| --- | --- | --- | --- | --- | --- | --- |"
    )
    for what, build in full:
        best, base = (max(load.per_second for load in full[what, one]) for one in (build, "old"))
        own, other = (min(load.processor for load in full[what, one]) for one in (build, "old"))
        p99 = [load.p99 / 1000 for load in paced.get((what, build), [])]
        late = f"{min(p99):.2f}, {statistics.median(p99):.2f}" if p99 else ""
        print(f"| {what} | {build} | {best:,.0f} | {best / base:.0%} | {own:.0f} | {other / own:.0%} | {late} |")
