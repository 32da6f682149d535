"""A process that stays alive and answers one request per line, so that several of them can take turns."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.peers.environment import peers_python


class PeerWorker:
    """A script that reads JSON requests and prints one JSON answer for each; by default the peers' Python runs it."""

    def __init__(
        self,
        script: Path,
        *arguments: object,
        python: str | None = None,
        environment: dict[str, str] | None = None,
    ) -> None:
        command = [python or peers_python(), str(script), *map(str, arguments)]
        self._errors = tempfile.TemporaryFile("w+")  # the peers draw progress bars there
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True, env=environment
        )

    def ask(self, **request: Any) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("{"):  # the peers print other lines too
                return json.loads(line)  # type: ignore[no-any-return]
        code = self._process.wait()
        self._errors.seek(0)
        message = f"the worker process ended with exit code {code}: {self._errors.read()[-2000:]}"
        raise RuntimeError(message)

    def stop(self) -> None:
        """Kill the process; a request that it is working on fails."""
        self._process.kill()

    def __enter__(self) -> PeerWorker:
        return self

    def __exit__(self, *error: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        self._errors.close()
