"""A short call of `prepare_logs`, and what it should return, worked out in plain Python event by event."""

from collections import Counter, defaultdict
from dataclasses import fields

import labeltrees as lt


def prepare(events, **settings):
    """Call `prepare_logs` with those settings that belong to `Columns` in one."""
    names = [item.name for item in fields(lt.Columns) if item.name in settings]
    return lt.prepare_logs(events, lt.Columns(**{name: settings.pop(name) for name in names}), **settings)


def twin(events, *, min_engagement=0, min_item_contexts=1, cut=None, test_since=None, since=None, until=None):
    """Return points {(context, window): (labels, history, events)} and the counts of events dropped and used.

    events : list of (context, item, weight, time) with None for what is missing; times are numbers.
    """
    counts = Counter()
    clean = []
    for context, item, weight, time in events:
        if context is None:
            counts["no context"] += 1
        elif item is None:
            counts["no item"] += 1
        elif time is None:
            counts["no time"] += 1
        elif (since is not None and time < since) or (until is not None and time >= until):
            counts["outside the period"] += 1
        elif weight is None:
            counts["weight missing or not a number"] += 1
        elif weight <= 0:
            counts["weight not above 0"] += 1
        else:
            window = 1
            if test_since is not None and time >= test_since:
                window = 2
            if cut is not None and time < cut:
                window = 0
            clean.append((context, item, weight, window))
    engagement, n_events = defaultdict(float), Counter()
    for context, item, weight, window in clean:
        engagement[context, item, window] += weight
        n_events[context, item, window] += 1
    windows = defaultdict(set)
    for context, _, window in engagement:
        windows[context].add(window)
    featured = {pair: cut is None or min(windows[pair[0]]) < pair[2] for pair in engagement}
    strong = {
        pair: featured[pair] and pair[2] > 0 and engagement[pair] >= min_engagement * (1 - 1e-9) for pair in engagement
    }
    points_of_item = Counter(pair[1] for pair in engagement if strong[pair])
    carried = {pair for pair in engagement if strong[pair] and points_of_item[pair[1]] >= min_item_contexts}
    labels = defaultdict(set)
    for context, item, window in carried:
        labels[context, window].add(item)
    points = {}
    for context, window in labels:
        history = defaultdict(float)
        frequency = 0
        for (other, item, then), amount in engagement.items():
            if other == context and then < window and cut is not None:
                history[item] += amount
            if other == context and then == window:
                frequency += n_events[other, item, then]
        points[context, window] = (labels[context, window], dict(history), frequency)
    for pair, count in n_events.items():
        context, _, window = pair
        if pair in carried:
            counts["used for labels"] += count
        elif cut is not None and any(other == context and later > window for other, later in points):
            counts["used for history"] += count
        elif window == 0:
            counts["history of a context without items"] += count
        elif not featured[pair]:
            counts["context without features"] += count
        elif not strong[pair]:
            counts["pair of low engagement"] += count
        else:
            counts["rare item"] += count
    return points, counts
