"""A build of labeltrees that scripts can be run with."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.shared_data import data_folder

BUNDLED = "bundled"


@dataclass(frozen=True)
class Build:
    """A Python executable and the environment variables that make it import one build of labeltrees."""

    python: str
    environment: dict[str, str]

    @classmethod
    def of(cls, place: str | None) -> Build:
        """Return the build at a place.

        Parameters
        ----------
        place : str or None
            A Python executable that has labeltrees installed; or a folder that holds the package, as
            ``pip install --no-deps --target FOLDER .`` makes it; or None for the build that runs this process.
        """
        environment = dict(os.environ)
        if place is None:
            return cls(sys.executable, environment)
        environment.pop("PYTHONPATH", None)  # it would replace the build that was asked for
        if (Path(place) / "labeltrees" / "__init__.py").is_file():
            return cls(sys.executable, {**environment, "PYTHONPATH": str(Path(place).resolve())})
        if not os.access(place, os.X_OK) or Path(place).is_dir():
            message = f"{place} is neither a Python executable nor a folder that contains the labeltrees package"
            raise SystemExit(message)
        return cls(place, environment)


def source_of(name: str) -> str:
    """Return what `inputs.load` takes for a dataset: "bundled", or the dataset's folder."""
    return name if name == BUNDLED else str(data_folder(name))
