"""Versions of a model's folder: a new version is published in one step, and the previous one is kept.

The previous version of ``MODEL`` is the folder ``MODEL.previous``. Both share unchanged files by hard link, if the file
system supports that.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from labeltrees import _core
from labeltrees._array_files import checksum_text
from labeltrees._files import replacing_folder
from labeltrees.errors import InputError
from labeltrees.storage.folder import MANIFEST_FILE, check_target, sharing_with

PREVIOUS = ".previous"


def previous_of(folder: str | os.PathLike[str]) -> Path:
    """Return the folder of the previous version; if `folder` is a link, it is beside the folder that this names."""
    path = Path(os.path.realpath(folder))
    return path.with_name(path.name + PREVIOUS)


def version_of(folder: str | os.PathLike[str]) -> str | None:
    """Return an identifier of the version of a model: a checksum of its manifest. None if there is no model."""
    try:
        text = (Path(folder) / MANIFEST_FILE).read_bytes()
    except OSError:
        return None
    return checksum_text(_core.xxh64(np.frombuffer(text, np.uint8)))


def publish(
    save: Callable[[str], None],
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    version: str | None,
) -> None:
    """Save a changed model in one step.

    Parameters
    ----------
    save : callable(folder)
        Saves the model.
    source : path
        The folder that the model was loaded from; unchanged files are shared with it.
    target : path
        Where to save it. If this is `source`, the version there is kept as the previous one.
    version : str or None
        `version_of` the source when it was loaded. Used only if `target` is `source`. If another update has
        published a version since then, `InputError` is raised and nothing is written.
    """
    source, target = Path(os.path.realpath(source)), Path(os.path.realpath(target))  # one lock for all names
    if source != target:
        check_target(target)
        with sharing_with(source):
            save(os.fspath(target))
        return
    with _locked(target):
        if version_of(target) != version:
            message = f"{target} was changed by another update meanwhile; nothing was written: run this update again"
            raise InputError(message)
        _copy(target, previous_of(target))
        with sharing_with(target):
            save(os.fspath(target))


def go_back(folder: str | os.PathLike[str]) -> None:
    """Exchange a model with its previous version; doing it twice changes nothing."""
    target, previous = Path(os.path.realpath(folder)), previous_of(folder)
    if version_of(previous) is None:
        message = f"{target} has no previous version: {previous} is not a saved model"
        raise InputError(message)
    with _locked(target):
        if _core.exchange_paths(os.fspath(previous), os.fspath(target)) == 0:
            return
        spare = target.with_name(f".{target.name}.back")  # this file system cannot exchange two paths
        shutil.rmtree(spare, ignore_errors=True)
        _copy(target, spare)
        _copy(previous, target)
        _copy(spare, previous)
        shutil.rmtree(spare, ignore_errors=True)


@contextmanager
def _locked(target: Path) -> Iterator[None]:
    """Let one process at a time publish a folder. The system releases the lock when the process ends."""
    descriptor = os.open(target.with_name(f".{target.name}.lock"), os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _copy(source: Path, target: Path) -> None:
    """Copy a model's folder to `target` in one step, by hard links if the file system supports them."""
    check_target(target)
    with replacing_folder(target) as new:
        for entry in os.scandir(source):
            try:
                os.link(entry.path, new / entry.name)
            except OSError:
                shutil.copyfile(entry.path, new / entry.name)
