"""The paper's datasets (its Tables 1 and 2) and ours: real sets, the bundled set, a log, and synthetic sets."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

import numpy as np

import labeltrees as lt
from benchmarks.paper.grid import VARIANTS, grid_of
from benchmarks.paper.shop import load_shop
from benchmarks.scale.shapes import SHAPES, load_shape
from benchmarks.shared_data import load

Pair = tuple[lt.Dataset, lt.Dataset]

# name: training points, features, labels, test points, labels per point
PAPER = {
    "AmazonCat-13K": ("1.2M", "204K", "13K", "307K", 5.04),
    "Wiki-500K": ("1.8M", "2.4M", "501K", "784K", 4.77),
    "Amazon-670K": ("490K", "136K", "670K", "153K", 5.45),
    "Amazon-705K (log)": ("951K", "207K", "705K", "50K", 2.94),
    "Amazon-1M (log)": ("1.3M", "200K", "1.2M", "66K", 2.94),
    "Amazon-2M (log)": ("2.4M", "486K", "2.5M", "127K", 2.28),
    "Amazon-3M (log)": ("7.9M", "794K", "2.7M", "364K", 3.12),
    "Amazon-10M (log)": ("29.9M", "1.6M", "9.9M", "1.6M", 6.03),
}

SMALL = ["debian", "bibtex", "delicious", "eurlex4k", "debian-depends"]
LOGS = ["online-retail", "online-retail, weighted"]
LARGE = ["arxiv-authors"]
DEFAULT_SETS = [*SMALL, *LOGS]
# Figure 1 and the claim about imbalance use every set at hand.
IMBALANCE_SETS = [*SMALL, "cooking", *LARGE, "online-retail"]


def is_log(name: str) -> bool:
    """Whether the paper's experiment on logs is repeated on this set: the paper's own variant only."""
    return name in LOGS or name.startswith("quick log")


def variants_of(name: str) -> list[str]:
    """Return the variants to train on a set."""
    return ["marginal"] if is_log(name) else list(VARIANTS)


def tradeoffs_of(name: str) -> list[float]:
    """Return the paper's grid for a set."""
    return grid_of("logs" if is_log(name) else "parabel")


@lru_cache(maxsize=2)
def load_set(name: str) -> Pair:
    """Return training and test points of a set; the weighted log has sample weights."""
    for known, loader in _LOADERS.items():
        if known == name:
            return loader()
    shape = re.fullmatch(r"(.*-shape)(?: at (\d+) %)?", name)
    if shape and shape.group(1) in SHAPES:
        return load_shape(shape.group(1), int(shape.group(2) or 100) / 100)
    quick = re.fullmatch(r"quick (.*)", name)
    if quick:
        return _QUICK[quick.group(1)]()
    return load(name)


def _debian() -> Pair:
    train, test = lt.datasets.load_debian()
    return lt.Dataset(train.X, train.Y), lt.Dataset(test.X, test.Y)


def _quick_debian() -> Pair:
    """Return the bundled set cut to an eighth of its training points, for trees that train in seconds."""
    train, test = _debian()
    X, Y = train.X[::8], train.Y[::8]
    seen = np.flatnonzero(np.bincount(Y.indices, minlength=Y.shape[1]))
    return lt.Dataset(X, Y[:, seen]), lt.Dataset(test.X[::2], test.Y[::2][:, seen])


_LOADERS: dict[str, Callable[[], Pair]] = {
    "debian": _debian,
    "online-retail": lambda: load_shop(weighted=False),
    "online-retail, weighted": lambda: load_shop(weighted=True),
}
_QUICK: dict[str, Callable[[], Pair]] = {
    "debian": _quick_debian,
    "log": lambda: load_shop(weighted=False, quick=True),
    "log, weighted": lambda: load_shop(weighted=True, quick=True),
}
