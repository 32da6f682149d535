"""Candidates: parameters of an estimator, with grids, names and fingerprints.

A candidate is a dict of parameters for `estimator.set_params`, such as ``{"tradeoff": 1.0, "C": 0.3}``. Two more keys
are allowed: ``"features"``, the kind of features to make from the texts of the data, and ``"stem"``, the language for
stemming their words.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from labeltrees import _core
from labeltrees._matrices import is_sparse
from labeltrees._validation import check_choice, check_fanout, check_number, refuse
from labeltrees.models.linear.settings import Solver
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.settings import TreeBuilder, builder_of, is_given

Parameters = dict[str, Any]
ONE_VS_ALL = "one-vs-all"
COVERS, PATHS = ("marginal", "greedy"), ("weighted", "direct")
FEATURES, STEM = "features", "stem"
AS_GIVEN = "as given"  # the features of the data


def _grid(*values: float) -> tuple[float, ...]:
    return tuple(2 * t / (1 + t) for t in values)


# The paper's grids: t = 2t' / (1 + t') for these t'.
PAPER_GRIDS = {
    "parabel": _grid(0, 0.5, 1, 2, 6, 10, 30, 100, 300, 1000, 1e5),
    "fasttext": _grid(0, 0.25, 0.5, 0.75, 1, 2, 4, 16, 64, 256, 1e5),
    "logs": _grid(0, 0.25, 0.5, 0.75, 1, 2, 10, 30, 1000, 1e5),
}
# A shorter, rounded grid for everyday use.
TRADEOFFS = (0.0, 0.4, 0.67, 0.86, 1.0, 1.33, 1.71, 1.94, 2.0)


def check_estimator(estimator: Any) -> Any:
    """Return a model, which may be of another library, with its parameters."""
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        refuse("estimator", "a model such as LabelTreeClassifier()", estimator)
    return estimator


def make_grid(estimator: Any, tradeoffs: Any, fanouts: Any, grid: Any = None) -> dict[str, Parameters]:
    """Return every combination once, by the name of its setting, in the given order.

    Parameters
    ----------
    estimator : model
    tradeoffs : list of numbers, or the name of one of the paper's grids
    fanouts : list, or None for the estimator's own
    grid : dict of lists, optional
        Values of other parameters of the estimator.
    """
    known = estimator.get_params(deep=False)
    if "tradeoff" not in known:
        refuse("estimator", "a model with the parameter tradeoff", estimator)
    if is_given(known.get("tree")):
        refuse("estimator", "a model that builds its tree (tree=None or a TreeBuilder)", estimator)
    axes = {"tradeoff": check_tradeoffs("tradeoffs", tradeoffs), **_fanouts(known, fanouts)}
    if not isinstance(grid, Mapping | None):
        refuse("grid", "a dict of lists of parameters, such as {'C': [0.3, 1]}", grid)
    for name, values in (grid or {}).items():
        if name not in _parameter_names(estimator) or name in axes:
            refuse("grid", f"parameters of a {type(estimator).__name__} besides {', '.join(axes)}", name)
        axes[name] = listed(f"grid[{name!r}]", values)
    found: dict[str, Parameters] = {}
    for values in itertools.product(*axes.values()):
        parameters = dict(zip(axes, values, strict=True))
        found.setdefault(setting_name(estimator, parameters), parameters)
    return found


def _parameter_names(estimator: Any) -> set[str]:
    """Return the parameters that `set_params` accepts, including those of a `TreeBuilder` and a `Solver`."""
    names = set(estimator.get_params())
    names |= {f"tree__{name}" for name in TreeBuilder().get_params()} if takes_builder(estimator) else set()
    return names | ({f"loss__{name}" for name in Solver().get_params()} if "loss" in names else set())


def check_tradeoffs(name: str, tradeoffs: Any) -> list[float]:
    """Return the tradeoffs of a list, or of a named grid."""
    if isinstance(tradeoffs, str):
        return list(PAPER_GRIDS[check_choice(name, tradeoffs, tuple(PAPER_GRIDS))])
    return [check_number(name, value, 0, 2) for value in listed(name, tradeoffs)]


def _fanouts(known: Mapping[str, Any], fanouts: Any) -> dict[str, list[Any]]:
    if "fanout" not in known:
        if fanouts is not None and list(listed("fanouts", fanouts)) != [2]:
            refuse("fanouts", "None or 2 for a model with binary trees", fanouts)
        return {}
    if fanouts is None:
        return {"fanout": [known["fanout"]]}
    return {"fanout": [check_fanout("fanouts", value, 2**31 - 1) for value in listed("fanouts", fanouts)]}


def listed(name: str, values: Any) -> list[Any]:
    """Return one value or several as a list; raise `InputError` if it is empty."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        values = [values]
    found = list(values)
    if not found:
        refuse(name, "a list of at least one value", values)
    return found


