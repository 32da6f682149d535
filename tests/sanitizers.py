"""Tests while a sanitizer is preloaded (make sanitize, make sanitize-threads)."""

from __future__ import annotations

import os

WITH_THREAD_SANITIZER = "tsan" in os.environ.get("LD_PRELOAD", "")


def server_variables() -> dict[str, str]:
    """Return the environment of a server: without ThreadSanitizer, on the installed package.

    After a fork of a process with threads, ThreadSanitizer delivers no signals: workers would not stop.
    """
    left_out = ("LD_PRELOAD", "PYTHONPATH") if WITH_THREAD_SANITIZER else ()
    return {name: value for name, value in os.environ.items() if name not in left_out}
