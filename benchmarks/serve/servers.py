"""Servers as processes: started on a free port, measured from outside, stopped."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Self

from benchmarks.serve.load import Load, measure

_OURS = "from labeltrees.cli.main import main; main()"


class ServerProcess:
    """A server that runs while the `with` block runs; "{port}" in its command is a free port."""

    def __init__(
        self, command: list[str], path: str = "/ready", folder: Path | None = None, package: Path | None = None
    ) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._path = path
        filled = [part.replace("{port}", str(self.port)) for part in command]
        variables = os.environ if package is None else {**os.environ, "PYTHONPATH": str(package)}
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(filled, cwd=folder, env=variables, **quiet)

    def __enter__(self) -> Self:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}{self._path}", timeout=5).read()
                return self
            except OSError:
                time.sleep(0.1)
        self.__exit__()
        message = "the server did not start within a minute"
        raise RuntimeError(message)

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(60)

    @property
    def workers(self) -> list[int]:
        """The process ids of the workers."""
        pid = self.process.pid
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def measure(self, requests: list[bytes], connections: int, seconds: float, rate: float | None = None) -> Load:
        """Send requests for some seconds, and count the processor time of the server too."""
        before = self.cpu_seconds()
        load = measure(self.port, requests, connections, seconds, rate)
        return replace(load, processor=(self.cpu_seconds() - before) / load.n * 1e6)

    def cpu_seconds(self) -> float:
        """Processor time of the server and its workers so far."""
        total = 0
        for pid in (self.process.pid, *self.workers):
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            total += int(fields[11]) + int(fields[12])
        return total / os.sysconf("SC_CLK_TCK")

    def memory(self) -> dict[int, float]:
        """Private memory of each worker in MiB: that of mapped models, which is shared, is left out."""
        found = {}
        for pid in self.workers:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            found[pid] = sum(int(line.split()[1]) for line in lines if line.startswith("Private_Dirty")) / 1024
        return found

    def descriptors(self) -> dict[int, int]:
        """Open files and sockets of each worker."""
        return {pid: len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in self.workers}


def ours(models: list[str], *options: str, package: Path | None = None) -> ServerProcess:
    """Run `labeltrees serve`, of the package in the folder `package` if it is given."""
    command = [sys.executable, "-P", "-c", _OURS, "serve", *models, *options, "--port", "{port}"]
    return ServerProcess(command, package=package)


def fit_debian(folder: Path, package: Path) -> None:
    """Train a model of the bundled data with the package in the folder `package`."""
    command = [sys.executable, "-P", "-c", _OURS, "fit", "debian", "-o", str(folder), "--jobs", "1"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": str(package)})


def granian(target: str) -> ServerProcess:
    """Serve an application as `labeltrees serve` does."""
    options = ["--interface", "asgi", "--runtime-mode", "st", "--http", "1", "--no-ws", "--log-level", "warning"]
    return ServerProcess([sys.executable, "-m", "granian", *options, target, "--port", "{port}"])


def constant() -> ServerProcess:
    """Serve the constant answer."""
    return granian("benchmarks.serve.constant:app")
