"""The goal: near a peer's best precision ours is many times as fast, and at equal time it is more precise.

A point is a record: "contestant", "model", "search", "ours", "texts" (reads texts, not features), precision in percent
("p1", "p3", "p5") and microseconds per query ("batch", "batch2", "single", "p99"), or None if not measured. A peer that
reads texts is compared with our models that read texts, other peers with our models that read features.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from labeltrees.tuning.result import frontier

Point = dict[str, Any]

FACTORS = {"batch": 8.0, "single": 20.0}  # required ratio of a peer's time to ours
WITHIN = 1.0  # the goal of speed is for points this close to the peer's best precision
NOISE = 0.1  # precision that ours may lack in the second, tolerant reading of the goal


@dataclass(frozen=True)
class Race:
    """A peer's point, our fastest points that are as precise, and our most precise point that is as fast."""

    peer: Point
    x: str
    y: str
    near_best: bool  # whether the point counts for the goal of speed
    fastest: Point | None  # ours, at least as precise
    fastest_noise: Point | None  # ours, at most `NOISE` less precise
    most_precise: Point | None  # ours, in no more time

    @property
    def ratio(self) -> float:
        """How many times as fast ours is at the same precision; 0 if no point of ours is as precise."""
        return self._ratio(self.fastest)

    @property
    def ratio_noise(self) -> float:
        """The same if ours may be `NOISE` less precise."""
        return self._ratio(self.fastest_noise)

    @property
    def gain(self) -> float | None:
        """How much more precise ours is in the same time; None if no point of ours is as fast."""
        return None if self.most_precise is None else self.most_precise[self.y] - self.peer[self.y]

    def _ratio(self, ours: Point | None) -> float:
        return 0.0 if ours is None else self.peer[self.x] / ours[self.x]


@dataclass(frozen=True)
class Verdict:
    """All races against one peer, for one kind of time and one precision."""

    contestant: str
    x: str
    y: str
    factor: float
    races: list[Race] = field(repr=False)

    @property
    def near(self) -> list[Race]:
        """The races that count for the goal of speed."""
        return [race for race in self.races if race.near_best]

    @property
    def slow(self) -> list[Race]:
        """The races near the peer's best where ours is not faster by the factor."""
        return [race for race in self.near if race.ratio < self.factor]

    @property
    def slow_noise(self) -> list[Race]:
        """The same if ours may be `NOISE` less precise."""
        return [race for race in self.near if race.ratio_noise < self.factor]

    @property
    def not_more_precise(self) -> list[Race]:
        """The races in which no point of ours is more precise in the same time."""
        return [race for race in self.races if race.gain is None or race.gain <= 0]

    @property
    def median_ratio(self) -> float:
        """The median of the ratios near the peer's best."""
        return statistics.median(race.ratio for race in self.near)


def check(points: Sequence[Point], x: str, y: str, factor: float) -> list[Verdict]:
    """Return a verdict for each peer that was measured."""
    known = [point for point in points if point[x] is not None and point[y] is not None]
    peers = dict.fromkeys(point["contestant"] for point in known if not point["ours"])
    return [
        Verdict(peer, x, y, factor, races(known, [p for p in known if p["contestant"] == peer], x, y)) for peer in peers
    ]


def races(points: Sequence[Point], peer_points: Sequence[Point], x: str, y: str) -> list[Race]:
    """Return the races of one peer's points against ours."""
    best = max(point[y] for point in peer_points)
    found = []
    for peer in peer_points:
        ours = [point for point in points if point["ours"] and point["texts"] == peer["texts"]]
        found.append(
            Race(
                peer,
                x,
                y,
                near_best=peer[y] >= best - WITHIN,
                fastest=fastest_from(ours, x, y, peer[y]),
                fastest_noise=fastest_from(ours, x, y, peer[y] - NOISE),
                most_precise=most_precise_within(ours, x, y, peer[x]),
            )
        )
    return found


def fastest_from(points: Sequence[Point], x: str, y: str, level: float) -> Point | None:
    """Return the fastest point at least as precise as `level`."""
    return min((point for point in points if point[y] >= level), key=lambda point: point[x], default=None)


def most_precise_within(points: Sequence[Point], x: str, y: str, time: float) -> Point | None:
    """Return the most precise point that takes at most `time`; of equally precise points the fastest."""
    fast = [point for point in points if point[x] <= time]
    return max(fast, key=lambda point: (point[y], -point[x]), default=None)


def on_frontier(points: Sequence[Point], x: str, y: str) -> list[Point]:
    """Return the points that no other point beats in both time and precision, by rising time."""
    return frontier(points, x, y)
