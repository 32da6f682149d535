"""The files that DATA names: a single file, or the parts in a folder."""

from __future__ import annotations

from pathlib import Path

from labeltrees.data.annif_folder import is_document_folder
from labeltrees.data.data_folder import POINT_FILES, check_version, parts_name
from labeltrees.data.files import COMPRESSED, read_lines
from labeltrees.data.parts.manifest import MANIFEST_FILE
from labeltrees.data.point_weights import is_weights_file
from labeltrees.data.text_formats import TEXT_SUFFIXES
from labeltrees.errors import FileFormatError, InputError

BUNDLED = "debian"
__all__ = ["BUNDLED", "find_file", "find_parts", "has_test_file", "name_of_data", "names_in", "read_lines"]

_KINDS = {"train": "training", "test": "test"}
_FOLDER_ENDINGS = (".txt", *TEXT_SUFFIXES)


def find_file(data: str, part: str, format: str = "auto") -> Path | None:
    """Return the file, or the folder of documents, that DATA names; None for the bundled data."""
    if data == BUNDLED:
        return None
    path = Path(data)
    if path.is_dir():
        return _documents(path, part, format) or _part_file(path, part)
    if not path.exists():
        message = f"{data}: no such file or folder (the bundled data is called {BUNDLED})"
        raise InputError(message)
    return path


def name_of_data(data: str) -> str:
    """Return what DATA is called in a report: the name of the file or folder, without the path to it."""
    return data if data == BUNDLED else Path(data).resolve().name


def has_test_file(data: str, format: str = "auto") -> bool:
    """Whether DATA has separate files for training and testing: the bundled data, or a folder with such files."""
    if not Path(data).is_dir():
        return data == BUNDLED
    return find_parts(data, "train") is not None or find_file(data, "train", format) != Path(data)


def find_parts(data: str, part: str) -> Path | None:
    """Return the dataset in parts that DATA is, or that a prepared log has for "train" or "test"; None if none."""
    if data == BUNDLED:
        return None
    folder = Path(data)
    found = next((path for path in (folder, folder / parts_name(part)) if (path / MANIFEST_FILE).is_file()), None)
    if found is not None:
        check_version(folder)
    return found


def names_in(folder: Path, name: str) -> str | None:
    """Return the path of a file with names in a folder, None if it does not exist."""
    found = _in_folder(folder, name)
    return str(found[0]) if found else None


def _in_folder(folder: Path, pattern: str) -> list[Path]:
    return sorted(path for ending in ("", *COMPRESSED) for path in folder.glob(pattern + ending) if path.is_file())


def _documents(folder: Path, part: str, format: str) -> Path | None:
    """Return the folder of documents: FOLDER/train or FOLDER/test, or FOLDER itself if it has no such files."""
    for found in (folder / part, folder):
        if is_document_folder(found) or (format == "annif" and any(found.glob("*.txt"))):
            return None if found == folder and format != "annif" and _part_files(folder, part) else found
    return None


def _part_files(folder: Path, part: str) -> list[Path]:
    found = [path for ending in _FOLDER_ENDINGS for path in _in_folder(folder, f"{part}*{ending}")]
    return [path for path in found if not is_weights_file(path) and not path.name.endswith(POINT_FILES)]


def _part_file(folder: Path, part: str) -> Path:
    found = _part_files(folder, part)
    if not found:
        endings = ", ".join(_FOLDER_ENDINGS[1:])
        message = f"{folder}: no file {part}*.txt (or {endings}; plain, .gz, .xz or .zst) in this folder"
        raise FileFormatError(message)
    if len(found) > 1:
        names = ", ".join(sorted(path.name for path in found))
        message = f"{folder}: more than one {_KINDS[part]} file, use one of {names} as DATA"
        raise InputError(message)
    return found[0]
