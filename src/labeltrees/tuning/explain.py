"""The explanation of a choice: a table of steps, and three sentences: what was tried, what was chosen, what it costs.

A fourth sentence warns if something went wrong. Details are in the table and in the records of the trials.
"""

from __future__ import annotations

from typing import Any

from labeltrees.metrics.table import metric_title
from labeltrees.tuning.baseline_table import BaselineTable, signed
from labeltrees.tuning.budget import OWN
from labeltrees.tuning.candidates import describe_setting
from labeltrees.tuning.limits import CONFIDENCE, SAME_TIME, TWO_SIDED, Verdict, paired_difference
from labeltrees.tuning.search import Search
from labeltrees.tuning.study import Trial


def explain_choice(
    search: Search, baselines: BaselineTable, held_out: str, n_points: int, was_interrupted: bool = False
) -> str:
    """Return the sentences about a choice.

    Parameters
    ----------
    search : Search
    baselines : BaselineTable
    held_out : str
        How the validation points were held out; "" if they were given.
    n_points : int
        Points of the final training.
    was_interrupted : bool
        Whether Ctrl-C ended the search.
    """
    own, best, budget = _own_trial(search), search.best, search.study.budget
    assert best is not None
    compared = baselines.best(best.hits, search.limits.metric)
    warnings = ["the search was interrupted, and this is the best so far"] if was_interrupted else []
    if budget.n_skipped:
        warnings.append(f"the time budget of {budget.seconds:g} s left out {_count(budget.n_skipped, 'trial')}")
    if compared.difference.lower <= 0:
        clearly = "" if compared.difference.upper < 0 else " clearly"
        advice = ", so look at the features and the training data, or use the baseline"
        advice = "" if clearly or best.n_points < search.study.n_points else advice
        warnings.append(f"the model does not{clearly} beat the best baseline{advice}")
    sentences = [_tried(search, held_out), _chosen(search, own, best), _costs(search, own, best, n_points)]
    sentences[1] += f"{signed(compared.difference)} against the best baseline, {compared.words}."
    return " ".join([*sentences, *([f"Warning: {'; '.join(warnings)}."] if warnings else [])])


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


def _own_trial(search: Search) -> Trial | None:
    """Return the trial of the estimator as given on as many points as the best, None if there is none."""
    best, names = search.best, {OWN}
    if search.trees is not None and search.trees.own is not None and not search.chosen:
        names.add(search.trees.own)
    found = [trial for name, trial in search.tried if name in names and best and trial.n_points == best.n_points]
    return found[-1] if found else None


def _tried(search: Search, held_out: str) -> str:
    names, kinds = {change.name for change in search.alone}, {change.kind for change in search.alone}
    sizes = sorted({trial.n_points for name, trial in search.tried if name in names})
    parts = []
    if names:
        shown = " and ".join(f"{size:,}" for size in sizes)
        parts.append(f"{_count(len(names), 'change')} of {_count(len(kinds), 'kind')} alone on {shown} points")
        if search.steps:
            parts.append(f"those that may gain together on {search.steps[0].trial.n_points:,}")
    for place, (number, size) in enumerate(search.n_points_of_trees):
        what = f"the {number} most promising on" if place else f"{_count(number, 'setting')} on"
        parts.append(f"{what} {size:,}" + ("" if parts else " training points"))
    if not parts:
        parts.append(f"only the estimator as given on {_count(search.tried[0][1].n_points, 'point')}")
    inputs = search.study.inputs
    points = _count(inputs.validation.n_points, "point")
    measured = f"{points} held out {held_out}" if held_out else f"the given validation data ({points})"
    rules = f" under the rules {inputs.rules.words}" if inputs.rules else ""
    return f"Tried {', then '.join(parts)}, each measured on {measured}{rules}."


