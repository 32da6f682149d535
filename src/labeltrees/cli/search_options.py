"""Options for how labels are searched."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import click

from labeltrees.cli.options import Command, NumberOrWord, add_options, given_options, refuse_option
from labeltrees.models.common.protocol import Model

_OPTIONS = [
    click.option(
        "--beam",
        type=NumberOrWord(int, "N|none"),
        metavar="N|none",
        help="Maximum number of nodes opened per depth; none: exact search. [default: the model's]",
    ),
    click.option(
        "--agreement",
        type=float,
        metavar="SHARE",
        help="Stop early, so that at least this share of the lists is the same as with exact search. Run labeltrees "
        "calibrate first.",
    ),
]


@dataclass(frozen=True)
class SearchOptions:
    """The search options that the user has set."""

    given: dict[str, Any]

    @property
    def agreement(self) -> float | None:
        """The requested agreement with exact search."""
        return self.given.get("agreement")

    def for_model(self, model: Model, k: int, candidates: Any = None) -> tuple[int, dict[str, Any]]:
        """Return how many labels to search for, and the arguments of the model's searcher."""
        if "beam" in self.given and "beam" not in model.get_params(deep=False):
            refuse_option("--beam", f"a {model.KIND}", "its search is always exact")
        how_to_search: Any = getattr(model, "how_to_search")  # noqa: B009 (not in the protocol)
        arguments: tuple[int, dict[str, Any]] = how_to_search(k, **self.given, candidates=candidates)
        return arguments


def search_options(command: Command) -> Command:
    """Add the options for how labels are searched; the command gets them as one SearchOptions named `search`."""

    @functools.wraps(command)
    def packed(*arguments: Any, **parameters: Any) -> Any:
        own = {name: parameters.pop(name) for name in ("beam", "agreement")}
        return command(*arguments, search=SearchOptions(given_options(own)), **parameters)

    return add_options(_OPTIONS)(packed)  # type: ignore[return-value]
