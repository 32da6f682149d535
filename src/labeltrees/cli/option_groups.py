"""The group of each option in the help text of commands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

OWN_GROUP = ""  # options that belong to one command come first
_GROUPS = {
    "Labels and scores": "candidates exclude exclude_seen label_weight proba threshold propensity",
    "Data": "text_names label_field weight_field label_separator data_format test_share split_seed label_names "
    "feature_names index_base times vocabulary language",
    "Features of texts": "features analyzer ngram_range min_df max_df max_features stop_words stem strip_accents "
    "hashing",
    "Tree": "tree tree_file tradeoff tradeoffs fanout fanouts leaf_size smoothing cover covers cover_softness path "
    "paths weights_of embeddings",
    "Training": "preset normalize loss score_power C class_weight eps max_iter prune_below negatives n_trees evidence "
    "trend label_text_embedding label_text_points label_text_weight dim lr epochs min_count word_ngrams min_n max_n "
    "buckets shuffle",
    "Search": "search beam prune agreement",
    "Memory and cluster": "max_memory cluster workers memory_per_worker work_folder temporary_folder in_parts "
    "points_per_part",
    "Running and output": "random_state n_jobs repeats form csv_file plot as_json help",
}
_LOG_GROUPS = {
    "Columns of EVENTS": "context item weight time item_name feature_column feature_separator session time_format "
    "encoding separator",
    "Which events count": "since until min_engagement min_item_contexts drop_duplicates",
    "Points and their weights": "preset features history_before hide session_gap half_life period point_weights",
    "Training and test part": "test_share test_since",
}


def _by_name(groups: Mapping[str, str]) -> dict[str, str]:
    return {name: group for group, names in groups.items() for name in names.split()}


_GROUP_OF = _by_name(_GROUPS)
SEARCH_GROUPS = {"evidence": "Search"}  # for commands that search with a model, and do not train one
LOG_GROUPS = _by_name(_LOG_GROUPS)  # for the commands about logs, whose options have other meanings


def group_of(name: str, other_groups: Mapping[str, str]) -> str:
    """Return the group of an option; `other_groups` come first.

    Examples
    --------
    >>> group_of("n_jobs", {}), group_of("leaf_size", {}), group_of("max_latency_us", {})
    ('Running and output', 'Tree', '')
    """
    return other_groups.get(name, _GROUP_OF.get(name, OWN_GROUP))


def in_order(groups: Iterable[str]) -> list[str]:
    """Return groups in the order of the help text: the command's own options first."""
    order = [OWN_GROUP, *_LOG_GROUPS, *_GROUPS]
    return sorted(groups, key=order.index)
