"""How far a model is above the best baseline, in plain words."""

from __future__ import annotations

from labeltrees._matrices import Float64s
from labeltrees.tuning.baseline_table import MEANINGS
from labeltrees.tuning.paired_bound import paired_difference
from labeltrees.tuning.quality import Hits, metric_title
from labeltrees.tuning.result import SweepResult

_TWO_SIDED = 0.975  # each bound; both together hold with 95 % confidence


def compare_with_baselines(
    result: SweepResult, setting: str, metric: str, what: str, hits: Hits | None = None
) -> str | None:
    """Return sentences about a setting and the best baseline; None if no baseline was measured.

    Parameters
    ----------
    result : SweepResult
        With the hits of settings and baselines.
    setting : str
    metric : str
        "p1", "ndcg5", ...
    what : str
        The words for the setting, such as "The chosen model".
    hits : Hits, optional
        Those of the model, if they are not those of the setting.
    """
    if not result._baseline_hits:
        return None
    values = {name: hits.per_point(metric) for name, hits in result._baseline_hits.items()}
    best = max(values, key=lambda name: float(values[name].mean()))
    model = (result._hits[setting] if hits is None else hits).per_point(metric)
    rows = result._baseline_rows
    return _words(best, values[best], model[rows], len(model), metric_title(metric), what)


def _words(best: str, baseline: Float64s, model: Float64s, n_all: int, metric: str, what: str) -> str:
    difference = paired_difference(model, baseline, _TWO_SIDED)
    part = "" if len(baseline) == n_all else f" on {len(baseline):,} of the {n_all:,} validation points"
    first = f"The best baseline is {best} ({MEANINGS[best]}), with {metric} {100 * baseline.mean():.2f} %{part}."
    interval = f"95 % confidence interval {_signed(difference.lower)} to {_signed(difference.upper)}"
    size = f"{abs(100 * difference.mean):.2f} percentage points"
    if difference.lower > 0:
        return f"{first} {what} is {size} above it ({interval})."
    if difference.upper < 0:
        return (
            f"{first} {what} does not beat it: it is {size} below it ({interval}). Look at the features and the "
            f"training data, or use the baseline."
        )
    direction = "above" if difference.mean >= 0 else "below"
    return (
        f"{first} {what} does not clearly beat it: it is {size} {direction} it, which is within the noise ({interval})."
    )


def _signed(share: float) -> str:
    return f"{round(100 * share, 2) + 0.0:+.2f}"
