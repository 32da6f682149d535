"""One paragraph on what was tried, what was chosen, and why."""

from __future__ import annotations

from typing import NamedTuple

from labeltrees.tuning.limits import Verdict
from labeltrees.tuning.paired_bound import CONFIDENCE
from labeltrees.tuning.quality import split_metric


class Round(NamedTuple):
    """How many settings were tried on how many points."""

    n_settings: int
    n_points: int


def explain(verdict: Verdict, rounds: list[Round], n_validation: int, n_all: int, split_off: bool) -> str:
    """Return the paragraph.

    Parameters
    ----------
    verdict : Verdict
        Of the last round.
    rounds : list of Round
    n_validation, n_all : int
        Points measured on, and points the model was trained on in the end.
    split_off : bool
        Whether the points measured on were taken from the training data.
    """
    chosen = verdict.choose()
    limits, difference = verdict.limits, verdict.differences[chosen]
    held_out = "held out at random" if split_off else "given for it"
    sentences = [f"{_tried(rounds)}, measured on {n_validation:,} points {held_out}."]
    metric = _name(limits.metric)
    best = f"The highest {metric} was {_percent(verdict.metric(verdict.best))} ({_called(verdict, verdict.best)}, "
    sentences.append(best + f"{verdict.time(verdict.best):.1f} us a call for {limits.k} labels).")
    what = (
        f"Chosen: {_called(verdict, chosen)}, with {metric} {_percent(verdict.metric(chosen))} and a single call in "
        f"{verdict.time(chosen):.1f} us (99th percentile {verdict.time(chosen, 99):.1f} us)"
    )
    if limits.max_precision_loss is None:
        n_fast = sum(verdict.is_fast(name) for name in verdict.differences)
        only = "the only setting" if n_fast == 1 else f"the most precise of the {n_fast} settings"
        why = f"{only} within {limits.max_latency_us:g} us"
    else:
        kept = [name for name in verdict.differences if verdict.is_close(name) and verdict.is_fast(name)]
        only = "the only setting that is" if len(kept) == 1 else f"the fastest of the {len(kept)} settings that are"
        if verdict.time(chosen) > min(verdict.time(name) for name in kept):
            only = f"the most precise of those about as fast as the fastest of the {len(kept)} settings that are"
        why = (
            f"{only}, with {100 * CONFIDENCE:.0f} % confidence from points compared in pairs, at most "
            f"{_points(limits.max_precision_loss)} below the highest"
        )
        if limits.max_latency_us is not None:
            why += f" and within {limits.max_latency_us:g} us"
        if chosen != verdict.best:
            why += f" (it is {_points(-difference.mean)} below on average, and at most {_points(-difference.lower)})"
    sentences.append(f"{what}: {why}.")
    sentences.append(f"It was then trained on all {n_all:,} points; the figures are from before that.")
    return " ".join(sentences)


def _tried(rounds: list[Round]) -> str:
    first, *others = rounds
    text = f"Tried {_settings(first.n_settings)} on {first.n_points:,} points"
    for later in others:
        text += f", then the {later.n_settings} most promising on {later.n_points:,}"
    return text


def _called(verdict: Verdict, name: str) -> str:
    record = verdict.result.record(name)
    fanout = "" if record["fanout"] is None else f", fanout {record['fanout']}"
    return f"tradeoff {record['tradeoff']:.4g}{fanout}"


def _settings(count: int) -> str:
    return f"{count} setting" + ("" if count == 1 else "s")


def _name(metric: str) -> str:
    kind, k = split_metric(metric)
    return f"{'nDCG' if kind == 'ndcg' else 'P'}@{k}"


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def _points(share: float) -> str:
    return f"{round(100 * share, 2) + 0.0:.2f} percentage points"  # never -0.00