def _chosen(search: Search, own: Trial | None, best: Trial) -> str:
    """Return what was chosen and why, its metric and its gain; the gain against the best baseline follows."""
    metric, n_all = search.limits.metric, search.study.n_points
    name, why = f"{search.best_name}", []
    if search.trees is not None:
        name, why = _describe(search.trees, search.trees.choose()), [_tree_reason(search.trees)]
    elif name == OWN:
        why = ["no change gains more than luck explains" if search.alone else "there was no time to try changes"]
    slow = [step for step in search.steps if step.reason == "latency" and step.gain.mean > 0]
    why += [f"too slow: {step.name.removeprefix('+ ')}, which gains {100 * step.gain.mean:+.2f}" for step in slow]
    value = f"{metric_title(metric)} {100 * best.record[metric]:.2f} %"
    value += f" (trained on {best.n_points:,} of the {n_all:,} points)" if best.n_points < n_all else ""
    reasons = f" ({'; '.join(why)})" if why else ""
    text = f"Chosen: {name}{reasons}, with {value}"
    if own is None or own is best:
        return f"{text}: "
    gain = paired_difference(search.values(best), search.values(own), TWO_SIDED)
    return f"{text}: {signed(gain)} against the estimator as given, and "


def _tree_reason(verdict: Verdict) -> str:
    """Return why a tree was chosen, and how far it is below the most precise one if a loss is allowed."""
    limits, chosen = verdict.limits, verdict.choose()
    kept = [name for name in verdict.differences if verdict.is_close(name) and verdict.is_fast(name)]
    within = "" if limits.max_latency_us is None else f" within {limits.max_latency_us:g} us per call"
    if limits.max_precision_loss is None:
        if chosen == verdict.own and chosen != max(kept, key=verdict.metric):
            return f"the estimator's own setting{within}; no other gains more than luck explains"
        which = "only setting" if len(kept) == 1 else f"most precise of the {len(kept)} settings"
        slower = "" if verdict.is_fast(verdict.best) else f"; {_describe(verdict, verdict.best)} is too slow"
        return f"the {which}{within}{slower}"
    if len(kept) == 1:
        which = "the only setting"
    elif verdict.time(chosen) == min(verdict.time(name) for name in kept):
        which = f"the fastest of the {len(kept)} settings"
    else:
        which = f"the most precise of those less than {100 * (SAME_TIME - 1):.0f} % slower than the fastest"
    metric, loss = metric_title(limits.metric), 100 * limits.max_precision_loss
    allowed = f"{which}{within} at most {loss:.2f} percentage points below the highest {metric}"
    difference = verdict.differences[chosen]
    if chosen != verdict.best:
        allowed += f", here {abs(100 * difference.mean):.2f} and at most {abs(100 * difference.lower):.2f}"
    return f"{allowed}, with {100 * CONFIDENCE:.0f} % confidence"


def _costs(search: Search, own: Trial | None, best: Trial, n_points: int) -> str:
    k = search.limits.k
    names = ("training_seconds", "model_bytes", f"top{k}_p50_us", f"top{k}_p99_us")
    seconds, size, time, slowest = (best.record[name] for name in names)
    training, more_time, more_size = f"{seconds:.1f} s of training", "", ""
    if own is not None and own is not best:
        ratio = seconds / max(own.record["training_seconds"], 1e-9)
        training = f"{ratio:.1f} times the training time ({seconds:.1f} s)"
        more_time = f" instead of {own.record[names[2]]:.1f}"
        more_size = f" instead of {own.record['model_bytes'] / 1e6:.1f}"
    calls = f"{time:.1f}{more_time} us per call for {_count(k, 'label')} (99th percentile {slowest:.1f})"
    final = f"the model was then trained on all {_count(n_points, 'point')}"
    return f"It costs {training}, {calls} and {size / 1e6:.1f}{more_size} MB; {final}."


def _describe(verdict: Verdict, name: str) -> str:
    """Return the tree of a candidate after its changes."""
    parameters = verdict.trials[name].parameters
    if "tradeoff" not in parameters:
        return name
    changes, plus, _ = name.rpartition(" + ")
    return f"{changes}{plus}{describe_setting({'fanout': None, **parameters})}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
