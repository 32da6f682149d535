"""The explanation of a choice: what was tried, what was chosen and why, in one paragraph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from labeltrees.tuning.limits import SAME_TIME, Verdict
from labeltrees.tuning.paired_bound import CONFIDENCE
from labeltrees.tuning.quality import metric_title
from labeltrees.tuning.settings import describe_setting
from labeltrees.tuning.time_budget import TimeBudget


class Round(NamedTuple):
    """How many settings were tried, on how many training points."""

    n_settings: int
    n_points: int


def explain(
    verdict: Verdict,
    rounds: list[Round],
    n_validation: int,
    n_all: int,
    held_out: str,
    before: Sequence[str] = (),
    after: Sequence[str] = (),
    budget: TimeBudget | None = None,
) -> str:
    """Return the paragraph.

    Parameters
    ----------
    verdict : Verdict
        Of the last round.
    rounds : list of Round
    n_validation, n_all : int
        The numbers of validation points, and of points that the final model was trained on.
    held_out : str
        How the validation points were held out from the training data; "" if they were given.
    before, after : sequences of str
        Sentences about the parameters that were chosen before and after those of the tree.
    budget : TimeBudget, optional
    """
    chosen, limits = verdict.choose(), verdict.limits
    metric = metric_title(limits.metric)
    validation = f"{_count(n_validation, 'point')} held out {held_out}" if held_out else "the given validation data"
    if not held_out:
        validation += f" ({_count(n_validation, 'point')})"
    return " ".join(
        [
            *before,
            f"{_tried(rounds)}, each measured on {validation}.",
            f"The highest {metric} was {_percent(verdict.metric(verdict.best))} "
            f"({_describe(verdict, verdict.best)}; {verdict.time(verdict.best):.1f} us per call for "
            f"{_count(limits.k, 'label')}).",
            f"Chosen: {_describe(verdict, chosen)}, with {metric} {_percent(verdict.metric(chosen))} and "
            f"{verdict.time(chosen):.1f} us per call (99th percentile {verdict.time(chosen, 99):.1f} us).",
            *_reasons(verdict, chosen, metric),
            *after,
            *_skipped(budget),
            *([] if verdict.result.comparison is None else [verdict.result.comparison]),
            f"The final model was then trained on all {_count(n_all, 'point')}; these figures are from before that.",
        ]
    )


def explain_costs(stats: dict[str, Any]) -> str:
    """Return the sentence about ``C="auto"`` for the `stats_` of the final model, or nothing if C was given.

    Examples
    --------
    >>> explain_costs({"C": [0.3, 1.0], "C_tried": [0.1, 0.3, 1.0]})
    ' Its C, chosen by the loss on held-out training points, is 0.3, 1 by depth of the tree.'
    """
    if "C_tried" not in stats:
        return ""
    costs = ", ".join(f"{cost:g}" for cost in stats["C"])
    return f" Its C, chosen by the loss on held-out training points, is {costs} by depth of the tree."


def _skipped(budget: TimeBudget | None) -> list[str]:
    if budget is None or not budget.n_skipped:
        return []
    return [f"The time budget of {budget.seconds:g} s left out {_count(budget.n_skipped, 'trial')}."]


def _reasons(verdict: Verdict, chosen: str, metric: str) -> list[str]:
    limits, difference = verdict.limits, verdict.differences[chosen]
    if limits.max_precision_loss is None:
        n_fast = sum(verdict.is_fast(name) for name in verdict.differences)
        which = "the only setting" if n_fast == 1 else f"the most precise of the {n_fast} settings"
        if verdict.keeps_own(chosen):
            which = "the estimator's own setting, and no other gains more than luck explains"
        if limits.max_latency_us is None:
            return [f"It is {which}."]
        return [f"It is {which} within {limits.max_latency_us:g} us per call."]
    kept = [name for name in verdict.differences if verdict.is_close(name) and verdict.is_fast(name)]
    condition = (
        f"a {metric} that is, with {100 * CONFIDENCE:.0f} % confidence, at most "
        f"{_points(limits.max_precision_loss)} below the highest"
    )
    if limits.max_latency_us is not None:
        condition += f", and a latency within {limits.max_latency_us:g} us"
    if len(kept) == 1:
        reasons = [f"It is the only setting with {condition}."]
    elif verdict.time(chosen) == min(verdict.time(name) for name in kept):
        reasons = [f"It is the fastest of the {len(kept)} settings with {condition}."]
    else:
        reasons = [
            f"There are {len(kept)} settings with {condition}; it is the most precise of those that are less than "
            f"{100 * (SAME_TIME - 1):.0f} % slower than the fastest."
        ]
    if chosen != verdict.best:
        reasons.append(
            f"Its {metric} is {_points(-difference.mean)} below the highest on average, and with that confidence at "
            f"most {_points(-difference.lower)}."
        )
    return reasons


def _tried(rounds: list[Round]) -> str:
    first, *others = rounds
    text = f"Tried {_count(first.n_settings, 'setting')} on {_count(first.n_points, 'training point')}"
    for later in others:
        text += f", then the {later.n_settings} most promising on {later.n_points:,}"
    return text


def _describe(verdict: Verdict, name: str) -> str:
    return describe_setting(verdict.result.record(name))


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def _points(share: float) -> str:
    return f"{round(100 * share, 2) + 0.0:.2f} percentage points"  # never -0.00
