"""The command line, one module per command."""

from __future__ import annotations

import os
import signal


def main() -> None:
    """Run the command line.

    Importing a command takes most of a second. Ctrl-C during the import also prints one line and no traceback. Ctrl-C
    while Python shuts down ends the process silently.
    """
    try:
        from labeltrees.cli.main import main as run

        run()
    except KeyboardInterrupt:
        os.write(2, b"Interrupted.\n")
        raise SystemExit(130) from None
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
