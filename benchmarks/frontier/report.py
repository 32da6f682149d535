"""The third step: print the measurements as tables, and whether the goal is met."""

from __future__ import annotations

from typing import Any

from benchmarks.frontier.goal import FACTORS, NOISE, WITHIN, Point, Race, Verdict, check, on_frontier
from benchmarks.tables import print_head

TITLES = {
    "batch": "batch",
    "batch2": "batch, 2 threads",
    "single": "single calls, p50",
    "p99": "single calls, p99",
}
PRECISIONS = {"p1": "P@1", "p5": "P@5"}
MARKS = [(x, y) for x in ("batch", "single") for y in PRECISIONS]
# The goal is about batches and single calls; two threads and the slowest calls are reported with the same factors.
RACES = {"batch": FACTORS["batch"], "batch2": FACTORS["batch"], "single": FACTORS["single"], "p99": FACTORS["single"]}


def summary(measured: dict[str, dict[str, Any]]) -> None:
    """Print what is compared, and how far the goal is met on all sets."""
    print(
        "All contestants return the five best labels for the same queries: in batches of all queries on one thread "
        "and, if supported, on two; and in single Python calls, one per query, on one thread. Ours, PECOS, omikuji, "
        "napkinXC and LibMultiLabel read features; 'ours, from texts' and fastText read texts. "
        "Each model is trained once (seed 0), so differences in precision of a few tenths are noise.\n\n"
        f"The goal: at every precision within {WITHIN:g} of a peer's best, ours is at least {FACTORS['batch']:g} times "
        f"as fast in batches and {FACTORS['single']:g} times in single calls (median); at equal time it is more "
        "precise. The table counts a peer's points where the goal is met (in brackets: if ours may be "
        f"{NOISE:g} less precise):\n"
    )
    print_head("data | time | precision | fast enough | more precise at equal time")
    for set_name, of_set in measured.items():
        for x, factor in FACTORS.items():
            for y in PRECISIONS:
                verdicts = check(of_set["points"], x, y, factor)
                near, slow, noise, all_races, late = (
                    sum(len(getattr(verdict, name)) for verdict in verdicts)
                    for name in ("near", "slow", "slow_noise", "races", "not_more_precise")
                )
                print(
                    f"| {set_name} | {TITLES[x]} | {PRECISIONS[y]} | {near - slow} ({near - noise}) of {near} "
                    f"| {all_races - late} of {all_races} |"
                )


def report(set_name: str, measured: dict[str, Any]) -> None:
    """Print the section of one set."""
    facts, points = measured["facts"], measured["points"]
    print(
        f"\n## {set_name}: {facts['points']:,} points, {facts['features']:,} features, {facts['labels']:,} labels\n\n"
        f"{facts['queries']:,} queries with {facts['nonzeros']:.0f} nonzeros on average, {facts['single_calls']:,} of "
        f"them in single calls (LibMultiLabel: 100); {len(points)} points, best of {facts['repeats']} "
        "turns. For `agreement`, our models were calibrated with "
        f"{facts['calibration']:,} other test points without their labels.\n"
    )
    for y, title in PRECISIONS.items():
        print(f"![{title} against microseconds, {set_name}](frontier-{set_name}-{y}.png)\n")
    for name, why in measured["left_out"].items():
        print(f"Left out: {name}, {why}.\n")
    verdicts = [verdict for x in RACES for y in PRECISIONS for verdict in check(points, x, y, RACES[x])]
    print_goal(verdicts)
    print_misses([verdict for verdict in verdicts if verdict.x in FACTORS])
    print_frontier(points)
    print_points(points)


