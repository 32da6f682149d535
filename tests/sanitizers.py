"""Tests while a sanitizer is preloaded (make sanitize, make sanitize-threads)."""

from __future__ import annotations

import os

WITH_THREAD_SANITIZER = "tsan" in os.environ.get("LD_PRELOAD", "")


def command_variables() -> dict[str, str]:
    """Return the environment of a command: without ThreadSanitizer, on the installed package.

    After a fork of a process with threads, ThreadSanitizer delivers no signals: workers of a server would not stop.
    Shells crash when it is preloaded, and pages of the guide take more than ten minutes.
    """
    left_out = ("LD_PRELOAD", "PYTHONPATH") if WITH_THREAD_SANITIZER else ()
    return {name: value for name, value in os.environ.items() if name not in left_out}
