"""Write src/labeltrees/_core.pyi, the types of the native module, from its bindings.

Run with ``python scripts/make_stub.py`` after the bindings have changed and the core has been built. With ``--check``
it writes nothing and returns 1 if the file is not current.
"""

import re
import subprocess
import sys
from pathlib import Path

STUB = Path(__file__).resolve().parent.parent / "src/labeltrees/_core.pyi"
HEADER = '''"""Types of the native module. Made by scripts/make_stub.py: do not edit."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Float32s = NDArray[np.float32]
Float64s = NDArray[np.float64]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
UInt8s = NDArray[np.uint8]
UInt16s = NDArray[np.uint16]
UInt64s = NDArray[np.uint64]
Progress = Callable[[int], object] | None
# Labels and scores (n * k,), and chunks, classifiers, depth, microseconds, partial and no_features (n,).
NativeResults = tuple[Int64s, Float32s, tuple[Int64s, Int64s, Int32s, Float32s, UInt8s, UInt8s] | None]

'''
# What nanobind writes, and what it should be.
ARRAY = re.compile(r"Annotated\[NDArray\[numpy\.(\w+)\], dict\(shape=\(None,\)[^\]]*?\)\]")
ALIASES = {"uint8": "UInt8s", "uint16": "UInt16s", "uint64": "UInt64s", "int32": "Int32s", "int64": "Int64s"}
ALIASES |= {"float32": "Float32s", "float64": "Float64s"}


def make_stub() -> str:
    """Return the text of the stub."""
    from nanobind.stubgen import StubGen

    from labeltrees import _core

    generator = StubGen(_core, include_docstrings=False)
    generator.put(_core)
    text = generator.get()
    text = text[re.search(r"^(?:def|class) ", text, re.MULTILINE).start() :]
    text = ARRAY.sub(lambda match: ALIASES[match[1]], text)
    text = text.replace("progress: object | None", "progress: Progress")
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(STUB), "-"]
    return subprocess.run(command, input=HEADER + text, capture_output=True, text=True, check=True).stdout


def main() -> int:
    """Write the stub, or with --check compare it; return 1 if it was to be checked and is not current."""
    text = make_stub()
    if "--check" not in sys.argv[1:]:
        STUB.write_text(text, encoding="utf-8")
    elif text != STUB.read_text(encoding="utf-8"):
        sys.stdout.write(f"{STUB} is not current: run python scripts/make_stub.py\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
