"""The command line, one module per command."""

from __future__ import annotations

import os
import signal


def main() -> None:
    """Run the command line.

    Imports of a command take most of a second: Ctrl-C ends the process in one line then, too, and silently while Python
    ends.
    """
    try:
        from labeltrees.cli.main import main as run

        run()
    except KeyboardInterrupt:
        os.write(2, b"Interrupted.\n")
        raise SystemExit(130) from None
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
