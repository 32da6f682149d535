"""What is asked of a search."""

from __future__ import annotations

from dataclasses import dataclass

from labeltrees._validation import check_choice, check_integer, refuse

MODES = ("best_first", "beam")


@dataclass(frozen=True)
class SearchRequest:
    """How many labels to return and how to look for them.

    Parameters
    ----------
    k : int
        Labels to return for a query.
    mode : {"best_first", "beam"}
        ``"best_first"`` opens the best open node until none can hold a label that belongs in the list. ``"beam"`` goes
        level by level.
    beam : int, optional
        Open at most so many nodes of each depth: the first in the order of falling score, which are the best of that
        depth. Both modes return the same lists for the same beam. None: no bound, and the k best of all labels are
        found exactly.
    prune : bool
        For ``"beam"``: do not open nodes below the k-th label found. The lists stay the same.
    max_chunks : int, optional
        Open at most so many nodes for a query, and return the best labels found by then.
    max_microseconds : int, optional
        The same by time. A chunk once begun is finished.
    """

    k: int = 5
    mode: str = "best_first"
    beam: int | None = None
    prune: bool = True
    max_chunks: int | None = None
    max_microseconds: int | None = None

    def __post_init__(self) -> None:
        check_integer("k", self.k, 1, 2**31 - 1)
        check_choice("mode", self.mode, MODES)
        for name in ("beam", "max_chunks", "max_microseconds"):
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name), 1, 2**62)
        if not isinstance(self.prune, bool):
            refuse("prune", "True or False", self.prune)

    def native(self) -> tuple[int, str, int, bool, int, int]:
        """Return the fields in the order of the native calls, 0 for no bound."""
        microseconds = min(self.max_microseconds or 0, 2**50)
        return int(self.k), self.mode, self.beam or 0, self.prune, self.max_chunks or 0, microseconds
