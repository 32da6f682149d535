"""Data and comparisons that the tests of training on parts share."""

import numpy as np
import scipy.sparse as sp

import labeltrees as lt

N_LABELS = 60


def small_dataset(n_points=240, n_features=50, *, weights=False, relevance=False, names=False, seed=0):
    """Return points with a long tail of labels; the last few points have none."""
    rng = np.random.default_rng(seed)
    X = sp.random_array((n_points, n_features), density=7.5 / n_features, rng=rng, dtype=np.float32, format="csr")
    Y = np.zeros((n_points, N_LABELS), np.float32)
    for point, labels in enumerate(rng.zipf(1.5, (n_points - 5, 3)) % N_LABELS):
        Y[point, labels] = rng.random() + 0.5 if relevance else 1
    sample_weight = rng.random(n_points) * (rng.random(n_points) > 0.1) if weights else None
    label_names = [f"label {i}" for i in range(N_LABELS)] if names else None
    return lt.Dataset(X, sp.csr_array(Y), sample_weight=sample_weight, label_names=label_names)


def files_of(folder):
    """Return the content of all files of a saved model."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def saved(model, folder):
    """Save a model and return the content of its files."""
    model.save(folder)
    return files_of(folder)
