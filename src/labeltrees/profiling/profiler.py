"""profile: count and time a model's searches, and divide their time among the parts of a search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from labeltrees._matrices import Int64s
from labeltrees._progress import ProgressArgument, watch
from labeltrees._validation import check_seed, refuse
from labeltrees.errors import InputError
from labeltrees.profiling.hardware_counters import HardwareCounters
from labeltrees.profiling.measure_costs import measure_costs
from labeltrees.profiling.meter import Workload
from labeltrees.profiling.meters import make_meter
from labeltrees.profiling.oracle import mark_oracle
from labeltrees.profiling.result import Profile
from labeltrees.search.request import AS_FITTED, SearchRequest

MAX_POINTS = 1000


def profile(
    model: Any,
    X: Any,
    k: int = 5,
    *,
    search: str | None = None,
    beam: int | None = AS_FITTED,
    agreement: float | None = None,
    rows: Any = None,
    repeats: int = 10,
    random_state: int = 0,
    progress: ProgressArgument = None,
) -> Profile:
    """Return where the time of a model's searches goes.

    Searches are counted and timed, and a cost model is fitted to them: what it costs on this machine to open a node, to
    look up a feature, to add a row and so on. Half of the points are held out to check it (`Profile.error`).

    Parameters
    ----------
    model : LabelTreeClassifier or TextLabelTreeClassifier
        Fitted.
    X : sparse or dense matrix (n, d), or n texts
        If a LabelTreeClassifier has to vectorize texts, that time is not included.
    k : int
    search, beam, agreement
        As in `LabelTreeClassifier.predict_topk`; by default the model's own.
    rows : array of int, optional
        The points to search; by default 1,000 drawn at random, or all if there are fewer.
    repeats : int
        Rounds; the shortest time of each query counts.
    random_state : int
    progress : bool or callable(done, total), optional

    Examples
    --------
    >>> import labeltrees as lt
    >>> X = [[1, 0], [0.9, 0.1], [0, 1], [0.2, 0.8]]
    >>> model = lt.LabelTreeClassifier(prune_below=0).fit(X, [["a"], ["a", "c"], ["b"], ["b"]])
    >>> found = lt.profile(model, X, k=1, repeats=1)
    >>> found.counts.each["visits"].tolist(), found.oracle.tolist()
    ([1, 1, 1, 1], [1, 1, 1, 1])
    """
    make_meter(model)
    request = model.complete_request(SearchRequest(k, search=search, beam=beam, agreement=agreement))
    points = model.check_queries(X)
    rows = _check_rows(rows, points.shape[0], check_seed(random_state))
    with watch("Timing searches", repeats, progress) as advance:
        return profile_searches(
            model,
            points,
            request,
            rows,
            repeats=repeats,
            random_state=random_state,
            advance=advance,
        )


def profile_searches(
    model: Any,
    points: Any,
    request: SearchRequest,
    rows: Int64s,
    *,
    repeats: int,
    random_state: int = 0,
    advance: Callable[[int], object] | None = None,
) -> Profile:
    """Return the profile of checked points for a request that the model has completed."""
    meter = make_meter(model)
    n_labels = model.searcher_.n_labels
    k = min(request.k, n_labels)
    workload = Workload(points[rows], replace(request, k=request.n_found(n_labels), n_searched=None))
    measured = measure_costs(meter, workload, repeats=repeats, random_state=random_state, advance=advance)
    labels = model.searcher_.topk(workload.queries, workload.request, n_jobs=1).labels[:, :k]
    with HardwareCounters() as counters:
        meter.time(workload, measured.counts.visits)
    events = counters.counts
    each = measured.counts.each
    oracle, is_oracle = mark_oracle(
        model.trees_, labels, measured.counts.visits, skip_single_children=meter.SKIPS_SINGLE_CHILDREN
    )
    oracle[np.diff(measured.counts.visits.ends) == 0] = 0  # without any feature there is no search
    return Profile(
        rows=rows,
        k=k,
        search=_reported_options(request),
        labels=labels,
        counts=measured.counts,
        oracle=oracle,
        is_oracle=is_oracle,
        microseconds=measured.microseconds,
        predicted=measured.costs.microseconds(each),
        parts=measured.costs.by_part(each),
        costs=measured.costs,
        error=measured.error,
        counters=None if events is None else {name: count / len(rows) for name, count in events.items()},
        counters_reason=counters.reason,
    )


def _reported_options(request: SearchRequest) -> dict[str, Any]:
    if request.agreement is not None:
        return {"agreement": request.agreement}
    return {} if request.search is None else {"mode": request.search, "beam": request.beam}


def _check_rows(rows: Sequence[int] | None, n_points: int, seed: int) -> Int64s:
    if n_points == 0:
        message = "X must have at least one point, got none"
        raise InputError(message)
    if rows is None:
        return np.sort(np.random.default_rng(seed).permutation(n_points)[:MAX_POINTS])
    array = np.asarray(rows)
    if array.ndim != 1 or array.dtype.kind not in "iu" or len(array) == 0:
        refuse("rows", "a list of at least one row number", rows)
    if array.min() < 0 or array.max() >= n_points:
        refuse("rows", f"row numbers from 0 to {n_points - 1}", rows)
    return array.astype(np.int64)
