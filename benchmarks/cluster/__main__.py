"""Train on a cluster of processes on this machine and compare with the local fit.

    python -m benchmarks.cluster identity --sets debian-depends --workers 1 2 4
    python -m benchmarks.cluster kill --fits 100
    python -m benchmarks.cluster memory --sets arxiv-authors --memory-per-worker 700MiB

Every command prints a table in Markdown and, with --save, writes it to benchmarks/results.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from pathlib import Path

from benchmarks.cluster import identity, kills, memory

RESULTS = Path(__file__).resolve().parent.parent / "results"
NOT_SHOWN = ("folder", "save", "seconds")  # they change no result
COMMANDS = {"identity": identity, "kill": kills, "memory": memory}


def main() -> None:
    """Run one of the commands."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, module in COMMANDS.items():
        command = commands.add_parser(name, help=(module.__doc__ or "").splitlines()[0])
        module.add_arguments(command)
        command.add_argument("--folder", help="where to work; by default a temporary folder")
        command.add_argument("--save", action="store_true", help="write the table to benchmarks/results")
    arguments = parser.parse_args()
    folder = Path(arguments.folder or tempfile.mkdtemp(prefix="labeltrees-cluster-"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        lines = COMMANDS[arguments.command].run(arguments, folder)
    finally:
        if arguments.folder is None:
            shutil.rmtree(folder, ignore_errors=True)
    text = "\n".join(lines) + "\n"
    print(text)
    if arguments.save:
        settings = {name: value for name, value in vars(arguments).items() if name not in NOT_SHOWN}
        (RESULTS / f"cluster_{arguments.command}.md").write_text(f"{text}\nSettings: `{json.dumps(settings)}`\n")


if __name__ == "__main__":
    main()
