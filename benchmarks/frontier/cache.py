"""The files that the steps share: for each set its data, its trained models and their measurements.

- FOLDER/<set>/data/: X and Y for training; Xt and Yt, the queries; calibrate, other test points for calibration
- FOLDER/<set>/models/: <model> as its library saves it, and <model>.json with settings and training time
- FOLDER/<set>/measured.json
"""

from __future__ import annotations

import functools
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import labeltrees as lt
from benchmarks.frontier.grid import Model
from benchmarks.shared_data import ROOT, data_folder, load
from benchmarks.text_data import load_texts

FOLDER = ROOT / "build" / "frontier"
MAX_QUERIES = 5000
CALIBRATION_STEP = 4  # every fourth test point is for calibration and is no query


def has_texts(set_name: str) -> bool:
    """Return whether the points of a set are texts."""
    return (data_folder(set_name) / "train.jsonl.xz").exists()


class SetCache:
    """The folder of one set."""

    def __init__(self, folder: Path, set_name: str) -> None:
        self.set_name = set_name
        self.folder = folder.resolve() / set_name
        self.data, self.models = self.folder / "data", self.folder / "models"

    # Data.

    def make_data(self) -> None:
        """Write the data, unless they exist."""
        if (self.data / "facts.json").exists():
            return
        train, test = load(self.set_name)
        self.data.mkdir(parents=True, exist_ok=True)
        self.models.mkdir(exist_ok=True)
        for_calibration = np.arange(0, test.n_points, CALIBRATION_STEP)
        queries = spread(np.setdiff1d(np.arange(test.n_points), for_calibration), MAX_QUERIES)
        parts = {
            "X": train.X,
            "Y": train.Y,
            "Xt": test.X[queries],
            "Yt": test.Y[queries],
            "calibrate": test.X[for_calibration],
        }
        for part, matrix in parts.items():
            sp.save_npz(self.data / f"{part}.npz", sp.csr_matrix(matrix), compressed=False)
        lt.write_xmc(train, self.data / "train.txt")
        if has_texts(self.set_name):
            texts = load_texts(self.set_name)
            lines = texts.texts.read_text(encoding="utf-8").splitlines()
            if len(lines) != test.n_points:
                message = f"{self.set_name} has {len(lines)} test texts but {test.n_points} test points"
                raise ValueError(message)
            for part, rows in (("texts", queries), ("calibrate", for_calibration)):
                (self.data / f"{part}.txt").write_text("".join(lines[row] + "\n" for row in rows), encoding="utf-8")
            (self.data / "labels.json").write_text(json.dumps([sorted(texts.labels[row]) for row in queries]))
        facts = {
            "points": train.n_points,
            "features": train.n_features,
            "labels": train.n_labels,
            "queries": len(queries),
            "calibration": len(for_calibration),
            "nonzeros": parts["Xt"].nnz / len(queries),
            "texts": has_texts(self.set_name),
        }
        (self.data / "facts.json").write_text(json.dumps(facts))

    def facts(self) -> dict[str, Any]:
        """Return the sizes of the set, and whether it has texts."""
        return json.loads((self.data / "facts.json").read_text())  # type: ignore[no-any-return]

    def test_labels(self) -> Any:
        """Return the labels of the queries, as a CSR matrix."""
        return sp.load_npz(self.data / "Yt.npz").tocsr()

    def test_names(self) -> list[set[str]]:
        """Return the label names of the queries, for a set of texts."""
        return [set(names) for names in json.loads((self.data / "labels.json").read_text())]

    # Models.

    def trained(self, model: Model) -> dict[str, Any] | None:
        """Return the training record of a model; None if settings or version differ, or if it is not trained."""
        path = self.models / f"{model.name}.json"
        record = json.loads(path.read_text()) if path.exists() else None
        return record if record is not None and record["of"] == _identity(model) else None

    def write_trained(self, model: Model, result: dict[str, Any]) -> None:
        """Write the training record of a model."""
        (self.models / f"{model.name}.json").write_text(json.dumps({"of": _identity(model), **result}))

    # Measurements.

    def write_measured(self, measured: dict[str, Any]) -> None:
        """Write the measurements."""
        (self.folder / "measured.json").write_text(json.dumps(measured, indent=1))

    def measured(self) -> dict[str, Any]:
        """Return the measurements; stop with a message if there are none."""
        path = self.folder / "measured.json"
        if not path.exists():
            message = f"no measurements of {self.set_name}: run --steps train,measure first"
            raise SystemExit(message)
        return json.loads(path.read_text())  # type: ignore[no-any-return]


def spread(rows: Any, n_max: int) -> Any:
    """Return at most `n_max` of the rows, evenly spread."""
    return rows if len(rows) <= n_max else rows[np.linspace(0, len(rows) - 1, n_max).astype(int)]


def _identity(model: Model) -> dict[str, Any]:
    return {"settings": model.train, "library": _library() if model.ours else None}


@functools.cache
def _library() -> str:
    """Return a fingerprint of the installed library, so that models of other versions are not measured."""
    digest = hashlib.sha256()
    for path in sorted(Path(lt.__file__).parent.rglob("*")):
        if path.suffix in (".py", ".so"):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
