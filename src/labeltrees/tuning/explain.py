"""The explanation of a choice: a table of steps, and sentences about the trials, the choice and its costs."""

from __future__ import annotations

from typing import Any, NamedTuple

from labeltrees.metrics.table import metric_title
from labeltrees.tuning.baseline_table import BaselineTable
from labeltrees.tuning.budget import OWN
from labeltrees.tuning.candidates import describe_setting
from labeltrees.tuning.limits import CONFIDENCE, SAME_TIME, Verdict
from labeltrees.tuning.search import Search, Step
from labeltrees.tuning.study import Trial


class ChoiceText(NamedTuple):
    """Sentences, how far the chosen model is above the best baseline, and the table of steps."""

    text: str
    comparison: str
    steps: list[dict[str, Any]]


def explain_choice(
    search: Search,
    baselines: BaselineTable,
    held_out: str,
    n_points: int,
    stats: dict[str, Any],
    was_interrupted: bool = False,
) -> ChoiceText:
    """Explain the trials, the gain of each step, and the costs.

    Parameters
    ----------
    search : Search
    baselines : BaselineTable
    held_out : str
        How the validation points were held out; "" if they were given.
    n_points : int
        Points of the final training.
    stats : dict
        `stats_` of the final model.
    was_interrupted : bool
        Whether Ctrl-C ended the search.
    """
    best = search.best
    assert best is not None
    n_all, sample = search.study.n_points, ""
    if best.n_points < n_all:
        sample = f"It was trained on {best.n_points:,} of the {n_all:,} points for this, the baseline on all of them."
    comparison = baselines.compare(best.hits, search.limits.metric, "The chosen model", sample)
    n_validation = search.study.inputs.validation.n_points
    validation = f"{_count(n_validation, 'point')} held out {held_out}"
    validation = validation if held_out else f"the given validation data ({_count(n_validation, 'point')})"
    sentences = []
    if search.changes:
        sentences.append(f"{_tried(search)}, each measured on {validation}.")
        sentences += _chosen(search, best)
    if search.trees is not None:
        sentences += _explain_trees(search, search.trees, "" if search.changes else f", each measured on {validation}")
    sentences += _left_out(search, was_interrupted)
    sentences += [comparison, explain_final(n_points, stats)]
    return ChoiceText(" ".join(sentences), comparison, table_of_steps(search))


def table_of_steps(search: Search) -> list[dict[str, Any]]:
    """Return the table of steps: the estimator as given, and every change that was added to the best before it."""
    best = search.best
    assert best is not None
    first = search.steps[0].before if search.steps else None
    rows = [] if first is None else [_row(search, OWN, first)]
    for step in search.steps:
        interval = [step.gain.lower, step.gain.upper]
        reason = {"": "chosen", "latency": "too slow", "no gain": "no clear gain"}[step.reason]
        more = {"gain": step.gain.mean, "gain_interval": interval, "stays": step.stays, "why": reason}
        rows.append(_row(search, step.name, step.trial) | more)
    return rows or [
        _row(search, next(name for name, trial in search.tried if trial.parameters == best.parameters), best)
    ]


def _row(search: Search, name: str, trial: Trial) -> dict[str, Any]:
    k = search.limits.k
    return {
        "step": name,
        "metric": trial.record[search.limits.metric],
        "gain": None,
        "gain_interval": None,
        "stays": True,
        "why": "",
        "us_per_call": trial.record[f"top{k}_p50_us"],
        "p99_us": trial.record[f"top{k}_p99_us"],
        "training_seconds": trial.record["training_seconds"],
        "model_bytes": trial.record["model_bytes"],
        "n_points": trial.n_points,
    }


def _tried(search: Search) -> str:
    n_alone, kinds = len(search.alone), len({change.kind for change in search.alone})
    names = {change.name for change in search.alone}
    sizes = sorted({trial.n_points for name, trial in search.tried if name in names})
    shown = " and ".join(f"{size:,}" for size in sizes)
    alone = f"Tried {_count(n_alone, 'change')} of {_count(kinds, 'kind')} alone on {shown} points"
    if not n_alone:
        return f"Tried the estimator as given on {search.tried[0][1].n_points:,} points"
    if not search.steps:
        return alone
    return f"{alone}, and those that gain together on {search.steps[0].trial.n_points:,}"