def configured(estimator: Any, parameters: Parameters) -> Any:
    """Return a copy of an estimator with the parameters of a candidate, except features and stem."""
    own = {name: value for name, value in parameters.items() if name not in (FEATURES, STEM)}
    return clone(estimator).set_params(**own, verbose=0)


def features_of(parameters: Parameters) -> tuple[str, str | None]:
    """Return the kind of features of a candidate, and the language of their stems."""
    return parameters.get(FEATURES, AS_GIVEN), parameters.get(STEM)


def takes_builder(estimator: Any) -> bool:
    """Whether an estimator accepts a `TreeBuilder` as its parameter `tree`."""
    return hasattr(estimator, "KIND") and "tree" in estimator.get_params(deep=False)


def builder_for(estimator: Any, parameters: Parameters) -> TreeBuilder:
    """Return the `TreeBuilder` of a candidate."""
    builder = builder_of(parameters.get("tree", estimator.get_params(deep=False)["tree"]))
    nested = {name.removeprefix("tree__"): value for name, value in parameters.items() if name.startswith("tree__")}
    return replace(builder, **nested) if nested else builder


def tree_columns(estimator: Any, parameters: Parameters) -> dict[str, Any]:
    """Return tradeoff, fanout, cover and path of a candidate; None for parameters that its model family does not have.

    Examples
    --------
    >>> import labeltrees as lt
    >>> tree_columns(lt.LabelTreeClassifier(), {"tradeoff": 0.5, "fanout": 16})
    {'tradeoff': 0.5, 'fanout': 16, 'cover': 'marginal', 'path': 'weighted'}
    """
    known = {**estimator.get_params(deep=False), **parameters}
    found = {name: known.get(name) for name in ("tradeoff", "fanout")}
    if not takes_builder(estimator) or is_given(known.get("tree")):
        return {**found, "cover": None, "path": None}
    builder = builder_for(estimator, parameters)
    return {**found, "cover": builder.cover, "path": builder.path}


def other_columns(estimator: Any, parameters: Parameters) -> dict[str, Any]:
    """Return the other parameters of a candidate as plain values; those of its `TreeBuilder` only if they were changed.

    Examples
    --------
    >>> import labeltrees as lt
    >>> tree = lt.TreeBuilder(cover="greedy", smoothing=0.5)
    >>> other_columns(lt.LabelTreeClassifier(), {"tradeoff": 1, "tree": tree, "C": 0.3})
    {'smoothing': 0.5, 'C': 0.3}
    """
    found = {name: value for name, value in parameters.items() if name.partition("__")[0] != "tree"}
    if isinstance(parameters.get("tree"), str):
        found |= {"tree": parameters["tree"]}
    elif takes_builder(estimator):
        usual = builder_for(estimator, {}).get_params()
        variants = builder_for(estimator, parameters).get_params()
        found = {name: value for name, value in variants.items() if plain(value) != plain(usual[name])} | found
    return {name: plain(value) for name, value in found.items() if name not in ("tradeoff", "fanout", "cover", "path")}


def column_value(estimator: Any, parameters: Parameters, column: str) -> Any:
    """Return the value of a column of `other_columns`, also for a candidate that does not set it."""
    if takes_builder(estimator) and hasattr(TreeBuilder, column):
        return plain(getattr(builder_for(estimator, parameters), column))
    usual = AS_GIVEN if column == FEATURES else estimator.get_params().get(column)
    return plain(parameters.get(column, usual))


def plain(value: Any) -> Any:
    """Return a parameter as a value that a table can show."""
    if isinstance(value, bool | int | float | str | None):
        return value
    return f"array {fingerprint(value)[:8]}" if is_sparse(value) or isinstance(value, np.ndarray) else repr(value)


def setting_name(estimator: Any, parameters: Parameters) -> str:
    """Return the name of a candidate in the table of a sweep and in its folder.

    Examples
    --------
    >>> import labeltrees as lt
    >>> setting_name(lt.LabelTreeClassifier(), {"tradeoff": 0.5, "fanout": 16, "C": 0.3})
    'tradeoff-0.5_fanout-16_marginal_weighted_C-0.3'
    """
    tree = tree_columns(estimator, parameters)
    parts = [f"tradeoff-{tree['tradeoff']:.8g}"]
    parts += [f"fanout-{tree['fanout']}"] if tree["fanout"] is not None else []
    parts += [tree[name] for name in ("cover", "path") if tree[name] is not None]
    others = [f"{name}-{value}" for name, value in other_columns(estimator, parameters).items()]
    return "_".join([*parts, *others])


