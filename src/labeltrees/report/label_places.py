"""Places for the texts beside the points of a chart, so that they do not cover points or each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

_LINE, _CHARACTER = 12, 6.2  # pixels
_GAP = 2
_SIDES = [(1, 0), (1, -1), (1, 1), (0, -1), (0, 1), (-1, -1), (-1, 0), (-1, 1)]  # directions; downwards is positive


class Box(NamedTuple):
    """A rectangle in pixels."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Box) -> bool:
        """Whether two rectangles share an area."""
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


def place_labels(
    points: Sequence[tuple[float, float]],
    radii: Sequence[float],
    texts: Sequence[str],
    first: Sequence[int],
    width: float,
    height: float,
) -> list[tuple[float, float] | None]:
    """Return the centre of each text in pixels, None where there is no free place.

    Parameters
    ----------
    points, radii : pixels of the points, from the upper left corner, and how large they are
    texts : the text of each point
    first : points in the order in which their texts are placed; the others follow
    width, height : of the chart

    Examples
    --------
    >>> place_labels([(50, 50), (56, 50)], [4, 4], ["0", "1"], [], 100, 100)
    [(59.1, 38.0), (65.1, 50.0)]
    """
    taken = [Box(x - r, y - r, x + r, y + r) for (x, y), r in zip(points, radii, strict=True)]
    found: list[tuple[float, float] | None] = [None] * len(points)
    for index in dict.fromkeys([*first, *range(len(points))]):
        (x, y), half, gap = points[index], len(texts[index]) * _CHARACTER / 2, radii[index] + _GAP
        for right, down in _SIDES:
            across, along = float(x + right * (half + gap)), float(y + down * (_LINE / 2 + gap))
            box = Box(across - half, along - _LINE / 2, across + half, along + _LINE / 2)
            inside = box.left >= 0 and box.right <= width and box.top >= 0 and box.bottom <= height
            if inside and not any(box.overlaps(other) for place, other in enumerate(taken) if place != index):
                taken.append(box)
                found[index] = (across, along)
                break
    return found
