"""Label trees for extreme multi-label classification: one setting trades accuracy for speed."""

import os
from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_MODULES = {
    "baselines": "baselines",
    "datasets": "datasets",
    "encoders": "data.encoders",
    "errors": "errors",
    "metrics": "metrics",
}
_OTHER_MODULES = {"features": "features"}  # not among the 40 names of `__all__`
# The public names by module. They are imported when they are first used, because NumPy, SciPy and scikit-learn take
# seconds to import. `__init__.pyi` has the same names, for type checkers and editors.
_HOMES = {
    "data": "Dataset PartsWriter TfidfVectorizer open_parts read_data read_texts read_vocabulary read_xmc write_parts"
    " write_xmc",
    "labels": "cover_frequencies label_frequencies pifa trend_weights",
    "logs": "Columns prepare_logs",
    "models.linear.estimator": "LabelTreeClassifier",
    "models.linear.settings": "Solver",
    "models.load": "load",
    "models.text.estimator": "TextLabelTreeClassifier",
    "tree.baselines": "fano_tree flat_tree huffman_tree kmeans_tree random_tree semantic_huffman_tree",
    "tree.builder": "build_tree build_tree_from",
    "tree.contract": "contract",
    "tree.label_tree": "LabelTree",
    "tree.settings": "TreeBuilder",
    "tree.splits": "split_labels",
    "tuning.choose": "choose",
    "tuning.cv": "LabelTreeClassifierCV",
    "tuning.sweep": "sweep",
}
# Names that version 0.1 had here, by the module where they are now.
_MOVED = {
    "data": "PartsDataset read_limits",
    "data.encoders": "ColumnEncoder Encoder ItemEncoder TextEncoder UnionEncoder",
    "errors": "FileFormatError InputError LabelTreesError MissingExtraError",
    "labels": "Imbalance imbalance label_weights",
    "logs": "PreparedLogs",
    "tree.contract": "SearchCost",
    "tree.measures": "TreeSummary within_node_similarity",
    "tuning.choose": "Choice",
    "tuning.result": "SweepResult",
}
_GONE = dict.fromkeys(("Profile", "profile"), "labeltrees.profiling.measure_work counts and times searches")


def _by_name(names_of: dict[str, str]) -> dict[str, str]:
    return {name: module for module, names in names_of.items() for name in names.split()}


_HOME_OF, _MOVED_TO = _by_name(_HOMES), _by_name(_MOVED)

__all__ = sorted([*_MODULES, *_HOME_OF])


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name, _OTHER_MODULES.get(name))
    if module is not None:
        return import_module(f"labeltrees.{module}")
    if name not in _HOME_OF:
        message = f"module 'labeltrees' has no attribute {name!r}"
        if name in _MOVED_TO:
            message += f": it is in labeltrees.{_MOVED_TO[name]}"
        elif name in _GONE:
            message += f": {_GONE[name]}"
        raise AttributeError(message)
    value = getattr(import_module(f"labeltrees.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])


if "LABELTREES_INSTRUCTIONS" in os.environ:  # otherwise native code is loaded on first use
    import_module("labeltrees._instructions").choose_instructions()
