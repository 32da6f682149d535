"""Ctrl-C at any moment, also while a command is imported or Python ends, leaves at most one line."""

import signal
import subprocess
import sys
import time

import pytest

PROGRAM = "import labeltrees.cli, sys; print('ready', flush=True); sys.argv[0] = 'labeltrees'; labeltrees.cli.main()"


@pytest.mark.parametrize("seconds", [0.0, 0.01, 0.05, 0.1, 0.2, 0.4, 0.8])
def test_an_interrupted_command_shows_no_traceback(tmp_path, seconds):
    data = tmp_path / "train.txt"
    data.write_text("300 50 20\n" + "".join(f"{i % 20} {i % 50}:1 {(i * 7 + 1) % 50}:0.5\n" for i in range(300)))
    command = [sys.executable, "-c", PROGRAM, "fit", str(data), "-o", str(tmp_path / "model")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode in (0, 130, -signal.SIGINT)
    assert "Traceback" not in errors
    assert "Exception ignored" not in errors
