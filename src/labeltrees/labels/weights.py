"""The weights f(tradeoff) that labels have while a tree is built."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from labeltrees._matrices import Float64s
from labeltrees._settings import number
from labeltrees._validation import check_choice, refuse
from labeltrees.errors import InputError

PATHS = ("weighted", "direct")
WEIGHTS_OF = ("root", "node")
check_tradeoff = number(0, 2)
check_smoothing = number(0)


class WeightTerms(NamedTuple):
    """A label's weight before normalisation: frequency * f^power + cover * f~ + uniform / L."""

    frequency: float
    power: float
    cover: float
    uniform: float


def weight_terms(tradeoff: float, smoothing: float, path: str) -> WeightTerms:
    """Return the terms of the paper's f(tradeoff), or of the direct path, for checked arguments."""
    t, g = float(tradeoff), float(smoothing)
    if path == "direct":
        return WeightTerms(0.0, 1.0, t / 2, 1 - t / 2 + g)
    return WeightTerms(2 - t, min(t, 1.0), max(t - 1, 0.0), g)


def label_weights(
    frequencies: Any, cover_frequencies: Any, tradeoff: float, smoothing: float = 0.1, path: str = "weighted"
) -> Float64s:
    """Return the weights of the labels at a tradeoff, from equal weights (0) to cover frequencies (2).

    Parameters
    ----------
    frequencies : array of shape (L,)
        f, as from `label_frequencies`. Counts work too: they are divided by their sum.
    cover_frequencies : array of shape (L,)
        f-tilde, as from `cover_frequencies`; positive only where `frequencies` are. Divided by their sum too.
    tradeoff : float in [0, 2]
        t in the formulas below.
    smoothing : float >= 0
        g in the formulas below: spread evenly over all labels.
    path : {"weighted", "direct"}
        With t = `tradeoff`, g = `smoothing` and (x)+ = max(x, 0), weights are proportional to
        (2 - t) f^min(t, 1) + (t - 1)+ f~ + g / L ("weighted") or (1 - t/2) / L + (t/2) f~ + g / L ("direct").

    Returns
    -------
    array of shape (L,), float64
        Sums to 1. A label of frequency 0 has weight 0 and is left out of the tree.

    Examples
    --------
    >>> label_weights([0.75, 0.25, 0.0], [1.0, 0.0, 0.0], tradeoff=0.0)
    array([0.5, 0.5, 0. ])
    >>> label_weights([0.75, 0.25, 0.0], [1.0, 0.0, 0.0], tradeoff=1.0, smoothing=0.0)
    array([0.75, 0.25, 0.  ])
    >>> label_weights([0.75, 0.25, 0.0], [1.0, 0.0, 0.0], tradeoff=2.0, smoothing=0.0)
    array([1., 0., 0.])
    """
    check_tradeoff("tradeoff", tradeoff)
    check_smoothing("smoothing", smoothing)
    check_choice("path", path, PATHS)
    f = _check_shares("frequencies", frequencies)
    cover = _check_shares("cover_frequencies", cover_frequencies)
    if f.shape != cover.shape:
        message = f"frequencies and cover_frequencies must have the same length, got {len(f)} and {len(cover)}"
        raise InputError(message)
    seen = f > 0
    if cover[~seen].any():
        label = int(np.flatnonzero(cover * ~seen)[0])
        message = f"cover_frequencies must be 0 where frequencies are, got {cover[label]:g} for label {label}"
        raise InputError(message)
    terms = weight_terms(tradeoff, smoothing, path)
    # f ** 0 is 1 for every label, so at t = 0 all weights are the same number.
    weights = terms.frequency * f**terms.power + terms.cover * cover + terms.uniform / len(f)
    # The formulas' common denominator is dropped: leaving out unseen labels needs a new one anyway.
    weights[~seen] = 0.0
    return np.asarray(weights / weights.sum())


def _check_shares(name: str, values: Any) -> Float64s:
    """Return `values` divided by their sum, if they are finite, not negative and not all zero."""
    allowed = "a list of finite numbers with a finite sum, none negative and not all zero"
    try:
        shares = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        refuse(name, allowed, values)
    with np.errstate(over="ignore", invalid="ignore"):
        total = float(shares.sum())
    if shares.ndim != 1 or not (shares >= 0).all() or not 0 < total < np.inf:
        refuse(name, allowed, values)
    return shares / total
