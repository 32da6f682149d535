"""Options for how labels are searched, generated from `SearchRequest`."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from labeltrees._settings import settings_of
from labeltrees.cli.options import given_options, refuse_option, setting_options
from labeltrees.models.common.protocol import Model
from labeltrees.search.request import SearchRequest

# Settings of a search that commands offer in another way (k, candidates), or not at all.
_SKIPPED = ("k", "search", "prune", "max_chunks", "max_microseconds", "candidates", "exclude", "label_weight")
_NAMES = tuple(item.name for item in settings_of(SearchRequest) if item.name not in _SKIPPED)


@dataclass(frozen=True)
class SearchOptions:
    """The search options that the user has set."""

    given: dict[str, Any]

    def make_request(self, model: Model, k: int, **labels: Any) -> SearchRequest:
        """Return the request for k labels, completed by the model; `labels` are candidates, exclude, label_weight."""
        unsupported = next((name for name in self.given if name in model.UNSUPPORTED), None)
        if unsupported is not None:
            refuse_option("--" + unsupported.replace("_", "-"), f"a {model.KIND}", "its search is always exact")
        return model.complete_request(SearchRequest(k, **self.given, **labels))


def search_options(command: Any) -> Any:
    """Add the options for how labels are searched; the command gets them as one SearchOptions named `search`."""

    @functools.wraps(command)
    def packed(*arguments: Any, **parameters: Any) -> Any:
        given = given_options({name: parameters.pop(name) for name in _NAMES})
        return command(*arguments, search=SearchOptions(given), **parameters)

    return setting_options(SearchRequest, skip=_SKIPPED)(packed)
