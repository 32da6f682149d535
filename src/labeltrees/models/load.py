"""Opening a saved model of any family."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from labeltrees._settings import refusing
from labeltrees.errors import FileFormatError
from labeltrees.models.linear.estimator import LabelTreeClassifier
from labeltrees.models.linear.files import open_classifier
from labeltrees.models.text.estimator import TextLabelTreeClassifier, open_text_model
from labeltrees.storage import LoadedModel, load_arrays

# The class name in the manifest, and the function that makes a model of that family from an opened folder.
FAMILIES: dict[str, Callable[..., Any]] = {
    LabelTreeClassifier.KIND: open_classifier,
    TextLabelTreeClassifier.KIND: open_text_model,
}


@refusing({"trusted": "saved models have no functions; keep a vectorizer with functions yourself"})
def load(folder: str | os.PathLike[str], *, in_memory: bool = False, verify: bool = False) -> Any:
    """Open a model that `save` has written, in milliseconds whatever its size.

    Another process may save to the same folder meanwhile: the model is the old one or the new one, never a mixture.

    Parameters
    ----------
    folder : path
    in_memory : bool
        Copy the model into memory (huge pages where the system has them) for the lowest latency. Otherwise it is
        mapped, and processes that open the same model share its memory.
    verify : bool
        Read everything, compare checksums and check every chunk. Otherwise a chunk is checked when a search first
        reads it.
    """
    return open_loaded(load_arrays(folder, in_memory=in_memory, verify=verify), verify=verify)


def open_loaded(loaded: LoadedModel, *, verify: bool = False) -> Any:
    """Return the model of an opened folder."""
    open_model = FAMILIES.get(loaded.manifest.kind)
    if open_model is None:
        message = f"{loaded.folder}: a model of the unknown kind {loaded.manifest.kind!r}"
        raise FileFormatError(message)
    return open_model(loaded, verify=verify)
