"""Opening any saved model."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from labeltrees.errors import FileFormatError
from labeltrees.models.linear import files as linear_files
from labeltrees.models.text import files as text_files
from labeltrees.storage import load_arrays

OPENERS: dict[str, Callable[..., Any]] = {
    linear_files.KIND: linear_files.open_classifier,
    text_files.KIND: text_files.open_text_model,
}


def load(folder: str | os.PathLike[str], *, in_memory: bool = False, verify: bool = False) -> Any:
    """Open a model that `save` has written, in milliseconds whatever its size.

    Parameters
    ----------
    folder : path
    in_memory : bool
        Copy the model into memory (huge pages where the system has them) for the lowest latency. Otherwise it is
        mapped, and processes that open the same model share it.
    verify : bool
        Read everything, compare checksums and check every chunk first; otherwise a chunk is checked when a search first
        comes to it.
    """
    loaded = load_arrays(folder, in_memory=in_memory, verify=verify)
    opener = OPENERS.get(loaded.manifest.kind)
    if opener is None:
        message = f"{loaded.folder}: a model of the unknown kind {loaded.manifest.kind!r}"
        raise FileFormatError(message)
    return opener(loaded, verify=verify)
