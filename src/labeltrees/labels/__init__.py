"""Label embeddings, frequencies and weights."""

from labeltrees.labels.embedding import pifa
from labeltrees.labels.frequency import cover_frequencies, label_frequencies, label_weights
from labeltrees.labels.imbalance import Imbalance, imbalance
from labeltrees.labels.trend import trend_weights

__all__ = ["Imbalance", "cover_frequencies", "imbalance", "label_frequencies", "label_weights", "pifa", "trend_weights"]
