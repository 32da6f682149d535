"""Candidates: parameters of an estimator, as grids and by name.

A candidate is a dict of parameters that are given to `estimator.set_params`, such as ``{"tradeoff": 1.0, "C": 0.3}``.
One more key is known: ``"features"``, the name of a kind of features that are made from the texts of the data.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from sklearn.base import clone

from labeltrees._validation import check_choice, check_fanout, check_number, refuse
from labeltrees.models.common.settings import ClassifierSettings
from labeltrees.models.linear.settings import Solver, solver_of
from labeltrees.tree.settings import builder_of, is_given

Parameters = dict[str, Any]
COVERS, PATHS = ("marginal", "greedy"), ("weighted", "direct")
FEATURES = "features"
# The columns of a table about the tree, and the parameters with their values.
TREE_PARAMETERS = {"tradeoff": "tradeoff", "fanout": "fanout", "cover": "tree__cover", "path": "tree__path"}


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
    if not builds_tree(estimator):
        refuse("estimator", "a model that builds its tree (tree=None or a TreeBuilder)", estimator)
    axes = {"tradeoff": check_tradeoffs("tradeoffs", tradeoffs), **_fanouts(known, fanouts)}
    if not isinstance(grid, Mapping | None):
        refuse("grid", "a dict of lists of parameters, such as {'C': [0.3, 1]}", grid)
    for name, values in (grid or {}).items():
        if name not in all_parameters(estimator) or name in axes:
            refuse("grid", f"parameters of a {type(estimator).__name__} besides {', '.join(axes)}", name)
        axes[name] = listed(f"grid[{name!r}]", values)
    found: dict[str, Parameters] = {}
    for values in itertools.product(*axes.values()):
        parameters = dict(zip(axes, values, strict=True))
        found.setdefault(setting_name(estimator, parameters), parameters)
    return found


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
    """Return values as a list of at least one."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        values = [values]
    found = list(values)
    if not found:
        refuse(name, "a list of at least one value", values)
    return found


def builds_tree(estimator: Any) -> bool:
    """Whether an estimator builds its tree, so that the tradeoff matters."""
    return not is_given(estimator.get_params(deep=False).get("tree"))


def takes_builder(estimator: Any) -> bool:
    """Whether the parameter `tree` of an estimator may be a `TreeBuilder`: it is one of this library's."""
    return isinstance(estimator, ClassifierSettings)


def all_parameters(estimator: Any) -> Parameters:
    """Return the parameters that `set_params` takes, also those of a `TreeBuilder` and a `Solver` that are not there.

    Examples
    --------
    >>> import labeltrees as lt
    >>> all_parameters(lt.LabelTreeClassifier())["tree__cover"]
    'marginal'
    """
    known: Parameters = estimator.get_params()
    if takes_builder(estimator) and builds_tree(estimator):
        known |= {f"tree__{name}": value for name, value in builder_of(known["tree"]).get_params().items()}
    if isinstance(known.get("loss"), str | Solver):
        known |= {f"loss__{name}": value for name, value in solver_of(known["loss"]).get_params().items()}
    return known


def configured(estimator: Any, parameters: Parameters) -> Any:
    """Return a copy of an estimator with the parameters of a candidate, without its features."""
    own = {name: value for name, value in parameters.items() if name != FEATURES}
    return clone(estimator).set_params(**own, verbose=0)


def tree_columns(estimator: Any, parameters: Parameters) -> dict[str, Any]:
    """Return tradeoff, fanout, cover and path of a candidate; None for parameters that its model family does not have.

    Examples
    --------
    >>> import labeltrees as lt
    >>> tree_columns(lt.LabelTreeClassifier(), {"tradeoff": 0.5, "fanout": 16})
    {'tradeoff': 0.5, 'fanout': 16, 'cover': 'marginal', 'path': 'weighted'}
    """
    known = {**all_parameters(estimator), **parameters}
    return {name: known.get(key) for name, key in TREE_PARAMETERS.items()}


def plain(value: Any) -> Any:
    """Return the value of a parameter for a table."""
    return value if isinstance(value, bool | int | float | str | None) else repr(value)


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
    others = [f"{name}-{plain(value)}" for name, value in parameters.items() if name not in TREE_PARAMETERS.values()]
    return "_".join([*parts, *others])


def words_of(parameters: Parameters) -> str:
    """Return a candidate in words.

    Examples
    --------
    >>> words_of({"loss": "logistic", "C": 0.3})
    'loss logistic, C 0.3'
    """
    return ", ".join(f"{name} {value}" for name, value in parameters.items()) or "as given"


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
    """Return the first candidate that gives the same model: not every tree uses the cover frequencies.

    Examples
    --------
    >>> import labeltrees as lt
    >>> without_effect(lt.LabelTreeClassifier(), {"tradeoff": 0.5, "tree__cover": "greedy"})
    {'tradeoff': 0.5, 'tree__cover': 'marginal'}
    """
    tree = tree_columns(estimator, parameters)
    if tree["cover"] is None or tree["path"] is None or tree["tradeoff"] is None:
        return parameters
    first = {}
    if tree["tradeoff"] == 0:
        first = {"cover": COVERS[0], "path": PATHS[0]}
    elif tree["tradeoff"] <= 1 and tree["path"] == "weighted":
        first = {"cover": COVERS[0]}
    return {**parameters, **{f"tree__{name}": value for name, value in first.items() if tree[name] != value}}
