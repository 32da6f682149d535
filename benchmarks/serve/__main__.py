"""The server under load, all on loopback: ``python -m benchmarks.serve``.

Speed is measured beside a constant answer of the same ASGI server, in turns. Every run is bounded by ``--seconds``,
``--requests`` and ``--reloads``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

import labeltrees as lt
from benchmarks.serve import servers
from benchmarks.serve.attack import attack
from benchmarks.serve.compare import compare
from benchmarks.serve.in_process import processor_times
from benchmarks.serve.load import Load, request
from benchmarks.serve.mixed import bad_requests, good_requests, run_mix
from benchmarks.serve.reloads import run_reloads, two_versions

_PATH = "/v1/models/debian/predict"


def _bodies(model: Any, texts: list[str]) -> dict[str, list[bytes]]:
    titles = [" ".join(text.split()[:8]) for text in texts]
    rows = model.vectorizer_.transform(titles)
    row = [rows[[i]] for i in range(len(titles))]
    return {
        "a row of features": [
            json.dumps({"row": {"indices": one.indices.tolist(), "values": one.data.tolist()}, "k": 5}).encode()
            for one in row
        ],
        "a text of 8 words": [json.dumps({"text": title, "k": 5}).encode() for title in titles],
        "a text of some 60 words": [json.dumps({"text": text, "k": 5}).encode() for text in texts],
        "100 texts of 8 words": [json.dumps({"texts": (titles * 100)[:100], "k": 5}).encode()],
    }


def _speed(folder: Path, bodies: dict[str, list[bytes]], arguments: argparse.Namespace) -> None:
    results: dict[tuple[str, int], list[Load]] = {}
    for _ in range(arguments.rounds):
        for name, start in (("constant", servers.constant), ("ours", lambda: servers.ours([f"debian={folder}"]))):
            with start() as server:
                for what, listed in bodies.items():
                    if name == "constant" and what != "a text of 8 words":
                        continue
                    requests = [request(_PATH, body) for body in listed]
                    server.measure(requests, 8, 0.3)
                    for connections in arguments.connections:
                        key = (what if name == "ours" else "the constant", connections)
                        results.setdefault(key, []).append(server.measure(requests, connections, arguments.seconds))
                    for rate in arguments.rate if len(listed) > 1 else ():  # single requests
                        key = (f"{what if name == 'ours' else 'the constant'}, {rate:,.0f} per second", 64)
                        results.setdefault(key, []).append(server.measure(requests, 64, arguments.seconds, rate))
    print(
        "\n| request | connections | requests per second | of the constant | p50 us | p99 us | server's processor us |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for (what, connections), loads in results.items():
        per_second = statistics.median(load.per_second for load in loads)
        base = results.get(("the constant", connections))
        is_single = "100 texts" not in what and "per second" not in what
        share = f"{per_second / statistics.median(load.per_second for load in base):.0%}" if base and is_single else ""
        p50, p99, processor = (
            statistics.median(getattr(load, name) for load in loads) for name in ("p50", "p99", "processor")
        )
        print(f"| {what} | {connections} | {per_second:,.0f} | {share} | {p50:,.0f} | {p99:,.0f} | {processor:,.0f} |")


def main() -> None:
    """Run the parts that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--parts",
        nargs="+",
        default=["speed", "mixed", "reloads"],
        choices=["attack", "compare", "process", "speed", "mixed", "reloads"],
        help="attack: hostile clients; compare: with another build; process: without a network",
    )
    parser.add_argument("--model", type=Path, help="folder for the model, which is trained if it is not there")
    parser.add_argument("--old", type=Path, help="folder with the package of another build, to compare or attack")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument(
        "--rate", type=float, nargs="+", default=[], help="also measure 64 connections at these requests per second"
    )
    parser.add_argument("--requests", type=int, default=1_000_000, help="of the mixed run")
    parser.add_argument("--workers", type=int, default=2, help="of the mixed run")
    parser.add_argument("--seed", type=int, default=1, help="of the mixed run, which may be made in pieces")
    parser.add_argument("--reloads", type=int, default=100)
    arguments = parser.parse_args()
    train, test = lt.datasets.load_debian()
    texts = [str(text) for text in test.texts[:200]]
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.model or Path(temporary) / "debian.model"
        if not folder.exists() and arguments.old is not None:
            servers.fit_debian(folder, arguments.old)  # an older build cannot read models of this one
        elif not folder.exists():
            lt.LabelTreeClassifier(n_jobs=1).fit(train).save(folder)
        model = lt.load(folder)
        if "attack" in arguments.parts:
            attack(Path(temporary), arguments.old)
        if "compare" in arguments.parts:
            rate = arguments.rate[0] if arguments.rate else 2000
            compare(folder, _bodies(model, texts), arguments.old, arguments.rounds, arguments.seconds, rate)
        if "process" in arguments.parts:
            bodies = {what: listed for what, listed in _bodies(model, texts).items() if len(listed) > 1}
            print("\n| request, in process | processor us |\n| --- | --- |")
            for what, microseconds in processor_times(folder, _PATH, bodies).items():
                print(f"| {what} | {microseconds:.1f} |")
        if "speed" in arguments.parts:
            _speed(folder, _bodies(model, texts), arguments)
        if "mixed" in arguments.parts:
            options = ["--workers", str(arguments.workers), "--max-body", "40000", "--max-seconds", "5"]
            with servers.ours([f"debian={folder}"], *options) as server:
                print(f"\n{arguments.requests:,} mixed requests:")
                result = run_mix(
                    server,
                    good_requests(model, "debian", texts[:50]),
                    bad_requests("debian"),
                    arguments.requests,
                    arguments.seed,
                )
            print(json.dumps({**result, "faults": result["faults"][:20], "n_faults": len(result["faults"])}, indent=1))
        if "reloads" in arguments.parts:
            some = [str(text) for text in train.texts[:2000]]
            names = [[str(train.label_names[label]) for label in train.Y[[i]].indices[:3]] for i in range(2000)]
            versions = two_versions(some, names)
            print(f"\n{arguments.reloads} reloads:")
            print(json.dumps(run_reloads(versions, Path(temporary) / "reloaded.model", some, arguments.reloads)))


if __name__ == "__main__":
    main()
