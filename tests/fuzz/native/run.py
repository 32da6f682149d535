"""Run the native readers under libFuzzer (make fuzz-native).

    python -m tests.fuzz.native.run [--seconds 60] [--results benchmarks/results/fuzz_native.md]

Each program fuzzes one reader with native coverage, AddressSanitizer and UndefinedBehaviorSanitizer. An input that
takes more than 512 MiB or 5 seconds is a fault, too. Corpora grow in build/fuzz-native-corpus, from real files.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

import labeltrees as lt
from tests.fuzz.run import seeds_of
from tests.results import BUILD, add_record, records_of, write_table

READERS = ("xmc", "fasttext", "tree", "chunk", "terms", "text")
CORPUS = BUILD / "fuzz-native-corpus"


def seeds() -> dict[str, list[bytes]]:
    """Return inputs that the readers accept, in the form of readers.cpp."""
    chunks = []
    for n_labels, n_features, fanout in ((4, 8, 2), (20, 40, 32), (200, 100, 256)):
        for dense in (False, True):
            rng = np.random.default_rng(n_labels)
            X = rng.random((2 * n_labels, n_features))
            X *= rng.random(X.shape) < (1 if dense else 0.3)
            model = lt.LabelTreeClassifier(fanout=fanout, C=1.0).fit(X, np.tile(np.eye(n_labels), (2, 1)))
            store = model.searcher_.stores[0]
            head = bytes([store.matrices, n_features - 1])
            root = np.asarray(store.chunks[store.offsets[0] : store.offsets[0] + 60_000]).tobytes()
            chunks.append(head + root)
    tree = np.array([0, 2, 4], np.int64).tobytes() + np.array([~0, 1, ~1, ~2], np.int32).tobytes()
    words = b"redcatdog"
    entries = b"".join(word + b"\0" + (5).to_bytes(8, "little") + b"\1" for word in (b"red", b"cat", b"dog"))
    return {
        "xmc": [bytes([base, size]) + data for data in seeds_of("xmc") for base, size in ((0, 255), (1, 3), (2, 60))],
        "fasttext": [bytes([3]) + entries, *(bytes([9]) + data[100:] for data in seeds_of("fasttext_bin"))],
        "tree": [bytes([3, 1]) + tree],
        "chunk": chunks,
        "terms": [bytes([3]) + np.array([0, 3, 6, 9], np.int64).tobytes() + words],
        "text": [bytes([choice]) + "Ünïcode, straße and 日本 words".encode() for choice in range(0, 162, 7)],
    }


def fuzz(program: Path, reader: str, inputs: list[bytes], seconds: int) -> list[str]:
    """Run one program, add its record, and return its faults."""
    folder = CORPUS / reader
    folder.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(inputs):
        (folder / f"seed-{number}").write_bytes(data)
    limits = ["-rss_limit_mb=512", "-malloc_limit_mb=256", "-timeout=5", "-max_len=65536", f"-max_total_time={seconds}"]
    command = [str(program), *limits, "-print_final_stats=1", f"-artifact_prefix={CORPUS}/{reader}-", str(folder)]
    run = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    executions = re.search(r"number_of_executed_units: (\d+)", run.stderr)
    reached = re.findall(r"cov: (\d+)", run.stderr)
    faults = re.findall(r"SUMMARY: .*", run.stderr) or ([f"exit code {run.returncode}"] if run.returncode else [])
    record = {
        "target": reader,
        "executions": int(executions.group(1)) if executions else 0,
        "covered": int(reached[-1]) if reached else 0,
        "crashes": faults,
    }
    add_record("fuzz-native", record)
    return faults


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60, help="per reader")
    parser.add_argument("--programs", type=Path, default=BUILD / "fuzz-native")
    parser.add_argument("--results", type=Path, help="write the table to this file")
    options = parser.parse_args()
    inputs = seeds()
    faults = [fuzz(options.programs / f"fuzz_{name}", name, inputs[name], options.seconds) for name in READERS]
    if options.results:
        rows = []
        for name in READERS:
            own = [run for run in records_of("fuzz-native") if run["target"] == name]
            rows.append(
                {
                    "reader": name,
                    "executions": sum(run["executions"] for run in own),
                    "edges_covered": max(run["covered"] for run in own),
                    "crashes": sorted({fault for run in own for fault in run["crashes"]}),
                }
            )
        write_table(options.results, "Native fuzzing", "make fuzz-native", rows)
    return int(any(faults))


if __name__ == "__main__":
    sys.exit(main())
