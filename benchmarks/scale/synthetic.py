"""Synthetic labels for scale tests: power-law frequencies, sparse embeddings with nested clusters."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

N_FEATURES = 1_000_000
N_NONZEROS = 16
LABELS_PER_TOPIC = 200
TOPICS_PER_FIELD = 200
CHUNK = 1_000_000  # labels made at once, to limit memory


class SyntheticLabels(NamedTuple):
    """Embeddings (L, N_FEATURES) of length 1 with N_NONZEROS per row, and frequencies (L,) that sum to 1."""

    embeddings: sp.csr_array
    frequencies: NDArray[np.float64]


def synthetic_labels(n_labels: int, seed: int = 0) -> SyntheticLabels:
    """Make labels in topics, and topics in fields: a label has 8 features of its topic, 5 of its field, 3 others."""
    rng = np.random.default_rng(seed)
    n_topics = max(1, n_labels // LABELS_PER_TOPIC)
    n_fields = max(1, n_topics // TOPICS_PER_FIELD)
    field_features = rng.integers(0, N_FEATURES, (n_fields, 256), dtype=np.int32)
    topic_features = rng.integers(0, N_FEATURES, (n_topics, 48), dtype=np.int32)
    topic_field = rng.integers(0, n_fields, n_topics, dtype=np.int32)

    indices = np.empty((n_labels, N_NONZEROS), dtype=np.int32)
    data = np.empty((n_labels, N_NONZEROS), dtype=np.float32)
    for first in range(0, n_labels, CHUNK):
        rows = slice(first, min(first + CHUNK, n_labels))
        n = rows.stop - rows.start
        topic = rng.integers(0, n_topics, n)
        indices[rows] = _distinct_features(topic, topic_features, field_features[topic_field[topic]], rng)
        values = rng.random((n, N_NONZEROS), dtype=np.float32) + 0.1
        data[rows] = values / np.linalg.norm(values, axis=1, keepdims=True)
    indptr = np.arange(n_labels + 1, dtype=np.int32 if n_labels * N_NONZEROS < 2**31 else np.int64) * N_NONZEROS
    embeddings = sp.csr_array((data.reshape(-1), indices.reshape(-1), indptr), shape=(n_labels, N_FEATURES))
    frequencies = 1.0 / rng.permutation(np.arange(1, n_labels + 1))
    return SyntheticLabels(embeddings, frequencies / frequencies.sum())


def _distinct_features(
    topic: NDArray[np.int64], topic_features: NDArray[np.int32], field: NDArray[np.int32], rng: np.random.Generator
) -> NDArray[np.int32]:
    """Draw N_NONZEROS different features per row, sorted; rows with a repeated feature are drawn again."""
    features = np.empty((len(topic), N_NONZEROS), dtype=np.int32)
    todo = np.arange(len(topic))
    while len(todo) > 0:
        of_field = np.take_along_axis(field[todo], rng.integers(0, field.shape[1], (len(todo), 5)), axis=1)
        of_topic = topic_features[topic[todo][:, None], rng.integers(0, topic_features.shape[1], (len(todo), 8))]
        of_all = rng.integers(0, N_FEATURES, (len(todo), 3), dtype=np.int32)
        features[todo] = np.sort(np.concatenate([of_field, of_topic, of_all], axis=1), axis=1)
        todo = todo[(np.diff(features[todo], axis=1) == 0).any(axis=1)]
    return features
