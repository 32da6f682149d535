"""Run benchmarks and write their output to benchmarks/results/, one page each with the machine and the command.

    python -m benchmarks.run [NAME ...] [--options "--seeds 1"]

Without names it runs all benchmarks, as `make bench` does.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = Path(__file__).resolve().parent / "results"

# name of the page: the arguments of Python that make it
BENCHMARKS = {
    "first_minutes": ["-m", "benchmarks.first_minutes", "--before", "b58577d"],
    "exchange": ["-m", "pytest", "-q", "-m", "peers", "benchmarks/peers"],
    "build_trees": ["-m", "benchmarks.build_trees"],
    "scale_shapes": ["-m", "benchmarks.scale.shapes"],
    "models": ["-m", "benchmarks.models"],
    "models_arxiv": [
        *["-m", "benchmarks.models", "--sets", "arxiv-authors"],
        *["--seeds", "1", "--repeats", "2", "--without", "napkinXC", "64-way", "trees"],
    ],
    "models_dense": ["-m", "benchmarks.models", "--dense", "256", "--sets", "eurlex4k", "--seeds", "3"],
    "tradeoff": ["-m", "benchmarks.variants", "tradeoff", "--sets", "debian-depends", "--seeds", "3"],
    "paper": ["-m", "benchmarks.paper"],
    "text_models": ["-m", "benchmarks.text_models"],
    "precision": ["-m", "benchmarks.precision"],
    "evidence": ["-m", "benchmarks.variants", "evidence", "--sets", "bibtex", "cooking", "eurlex4k"],
    "frontier": ["-m", "benchmarks.frontier"],
}


def machine() -> str:
    """Return one line about processor, memory and software."""
    facts = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":", 1)[1].strip() for line in facts if "model name" in line), platform.processor())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn"))
    return f"{os.cpu_count()} cores of {model}, {memory:.0f} GiB; Python {platform.python_version()}, {packages}"


def run(name: str, arguments: list[str]) -> bool:
    """Run one benchmark, show its output and write it to its page; return False if it failed."""
    print(f"== {name}", flush=True)
    lines = []
    process = subprocess.Popen([sys.executable, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        print(line, end="", flush=True)
        lines.append(line)
    if process.wait() != 0:
        print(f"== {name} failed", flush=True)
        return False
    RESULTS.mkdir(exist_ok=True)
    command = f"`python {' '.join(arguments)}`"
    head = f"# {name}\n\n{command}, {datetime.date.today()}\n\n{machine()}\n\n"
    (RESULTS / f"{name}.md").write_text(head + "".join(lines))
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(BENCHMARKS)}")
    parser.add_argument("--options", default="", help="options for the benchmark, as one string: '--seeds 1'")
    options = parser.parse_args()
    names = options.names or list(BENCHMARKS)
    unknown = set(names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"unknown benchmark: {', '.join(sorted(unknown))}; choose from {', '.join(BENCHMARKS)}")
    failed = [name for name in names if not run(name, BENCHMARKS[name] + options.options.split())]
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
