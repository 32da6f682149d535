"""The paper's datasets (its Tables 1 and 2), and the same figures for ours."""

from __future__ import annotations

import labeltrees as lt
from benchmarks.tables import print_head

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


def print_datasets(ours: dict[str, tuple[lt.Dataset, lt.Dataset]]) -> None:
    """Print the paper's datasets and ours in one table."""
    print_head("dataset | N | d | L | N test | labels per point")
    for name, facts in PAPER.items():
        print(f"| the paper's {name} | " + " | ".join(str(fact) for fact in facts) + " |")
    for name, (train, test) in ours.items():
        counts = [train.n_points, train.n_features, train.n_labels, test.n_points]
        print(f"| {name} | " + " | ".join(f"{n:,}" for n in counts) + f" | {train.Y.nnz / train.n_points:.2f} |")
