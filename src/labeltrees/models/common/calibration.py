"""Calibration: from scores to probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

from labeltrees.errors import InputError

MIN_LABELS = 10


@dataclass(frozen=True, eq=False)
class Calibration:
    """A rising, piecewise linear function: `probabilities` (n,) at rising `scores` (n,)."""

    scores: NDArray[np.float64]
    probabilities: NDArray[np.float64]

    def __repr__(self) -> str:
        return f"Calibration({len(self.scores):,} steps, probabilities up to {self.probabilities[-1]:.3f})"

    def is_sound(self) -> bool:
        """Return whether both arrays are valid; those of a file may be anything."""
        # Scores are above 1 in models with a trend.
        for values, largest in ((self.scores, np.finfo(np.float64).max), (self.probabilities, 1.0)):
            if values.dtype != np.float64 or values.ndim != 1 or len(values) == 0:
                return False
            if not (values[0] >= 0 and values[-1] <= largest and (np.diff(values) >= 0).all()):  # no NaN passes
                return False
        return len(self.scores) == len(self.probabilities)

    def __call__(self, scores: Any) -> NDArray[np.float32]:
        """Return the probabilities of `scores`."""
        return np.asarray(np.interp(scores, self.scores, self.probabilities), dtype=np.float32)


def fit_calibration(scores: NDArray[Any], hits: NDArray[np.bool_]) -> Calibration:
    """Fit a calibration to returned labels: their scores and whether they were correct.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.repeat([0.1, 0.9], 10)
    >>> hits = np.tile([True, False, False, False, False], 4) | (scores > 0.5)
    >>> fit_calibration(scores, hits)(np.array([0.1, 0.9])).tolist()
    [0.20000000298023224, 1.0]
    """
    if len(scores) < MIN_LABELS:
        message = f"calibrate needs at least {MIN_LABELS} returned labels to learn from, got {len(scores)}"
        raise InputError(message)
    fitted = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    fitted.fit(np.asarray(scores, dtype=np.float64), hits.astype(np.float64))
    return Calibration(fitted.X_thresholds_.astype(np.float64), fitted.y_thresholds_.astype(np.float64))
