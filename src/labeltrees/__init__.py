"""Label trees for extreme multi-label classification: one setting moves between accurate and fast."""

import os
from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_MODULES = ("baselines", "datasets", "metrics")
# The public names by module. They are imported when they are first used, because NumPy, SciPy and scikit-learn take
# seconds to import. `__init__.pyi` has the same names, for type checkers and editors.
_HOMES = {
    "data": "ColumnEncoder Dataset Encoder ItemEncoder PartsDataset PartsWriter TextEncoder"
    " TfidfVectorizer UnionEncoder open_parts read_data read_limits read_texts read_vocabulary read_xmc"
    " write_parts write_xmc",
    "errors": "FileFormatError InputError LabelTreesError MissingExtraError",
    "labels.embedding": "pifa",
    "labels.frequency": "cover_frequencies label_frequencies label_weights",
    "labels.imbalance": "Imbalance imbalance",
    "labels.trend": "trend_weights",
    "logs": "Columns PreparedLogs prepare_logs",
    "models.linear.estimator": "LabelTreeClassifier",
    "models.linear.settings": "Solver",
    "models.load": "load",
    "models.text.estimator": "TextLabelTreeClassifier",
    "tree.baselines": "fano_tree flat_tree huffman_tree random_tree",
    "tree.builder": "build_tree build_tree_from",
    "tree.contract": "contract",
    "tree.kmeans": "kmeans_tree",
    "tree.label_tree": "LabelTree",
    "tree.splits": "split_labels",
    "tree.search_cost": "SearchCost",
    "tree.settings": "TreeBuilder",
    "tree.semantic_huffman": "semantic_huffman_tree",
    "tree.similarity": "within_node_similarity",
    "tree.summary": "TreeSummary",
    "tuning.choose": "Choice choose",
    "tuning.cv": "LabelTreeClassifierCV",
    "tuning.result": "SweepResult",
    "tuning.sweep": "sweep",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = sorted([*_MODULES, *_HOME_OF])


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"labeltrees.{name}")
    if name not in _HOME_OF:
        message = f"module 'labeltrees' has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(import_module(f"labeltrees.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])


if "LABELTREES_INSTRUCTIONS" in os.environ:  # otherwise native code is loaded when it is first used
    import_module("labeltrees._instructions").choose_instructions()