def _chosen(search: Search, best: Trial) -> list[str]:
    metric = metric_title(search.limits.metric)
    stay = [step for step in search.steps if step.stays]
    if not search.steps:
        value = f"{metric} {_value(search, best)}"
        if not search.alone:
            return [f"There was no time to try changes, so the estimator stays as given: {value}."]
        if search.trees is not None or search.best_name == OWN:
            return [f"No change gains more than luck explains, so the estimator stays as given: {value}."]
        return [f"Chosen: {search.best_name}, with {value}."]
    first, last = search.steps[0].before, (stay[-1].trial if stay else search.steps[0].before)
    slow = [step for step in search.steps if step.reason == "latency"]
    if not stay:
        reason = "" if slow else "No change gains more than luck explains, so the"
        kept = f"{reason or 'The'} estimator stays as given: {metric} {_value(search, first)}"
        if best.n_points > first.n_points:
            kept += f", and {_value(search, best)} when trained on {_count(best.n_points, 'point')}"
        kept += "."
        return [*kept.splitlines(), *_slow(search, slow)]
    gained = ", ".join(f"{step.name.removeprefix('+ ')} {_signed(step.gain.mean)}" for step in stay)
    sentences = [
        f"Chosen: {_and(search.chosen)}, with {metric} {_value(search, last)} against "
        f"{_value(search, first)} as given; gains in percentage points: {gained}."
    ]
    return [*sentences, *_slow(search, slow), _costs(search, first, last)]


def _slow(search: Search, slow: list[Step]) -> list[str]:
    limit = search.limits.max_latency_us
    key = f"top{search.limits.k}_p99_us"
    return [
        f"{step.name.removeprefix('+ ')} would gain {_signed(step.gain.mean)} and was left out because of the latency: "
        f"its calls take {step.trial.record[key]:.0f} us (99th percentile), more than {limit:g} us."
        for step in slow
        if step.gain.mean > 0
    ]


def _costs(search: Search, first: Trial, last: Trial) -> str:
    time = f"top{search.limits.k}_p50_us"
    train = last.record["training_seconds"] / max(first.record["training_seconds"], 1e-9)
    return (
        f"This costs {train:.1f} times the training time ({last.record['training_seconds']:.1f} s), "
        f"{last.record[time]:.1f} instead of {first.record[time]:.1f} us per call, and "
        f"{last.record['model_bytes'] / 1e6:.1f} instead of {first.record['model_bytes'] / 1e6:.1f} MB."
    )


def _left_out(search: Search, was_interrupted: bool) -> list[str]:
    budget = search.study.budget
    sentences = ["The search was interrupted; this is the best so far."] if was_interrupted else []
    if budget.n_skipped:
        sentences.append(f"The time budget of {budget.seconds:g} s left out {_count(budget.n_skipped, 'trial')}.")
    return sentences


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


# Trees.


def _explain_trees(search: Search, verdict: Verdict, measured: str) -> list[str]:
    chosen, limits = verdict.choose(), verdict.limits
    metric = metric_title(limits.metric)
    (n_first, points), *others = search.n_points_of_trees
    tried = f"Tried {_count(n_first, 'setting')} on {_count(points, 'training point')}"
    for n_later, n_points in others:
        tried += f", then the {n_later} most promising on {n_points:,}"
    return [
        f"{tried}{measured}.",
        f"The highest {metric} was {_percent(verdict.metric(verdict.best))} "
        f"({_describe(verdict, verdict.best)}; {verdict.time(verdict.best):.1f} us per call for "
        f"{_count(limits.k, 'label')}).",
        f"Chosen: {_describe(verdict, chosen)}, with {metric} {_percent(verdict.metric(chosen))} and "
        f"{verdict.time(chosen):.1f} us per call (99th percentile {verdict.time(chosen, 99):.1f} us).",
        *_reasons(verdict, chosen, metric),
    ]


def _reasons(verdict: Verdict, chosen: str, metric: str) -> list[str]:
    limits, difference = verdict.limits, verdict.differences[chosen]
    if limits.max_precision_loss is None:
        fast = [name for name in verdict.differences if verdict.is_fast(name)]
        which = "the only setting" if len(fast) == 1 else f"the most precise of the {len(fast)} settings"
        best = max(fast, key=verdict.metric)
        if chosen == verdict.own and chosen != best:
            which = "the estimator's own setting, and no other gains more than luck explains"
        if limits.max_latency_us is None:
            return [f"It is {which}."]
        within = f"It is {which} within {limits.max_latency_us:g} us per call."
        if verdict.is_fast(verdict.best):
            return [within]
        slower = (
            f"Because of the latency, {_describe(verdict, verdict.best)} was not chosen: its 99th percentile is "
            f"{verdict.time(verdict.best, 99):.1f} us."
        )
        return [within, slower]
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


def _describe(verdict: Verdict, name: str) -> str:
    parameters = verdict.trials[name].parameters
    is_tree = "tradeoff" in parameters
    return describe_setting({"fanout": None, **parameters}) if is_tree else name


def _and(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]


def _value(search: Search, trial: Trial) -> str:
    return _percent(trial.record[search.limits.metric])


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def _signed(share: float) -> str:
    return f"{100 * share:+.2f}"


def _points(share: float) -> str:
    return f"{round(100 * share, 2) + 0.0:.2f} percentage points"  # never -0.00
