"""Synthetic data shaped like the paper's logs."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import labeltrees as lt
from benchmarks.scale import shapes
from benchmarks.scale.shapes import SHAPES, load_shape, write_shape


@pytest.fixture(scope="module")
def data():
    return load_shape("amazon-1m-shape", scale=0.005)


def test_the_shape_is_that_of_the_papers_table(data):
    train, test = data
    shape = SHAPES["amazon-1m-shape"].scaled(0.005)
    assert (train.n_points, train.n_features, train.n_labels, test.n_points) == shape[:4]
    assert train.Y.nnz / train.n_points == pytest.approx(shape.labels_per_point, rel=0.05)
    assert np.diff(train.Y.indptr).min() >= 1


def test_labels_follow_a_power_law(data):
    train, _ = data
    counts = np.sort(np.bincount(train.Y.indices, minlength=train.n_labels))[::-1]
    assert counts[: len(counts) // 100].sum() > 0.1 * counts.sum()
    assert np.median(counts) <= 3


def test_rows_have_length_one(data):
    train, _ = data
    np.testing.assert_allclose(train.X.multiply(train.X).sum(axis=1), 1, rtol=1e-4)


def test_labels_of_a_topic_are_similar(data):
    """Labels of one topic have closer embeddings than labels of two topics."""
    train, _ = data
    embeddings = lt.pifa(train.X, train.Y)
    n_topics = train.n_labels // 200
    topic = np.arange(train.n_labels) % n_topics
    similarity = (embeddings @ embeddings.T).toarray()
    same = topic[:, None] == topic[None, :]
    np.fill_diagonal(same, False)
    assert similarity[same].mean() > 1.5 * similarity[topic[:, None] != topic[None, :]].mean()


def test_a_seed_gives_the_same_data():
    first, second, other = (load_shape("amazon-1m-shape", 0.001, seed)[0] for seed in (1, 1, 2))
    assert (first.X != second.X).nnz == 0
    assert (first.Y != second.Y).nnz == 0
    assert (first.Y != other.Y).nnz > 0


def test_points_written_in_parts_are_the_same(data, tmp_path, monkeypatch):
    monkeypatch.setattr(shapes, "POINTS_PER_PART", 2000)
    train, test = data
    found = write_shape("amazon-1m-shape", tmp_path / "parts", 0.005)
    pairs = [(found.X, test.X), (found.Y, test.Y)]
    parts = [part.matrices() for part in lt.open_parts(tmp_path / "parts").parts]
    assert len(parts) == 4
    pairs += [(sp.vstack(own), whole) for own, whole in zip(zip(*parts, strict=True), (train.X, train.Y), strict=True)]
    for own, whole in pairs:
        for name in ("indptr", "indices", "data"):
            np.testing.assert_array_equal(getattr(own.tocsr(), name), getattr(whole, name))
