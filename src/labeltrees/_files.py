"""Writing files whole or not at all, and naming the file in what is wrong with it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from labeltrees.errors import FileFormatError, InputError

PathLike = str | os.PathLike[str]


def write_atomically(path: PathLike, chunks: Iterable[bytes]) -> None:
    """Write `chunks` to a temporary sibling and rename it, so that a crash leaves the old file or the new one."""
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            for chunk in chunks:
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def refuse_file(path: PathLike, fault: str) -> NoReturn:
    """Raise the error for a file with a fault."""
    message = f"{os.fspath(path)}: {fault}"
    raise FileFormatError(message)


@contextmanager
def naming_file(path: PathLike) -> Iterator[None]:
    """Turn what is refused of a file's content into an error that names the file."""
    try:
        yield
    except InputError as error:
        message = f"{os.fspath(path)}: {error}"
        raise FileFormatError(message) from error
