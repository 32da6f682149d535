"""The vector instructions that native code uses: the processor's best, or those that the environment names."""

from __future__ import annotations

import os
import warnings

from labeltrees import _core

VARIABLE = "LABELTREES_INSTRUCTIONS"


def choose_instructions() -> None:
    """Use the instruction set that the environment names; warn if the processor does not have it.

    Called when the package is imported, if the variable is set.
    """
    name = os.environ.get(VARIABLE, "")
    if name and not _core.use_kernels(name):
        available = ", ".join(_core.available_kernels())
        warnings.warn(
            f"{VARIABLE} must be one of {available} on this processor, got {name!r}: {_core.active_kernels()} is used",
            stacklevel=2,
        )
