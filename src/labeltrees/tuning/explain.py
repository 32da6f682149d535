"""The explanation of a choice: what was tried, what was chosen and why, in one paragraph."""

from __future__ import annotations

from typing import Any, NamedTuple

from labeltrees.metrics.table import metric_title
from labeltrees.tuning.candidates import describe_setting
from labeltrees.tuning.limits import CONFIDENCE, SAME_TIME, Verdict
from labeltrees.tuning.study import TimeBudget


class Round(NamedTuple):
    """How many candidates were tried, on how many training points."""

    n_candidates: int
    n_points: int


def explain_stage(verdict: Verdict, chosen: str, what: str, n_points: int) -> str:
    """Return the sentence about a stage that does not vary the tree.

    Parameters
    ----------
    verdict : Verdict
    chosen : str
    what : str
        The candidates in words, such as "pairs of loss and C".
    n_points : int
        The number of training points.
    """
    others = [name for name in verdict.trials if name != chosen]
    best_other = max(others, key=verdict.metric, default=None)
    against = "" if best_other is None else f" (next: {best_other}, {_percent(verdict.metric(best_other))})"
    if verdict.keeps_own(chosen):
        against += ", because no other gains more than luck explains"
    return (
        f"{len(verdict.trials)} {what} were tried on {n_points:,} points; chosen: {chosen}, with "
        f"{metric_title(verdict.limits.metric)} {_percent(verdict.metric(chosen))}{against}."
    )


def explain_tree(verdict: Verdict, rounds: list[Round], n_validation: int, held_out: str) -> list[str]:
    """Return the sentences about the stage of the tree.

    Parameters
    ----------
    verdict : Verdict
        Of the last round.
    rounds : list of Round
    n_validation : int
        The number of validation points.
    held_out : str
        How they were held out from the training data; "" if they were given.
    """
    chosen, limits = verdict.choose(), verdict.limits
    metric = metric_title(limits.metric)
    validation = f"{_count(n_validation, 'point')} held out {held_out}" if held_out else "the given validation data"
    if not held_out:
        validation += f" ({_count(n_validation, 'point')})"
    return [
        f"{_tried(rounds)}, each measured on {validation}.",
        f"The highest {metric} was {_percent(verdict.metric(verdict.best))} "
        f"({_describe(verdict, verdict.best)}; {verdict.time(verdict.best):.1f} us per call for "
        f"{_count(limits.k, 'label')}).",
        f"Chosen: {_describe(verdict, chosen)}, with {metric} {_percent(verdict.metric(chosen))} and "
        f"{verdict.time(chosen):.1f} us per call (99th percentile {verdict.time(chosen, 99):.1f} us).",
        *_reasons(verdict, chosen, metric),
    ]


def explain_budget(budget: TimeBudget) -> list[str]:
    """Return the sentence about what was left out for lack of time, if anything was."""
    if not budget.n_skipped:
        return []
    return [f"The time budget of {budget.seconds:g} s left out {_count(budget.n_skipped, 'trial')}."]


def explain_final(n_points: int, stats: dict[str, Any]) -> str:
    """Return the sentences about the final training, and about ``C="auto"`` if the `stats_` of the model have it.

    Examples
    --------
    >>> print(explain_final(10, {"C": [0.3, 1.0], "C_tried": [0.1, 0.3, 1.0]}).partition(". ")[2])
    Its C, chosen by the loss on held-out training points, is 0.3, 1 by depth of the tree.
    """
    trained = (
        f"The final model was then trained on all {_count(n_points, 'point')}; these figures are from before that."
    )
    if "C_tried" not in stats:
        return trained
    costs = ", ".join(f"{cost:g}" for cost in stats["C"])
    return f"{trained} Its C, chosen by the loss on held-out training points, is {costs} by depth of the tree."


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
    text = f"Tried {_count(first.n_candidates, 'setting')} on {_count(first.n_points, 'training point')}"
    for later in others:
        text += f", then the {later.n_candidates} most promising on {later.n_points:,}"
    return text


def _describe(verdict: Verdict, name: str) -> str:
    return describe_setting({"fanout": None, **verdict.trials[name].parameters})


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def _points(share: float) -> str:
    return f"{round(100 * share, 2) + 0.0:.2f} percentage points"  # never -0.00