def words_of(parameters: Parameters) -> str:
    """Return a candidate in words.

    Examples
    --------
    >>> words_of({"loss": "logistic", "C": 0.3}), words_of({"tree": "flat"})
    ('loss logistic, C 0.3', 'one-vs-all')
    """
    if parameters.get("tree") == "flat":
        return ONE_VS_ALL
    return ", ".join(f"{name} {value}" for name, value in parameters.items()) or AS_GIVEN


def describe_setting(record: Mapping[str, Any]) -> str:
    """Return the tradeoff and the fanout of a record in words.

    Examples
    --------
    >>> describe_setting({"tradeoff": 0.5, "fanout": 16})
    'tradeoff 0.5, fanout 16'
    """
    fanout = "" if record["fanout"] is None else f", fanout {record['fanout']}"
    return f"tradeoff {record['tradeoff']:.4g}{fanout}"


def without_effect(estimator: Any, parameters: Parameters) -> Parameters:
    """Return a candidate that gives the same model, without variants that have no effect, such as an unused cover.

    Examples
    --------
    >>> import labeltrees as lt
    >>> without_effect(lt.LabelTreeClassifier(), {"tradeoff": 0.5, "tree__cover": "greedy"})
    {'tradeoff': 0.5, 'tree': None}
    """
    tree = tree_columns(estimator, parameters)
    if tree["cover"] is None or is_given(parameters.get("tree")):
        return parameters
    cover, path = tree["cover"], tree["path"]
    if tree["tradeoff"] == 0:
        cover, path = COVERS[0], PATHS[0]
    elif tree["tradeoff"] <= 1 and path == "weighted":
        cover = COVERS[0]
    builder = replace(builder_for(estimator, parameters), cover=cover, path=path)
    others = {name: value for name, value in parameters.items() if not name.startswith("tree")}
    return {**others, "tree": None if builder == TreeBuilder() else builder}


# Fingerprints, to recognise the same data and parameters.


def fingerprint(value: Any) -> str:
    """Return a short hash of the content of a value.

    Examples
    --------
    >>> fingerprint([1, "a"]) == fingerprint((1, "a")), fingerprint(1) == fingerprint(1.5)
    (True, False)
    """
    digest = hashlib.sha256()
    _feed(digest, value)
    return digest.hexdigest()[:32]


def estimator_fingerprint(estimator: Any, ignored: Iterable[str] = ()) -> str:
    """Return the fingerprint of an estimator's parameters, except those that do not change a model."""
    parameters = estimator.get_params(deep=False)
    if takes_builder(estimator) and not is_given(parameters["tree"]):
        parameters |= {
            f"tree__{name}": value for name, value in builder_of(parameters.pop("tree")).get_params().items()
        }
    if isinstance(parameters.get("loss"), Solver):
        parameters |= {f"loss__{name}": value for name, value in parameters.pop("loss").get_params().items()}
    counted = {name: value for name, value in parameters.items() if name not in {"n_jobs", "verbose", *ignored}}
    return fingerprint([type(estimator).__name__, counted])


def _feed(digest: Any, value: Any) -> None:
    if is_sparse(value):
        csr = value.tocsr()
        _feed(digest, ["sparse", csr.shape, csr.indptr.astype(np.int64), csr.indices.astype(np.int64), csr.data])
    elif isinstance(value, LabelTree):
        _feed(digest, ["tree", value.n_labels, value.child_ptr, value.children])
    elif isinstance(value, np.ndarray) and value.dtype != object:
        flat = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
        digest.update(f"array {value.dtype.str} {value.shape} {_core.xxh64(flat)};".encode())
    elif is_dataclass(value) and not isinstance(value, type):
        _feed(digest, [type(value).__name__, {item.name: getattr(value, item.name) for item in fields(value)}])
    elif isinstance(value, Mapping):
        _feed(digest, sorted((str(name), part) for name, part in value.items()))
    elif isinstance(value, list | tuple | np.ndarray):
        digest.update(f"list {len(value)};".encode())
        for part in value:
            _feed(digest, part)
    else:
        digest.update(f"{value!r};".encode())
