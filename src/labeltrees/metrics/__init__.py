"""Metrics of returned labels: precision, recall, nDCG and others at k, novelty, diversity, and depth in the tree."""

from labeltrees.metrics.groups import FrequencyGroup, Proportion, by_frequency
from labeltrees.metrics.intervals import Estimate
from labeltrees.metrics.propensity import (
    inverse_propensity,
    label_propensities,
    propensities_of_counts,
    psndcg_at_k,
    psp_at_k,
)
from labeltrees.metrics.ranking import (
    coverage_at_k,
    expected_depth_at_k,
    f1_at_k,
    hit_rate_at_k,
    macro_f1_at_k,
    ndcg_at_k,
    precision_at_k,
    recall_at_k,
)
from labeltrees.metrics.table import estimate_at_k
from labeltrees.metrics.thresholds import Threshold, suggest_thresholds
from labeltrees.metrics.variety import catalogue_at_k, diversity_at_k, novelty_at_k

__all__ = [
    "Estimate",
    "FrequencyGroup",
    "Proportion",
    "Threshold",
    "by_frequency",
    "catalogue_at_k",
    "coverage_at_k",
    "diversity_at_k",
    "estimate_at_k",
    "expected_depth_at_k",
    "f1_at_k",
    "hit_rate_at_k",
    "inverse_propensity",
    "label_propensities",
    "macro_f1_at_k",
    "ndcg_at_k",
    "novelty_at_k",
    "precision_at_k",
    "propensities_of_counts",
    "psndcg_at_k",
    "psp_at_k",
    "recall_at_k",
    "suggest_thresholds",
]