def print_goal(verdicts: list[Verdict]) -> None:
    """Print how far the goal is met against each peer."""
    print(
        f"### The goal\n\nSpeed compares each of a peer's points within {WITHIN:g} of its best precision with our "
        f"fastest point that is at least as precise (in brackets: if ours may be {NOISE:g} less precise). Equal time "
        "compares each of the peer's points with our most precise point that takes no longer.\n"
    )
    print_head(
        "peer | time | precision | goal | points | times as fast: lowest / median | goal met | verdict "
        "| equal time: ours more precise | smallest gain"
    )
    for v in verdicts:
        least, least_noise = (min(getattr(race, name) for race in v.near) for name in ("ratio", "ratio_noise"))
        met, met_noise = len(v.near) - len(v.slow), len(v.near) - len(v.slow_noise)
        verdict = "met" if not v.slow else f"met within {NOISE:g}" if not v.slow_noise else "missed"
        won = len(v.races) - len(v.not_more_precise)
        gains = [race.gain for race in v.races]
        least_gain = "none as fast" if None in gains else f"{min(gain for gain in gains if gain is not None):+.2f}"
        print(
            f"| {v.contestant} | {TITLES[v.x]} | {PRECISIONS[v.y]} | {v.factor:g} x | {len(v.near)} "
            f"| {times(least)} ({times(least_noise)}) / {times(v.median_ratio)} | {met} ({met_noise}) of {len(v.near)} "
            f"| {verdict} | {won} of {len(v.races)} | {least_gain} |"
        )
    print()


def times(ratio: float) -> str:
    """Return a ratio as text; 0 means that no point of ours is as precise."""
    return "none as precise" if ratio == 0 else f"{ratio:.1f}" if ratio < 100 else f"{ratio:.0f}"


def print_misses(verdicts: list[Verdict]) -> None:
    """Print the peers' points where the goal is missed."""
    slow = [race for verdict in verdicts for race in verdict.slow]
    late = [race for verdict in verdicts for race in verdict.not_more_precise]
    if not slow and not late:
        print("The goal is met at all points.\n")
        return
    if slow:
        print("Points of peers where ours is not fast enough:\n")
        print_head(
            "peer | time | precision | value | us | our fastest as precise | us | ratio | 0.1 less precise | ratio"
        )
        for race in slow:
            print(
                f"{_raced(race)} | {_named(race.fastest)} | {_time(race, race.fastest)} | {times(race.ratio)} "
                f"| {_named(race.fastest_noise)} | {times(race.ratio_noise)} |"
            )
        print()
    if late:
        print("Points of peers where ours is not more precise in the same time:\n")
        print_head("peer | time | precision | its value | us | our most precise in that time | difference")
        for race in late:
            gain = "" if race.gain is None else f"{race.gain:+.2f}"
            print(f"{_raced(race)} | {_named(race.most_precise)} | {gain} |")
        print()


def _raced(race: Race) -> str:
    peer = race.peer
    time = f"{peer[race.x]:.1f}"
    return f"| {peer['model']}, {peer['search']} | {race.x} | {PRECISIONS[race.y]} | {peer[race.y]:.2f} | {time}"


def _named(point: Point | None) -> str:
    return "none" if point is None else f"{point['model']}, {point['search']}"


def _time(race: Race, point: Point | None) -> str:
    return "" if point is None else f"{point[race.x]:.1f}"


def print_frontier(points: list[Point]) -> None:
    """Print how many points of each contestant are on the frontier of all."""
    print("Points on the frontier of all contestants (features and texts together):", end=" ")
    parts = []
    for x, y in MARKS:
        owners = [point["contestant"] for point in on_frontier(points, x, y)]
        counts = ", ".join(f"{name} {owners.count(name)}" for name in dict.fromkeys(owners))
        parts.append(f"{TITLES[x]}, {PRECISIONS[y]}: {counts}")
    print("; ".join(parts) + ".\n")


def print_points(points: list[Point]) -> None:
    """Print all points, and which frontiers they are on."""
    marks = [{id(point) for point in on_frontier(points, x, y)} for x, y in MARKS]
    names = " / ".join(f"{x} {PRECISIONS[y]}" for x, y in MARKS)
    print(f"<details><summary>All points</summary>\n\nOn the frontier of all contestants: {names}.\n")
    print_head("model | search | P@1 / 3 / 5 | batch us | 2 threads | single p50 | p99 | frontier")
    for p in points:
        name = f"{p['contestant']}: {p['model']}" if p["ours"] else p["model"]
        two = "" if p["batch2"] is None else f"{p['batch2']:.2f}"
        on = " / ".join("x" if id(p) in marked else "-" for marked in marks)
        print(
            f"| {name} | {p['search']} | {p['p1']:.2f} / {p['p3']:.2f} / {p['p5']:.2f} | {p['batch']:.2f} | {two} "
            f"| {p['single']:.1f} | {p['p99']:.1f} | {on if 'x' in on else ''} |"
        )
    print("\n</details>")
