"""The settings of a sweep: a grid of tradeoffs, fanouts and the paper's variants."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from labeltrees._validation import Fanout, check_choice, check_fanout, check_number, refuse

COVERS, PATHS = ("marginal", "greedy"), ("weighted", "direct")


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


@dataclass(frozen=True)
class Setting:
    """The parameters of one model of a sweep; None for parameters that its model family does not have."""

    tradeoff: float
    fanout: Fanout | None = None
    cover: str | None = None
    path: str | None = None

    @property
    def name(self) -> str:
        """The name of the setting in tables and in the folder of a sweep."""
        parts = [f"tradeoff-{self.tradeoff:.8g}"]
        if self.fanout is not None:
            parts.append(f"fanout-{self.fanout}")
        return "_".join([*parts, *(part for part in (self.cover, self.path) if part is not None)])

    @property
    def parameters(self) -> dict[str, Any]:
        """The estimator parameters that it sets."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def trained_as(self) -> Setting:
        """Return the first setting that gives the same model: not every tree uses the cover frequencies.

        Examples
        --------
        >>> Setting(0.5, 16, "greedy", "weighted").trained_as().cover
        'marginal'
        """
        if self.cover is None or self.path is None:
            return self
        if self.tradeoff == 0:
            return Setting(0.0, self.fanout, COVERS[0], PATHS[0])
        if self.tradeoff <= 1 and self.path == "weighted":
            return Setting(self.tradeoff, self.fanout, COVERS[0], self.path)
        return self


def describe_setting(record: dict[str, Any]) -> str:
    """Return the tradeoff and the fanout of a record in words.

    Examples
    --------
    >>> describe_setting({"tradeoff": 0.5, "fanout": 16})
    'tradeoff 0.5, fanout 16'
    """
    fanout = "" if record["fanout"] is None else f", fanout {record['fanout']}"
    return f"tradeoff {record['tradeoff']:.4g}{fanout}"


def make_settings(
    estimator: Any, tradeoffs: Any, fanouts: Any, covers: Any = COVERS[:1], paths: Any = PATHS[:1]
) -> list[Setting]:
    """Return every combination once, in the given order; `fanouts` None means the estimator's own."""
    known = estimator.get_params(deep=False)
    if "tradeoff" not in known:
        refuse("estimator", "a model with the parameter tradeoff", estimator)
    if known.get("tree") is not None:
        refuse("estimator", "a model that builds its tree (tree=None)", estimator)
    grid: list[Sequence[Any]] = [
        [check_number("tradeoffs", value, 0, 2) for value in _listed("tradeoffs", tradeoffs)],
        _fanouts(known, fanouts),
    ]
    for name, values, choices in (("cover", covers, COVERS), ("path", paths, PATHS)):
        listed = [check_choice(f"{name}s", value, choices) for value in _listed(f"{name}s", values)]
        if name not in known and listed != [choices[0]]:
            refuse(f"{name}s", f"{choices[:1]} for a {type(estimator).__name__}", values)
        grid.append(listed if name in known else [None])
    return list(dict.fromkeys(Setting(*values) for values in itertools.product(*grid)))


def _fanouts(known: dict[str, Any], fanouts: Any) -> list[Fanout | None]:
    if "fanout" not in known:
        if fanouts is not None and list(_listed("fanouts", fanouts)) != [2]:
            refuse("fanouts", "None or 2 for a model with binary trees", fanouts)
        return [None]
    if fanouts is None:
        return [known["fanout"]]
    return [check_fanout("fanouts", value, 2**31 - 1) for value in _listed("fanouts", fanouts)]


def _listed(name: str, values: Any) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        values = [values]
    listed = list(values)
    if not listed:
        refuse(name, "a list of at least one value", values)
    return listed
