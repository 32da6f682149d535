"""PartsDataset: a folder of parts, used as one Dataset."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labeltrees._array_files import file_checksum, map_array
from labeltrees._files import naming_file, open_regular, refuse_file
from labeltrees._matrices import check_sample_weight, freeze
from labeltrees._names import check_texts, decode_names
from labeltrees.data.dataset import Dataset, check_groups
from labeltrees.data.encoder_file import ENCODER_FILE, read_encoder
from labeltrees.data.encoders import Encoder
from labeltrees.data.files import FilePath
from labeltrees.data.parts.part import Part, PartsManifest, part_folder, read_manifest
from labeltrees.data.tfidf import TfidfVectorizer


def open_parts(folder: FilePath, *, verify: bool = False) -> PartsDataset:
    """Open a dataset in parts, which is accepted wherever a Dataset is.

    Parameters
    ----------
    folder : path
        Written by `labeltrees convert`, `write_parts`, `PartsWriter`, or `read_xmc` and `read_texts` with ``parts=``.
    verify : bool
        Read everything now and compare checksums. Otherwise a part is verified when it is first used.

    Returns
    -------
    PartsDataset
        `LabelTreeClassifier.fit` reads it part by part. Everything else that needs X or Y joins the parts in memory.

    Raises
    ------
    FileFormatError
        If a file is missing, has the wrong length or is damaged in another way.

    Examples
    --------
    >>> import tempfile, labeltrees as lt
    >>> folder = tempfile.mkdtemp() + "/parts"
    >>> lt.write_parts(lt.Dataset([[0.5, 0], [0, 2], [1, 1]], [[1], [0], [1]]), folder, points_per_part=2)
    >>> lt.open_parts(folder)
    PartsDataset(3 points, 2 features, 1 labels; a point has 1.33 features and 0.667 labels; in 2 parts)
    """
    return PartsDataset(folder, verify=verify)


class PartsDataset(Dataset):
    """A dataset in parts; made by `open_parts`.

    Attributes
    ----------
    folder : Path
    parts : list of Part
        ``parts[i].read()`` is part i as a Dataset whose arrays are mapped.
    manifest : PartsManifest
    """

    folder: Path
    manifest: PartsManifest

    def __init__(self, folder: FilePath, *, verify: bool = False) -> None:
        path = Path(os.path.abspath(folder))
        self._store(folder=path, manifest=read_manifest(path), label_texts=None)
        for part in self.parts:
            part.check_files()
            if verify:
                part.read()
        if self.manifest.encoder is not None:
            file = path / ENCODER_FILE
            if not file.exists() or file_checksum(file) != self.manifest.encoder:
                refuse_file(file, "missing, or its checksum is wrong; convert the data again")

    @cached_property
    def parts(self) -> list[Part]:
        """The parts, in the order of their points."""
        entries = self.manifest.parts
        starts = np.cumsum([0, *(entry.n_points for entry in entries)]).tolist()
        return [
            Part(self.folder / part_folder(number), number, starts[number], entry, self._shape, self.manifest.times)
            for number, entry in enumerate(entries)
        ]

    @property
    def _shape(self) -> tuple[int, int]:
        return self.manifest.n_features, self.manifest.n_labels

    @property
    def n_points(self) -> int:
        """Number of points of all parts."""
        return self.manifest.n_points

    @property
    def n_features(self) -> int:
        """Number of features: columns of X."""
        return self.manifest.n_features

    @property
    def n_labels(self) -> int:
        """Number of labels: columns of Y."""
        return self.manifest.n_labels

    # The attributes of a Dataset, loaded on first use.

    @cached_property
    def _joined(self) -> dict[str, Any]:
        blocks = [part.read() for part in self.parts]
        weights, texts, times = (
            None if getattr(blocks[0], name) is None else np.concatenate([getattr(block, name) for block in blocks])
            for name in ("sample_weight", "texts", "times")
        )
        return {
            "X": _stack([block.X for block in blocks]),
            "Y": _stack([block.Y for block in blocks]),
            "sample_weight": check_sample_weight(weights, self.n_points),
            "texts": texts,
            "times": times,
        }

    @property
    def X(self) -> Any:  # type: ignore[override]
        """All features, joined in memory."""
        return self._joined["X"]

    @property
    def Y(self) -> Any:  # type: ignore[override]
        """All labels, joined in memory."""
        return self._joined["Y"]

    @cached_property
    def sample_weight(self) -> Any:  # type: ignore[override]
        """The weights of all points, or None."""
        if "weights" not in self.manifest.parts[0].arrays:
            return None
        weights = np.concatenate([part.weights() for part in self.parts])
        with naming_file(self.folder):
            return check_sample_weight(weights, self.n_points)

    @property
    def texts(self) -> Any:  # type: ignore[override]
        """The texts of all points, or None."""
        return None if "texts" not in self.manifest.parts[0].arrays else self._joined["texts"]

    @property
    def times(self) -> Any:  # type: ignore[override]
        """The times of all points, or None."""
        return None if self.manifest.times is None else self._joined["times"]

    @cached_property
    def groups(self) -> Any:  # type: ignore[override]
        """The groups of all points, or None."""
        if "groups" not in self.manifest.parts[0].arrays:
            return None
        return check_groups(np.concatenate([part.arrays("groups")["groups"] for part in self.parts]), self.n_points)

    @cached_property
    def label_names(self) -> NDArray[np.object_] | None:  # type: ignore[override]
        """The names of the labels, or None."""
        return self._names("label_names", self.n_labels, unique=True)

    @cached_property
    def feature_names(self) -> NDArray[np.object_] | None:  # type: ignore[override]
        """The names of the features, or None."""
        return self._names("feature_names", self.n_features)

    @cached_property
    def encoder(self) -> Encoder | None:  # type: ignore[override]
        """The encoder that made the features, or None."""
        return None if self.manifest.encoder is None else read_encoder(self.folder / ENCODER_FILE)

    @property
    def vectorizer(self) -> TfidfVectorizer | None:
        """The vectorizer of a text encoder, or None."""
        return getattr(self.encoder, "vectorizer", None)

    def _names(self, name: str, count: int, *, unique: bool = False) -> NDArray[np.object_] | None:
        if name not in self.manifest.arrays:
            return None
        arrays = []
        for kind in (name, f"{name}_ends"):
            path = self.folder / f"{kind}.npy"
            entry = self.manifest.arrays.get(kind)
            if entry is None or not path.exists():
                refuse_file(path, "missing; convert the data again")
            with open_regular(path) as opened:
                data = map_array(path, opened, entry, verify=True)
            arrays.append(data[len(entry.header()) :].view(entry.dtype))
        with naming_file(self.folder):
            return check_texts(name, decode_names(arrays[0], arrays[1], os.fspath(self.folder)), count, unique=unique)

    def __repr__(self) -> str:
        n = max(self.n_points, 1)
        n_values = sum(part.n_values for part in self.manifest.parts)
        n_pairs = sum(part.n_pairs for part in self.manifest.parts)
        return (
            f"{type(self).__name__}({self.n_points:,} points, {self.n_features:,} features, {self.n_labels:,} labels; "
            f"a point has {n_values / n:.3g} features and {n_pairs / n:.3g} labels; in {len(self.parts)} parts)"
        )

    def __reduce__(self) -> Any:
        return open_parts, (os.fspath(self.folder),)

    @classmethod
    def _from_checked(cls, X: Any, Y: Any, **others: Any) -> Any:
        return Dataset._from_checked(X, Y, **others)  # a selection of points is in memory


def _stack(blocks: list[Any]) -> Any:
    return blocks[0] if len(blocks) == 1 else freeze(sparse.csr_array(sparse.vstack(blocks, "csr")))
