"""Virtual environments for the peers: made once in build/peers-venv, build/implicit-venv and others, then reused.

`python benchmarks/peers/environment.py` makes the first and prints the path of its Python. The environment variables
LABELTREES_PEERS_PYTHON and LABELTREES_IMPLICIT_PYTHON name other Pythons that have the peers installed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# libpecos is installed without its dependencies, which are several GB that XR-Linear does not need. cbor2 is not a
# peer: it reads omikuji's files, to check our own reader.
STEPS = {
    "peers": (
        ["omikuji==0.5.2", "napkinxc==0.7.2", "fasttext==0.9.3"],
        ["--no-deps", "libpecos==1.2.8"],
        ["numpy<2", "scipy<1.14", "scikit-learn", "setuptools<81", "cbor2"],
    ),
    "libmultilabel": (["libmultilabel==0.10.0", "liblinear-multicore==2.50.0", "sparsekmeans==0.3.1"],),
    "implicit": (["implicit==0.7.2", "numpy<2", "scipy<1.14"],),
    "annif": (["annif[omikuji]==1.4.3"],),
    "mlserver": (["mlserver==1.7.1", "mlserver-sklearn==1.7.1"],),
}


def peers_python(name: str = "peers") -> str:
    """Return the Python that has the peers, or implicit; make its environment if there is none."""
    named = os.environ.get(f"LABELTREES_{name.upper()}_PYTHON")
    if named:
        return named
    folder, steps = ROOT / "build" / f"{name}-venv", STEPS[name]
    python = folder / "bin" / "python"
    done = folder / "installed"
    wanted = repr(steps)
    if not done.is_file() or done.read_text() != wanted:
        venv.create(folder, with_pip=True, clear=True)
        for step in steps:
            subprocess.run([python, "-m", "pip", "install", "--quiet", *step], check=True)
        done.write_text(wanted)
    return str(python)


def run_in_peers(script: Path, *arguments: object) -> str:
    """Run a script with the peers' Python and return its output; if it fails, raise an error with its message."""
    command = [peers_python(), str(script), *map(str, arguments)]
    # Two threads: by default the peers use all cores.
    environment = {**os.environ, "OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
    result = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
    if result.returncode != 0:
        message = f"{script.name} {' '.join(map(str, arguments))} failed:\n{result.stderr[-3000:]}"
        raise RuntimeError(message)
    return result.stdout


if __name__ == "__main__":
    sys.stdout.write(peers_python() + "\n")
