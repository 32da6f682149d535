"""ServingSettings: limits of requests, and options of a worker."""

from __future__ import annotations

from dataclasses import dataclass

from labeltrees._settings import anything, check_settings, flag, integer, number, optional, setting


@dataclass(frozen=True)
class ServingSettings:
    """Limits of requests, and options of a worker.

    Four settings matter: `max_body` and `max_seconds` limit the size and time of a request, `threads` decides how many
    batches a worker answers at a time, and `reload_seconds` how soon it serves a new version of a model.

    A request beyond a limit is answered with status 4xx and a message that names the limit.

    Examples
    --------
    >>> ServingSettings(max_k=20).max_k
    20
    """

    threads: int = setting(1, integer(1, 1024), "Threads per worker for batches and long texts.", daily=True)
    max_body: int = setting(10 * 2**20, integer(1), "Largest request body, in bytes.", daily=True)
    max_rows: int = setting(1000, integer(1), "Most texts, rows or histories per request.", daily=True)
    max_k: int = setting(1000, integer(1), "Most labels per text, row or history.", daily=True)
    max_labels: int = setting(100_000, integer(1), "Most labels per request: questions times k.")
    max_text: int = setting(1_000_000, integer(1), "Longest text, in characters.", daily=True)
    max_seconds: float = setting(
        10.0, number(0, 3600, low_open=True), "Longest time for receiving and answering.", daily=True
    )
    max_requests: int = setting(1000, integer(1), "Most requests in progress per worker.", daily=True)
    max_answer: int = setting(16 * 2**20, integer(1), "Largest answer, in bytes.")
    max_buffered: int = setting(
        256 * 2**20, integer(1, 2**62), "Most bytes of long bodies and answers in progress per worker."
    )
    max_connections: int = setting(512, integer(1), "Most connections per client address and worker.")
    reload_seconds: float = setting(
        1.0, number(0, 86400), "How often to look for a new version of a model, in seconds; 0 for never.", daily=True
    )
    in_memory: bool = setting(False, flag, "Copy models into memory instead of mapping them.", daily=True)
    sets: str | None = setting(
        None, optional(anything), "Folder for sets of labels that clients store by name.", metavar="FOLDER", daily=True
    )
    page: bool = setting(True, flag, "Serve the page at /.", daily=True)
    access_log: bool = setting(False, flag, "Write one JSON line per request to standard error.", daily=True)

    def __post_init__(self) -> None:
        check_settings(self)
