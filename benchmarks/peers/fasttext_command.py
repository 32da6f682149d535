"""fastText's command line, built once from its source package in build/fasttext; pip installs only the library.

The environment variable LABELTREES_FASTTEXT names another binary.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "build" / "fasttext"


def fasttext_command() -> str:
    """Return the path of the binary; build it if there is none."""
    named = os.environ.get("LABELTREES_FASTTEXT")
    if named:
        return named
    binary = FOLDER / "fasttext"
    if not binary.is_file():
        FOLDER.mkdir(parents=True, exist_ok=True)
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
        subprocess.run([*download, "--dest", str(FOLDER), "fasttext==0.9.3"], check=True)
        with tarfile.open(FOLDER / "fasttext-0.9.3.tar.gz") as package:
            package.extractall(FOLDER, filter="data")
        sources = sorted((FOLDER / "fasttext-0.9.3" / "src").glob("*.cc"))
        options = ["-O3", "-march=native", "-funroll-loops", "-std=c++17", "-pthread"]  # as in fastText's Makefile
        subprocess.run([os.environ.get("CXX", "c++"), *options, *map(str, sources), "-o", str(binary)], check=True)
    return str(binary)
