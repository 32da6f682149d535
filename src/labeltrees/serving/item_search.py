"""ItemSearch: finds the names of items while someone types."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import Any

_SEPARATOR = "\n"


class ItemSearch:
    """Finds names that begin with a text, and then those that contain it; upper and lower case are the same.

    Parameters
    ----------
    names : iterable of str

    Examples
    --------
    >>> ItemSearch(["rye bread", "Bread", "milk"]).find("br", 5)
    ['Bread', 'rye bread']
    """

    def __init__(self, names: Any) -> None:
        self._names = [str(name) for name in names]
        folded = [name.casefold().replace(_SEPARATOR, " ") for name in self._names]
        self._text = _SEPARATOR + _SEPARATOR.join(folded)
        self._ends = list(accumulate(len(name) + 1 for name in folded))

    def find(self, text: str, limit: int) -> list[str]:
        """Return at most `limit` names."""
        wanted = text.casefold().replace(_SEPARATOR, " ")
        found: dict[int, None] = {}  # numbers of names, in order
        for part in (_SEPARATOR + wanted, wanted) if wanted else (_SEPARATOR,):
            at = self._text.find(part)
            while at >= 0 and len(found) < limit:
                number = bisect_right(self._ends, at)
                found[number] = None
                at = self._text.find(part, self._ends[number])  # goes on with the next name
        return [self._names[number] for number in found]
