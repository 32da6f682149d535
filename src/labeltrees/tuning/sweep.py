"""sweep: train and measure a model at every setting."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from labeltrees._progress import watch
from labeltrees._settings import refusing
from labeltrees._validation import check_integer, check_n_jobs, refuse
from labeltrees.models.common.settings import seed_of
from labeltrees.models.linear.estimator import LabelTreeClassifier
from labeltrees.tree.settings import builder_of
from labeltrees.tuning.baseline_table import BaselineTable, measure_baselines
from labeltrees.tuning.candidates import (
    TRADEOFFS,
    check_estimator,
    column_value,
    describe_setting,
    make_grid,
    other_columns,
    tree_columns,
)
from labeltrees.tuning.data import SHARE, as_tuning_data, check_pair, split_data
from labeltrees.tuning.details import data_facts, frequency_facts
from labeltrees.tuning.result import SweepResult
from labeltrees.tuning.rules import Rules
from labeltrees.tuning.study import Study, Trial, open_place
from labeltrees.tuning.trial import CAREFUL, TrialInputs

# Arguments that `sweep` and `choose` no longer have, and their replacements.
GONE = {
    name: f"give estimator=lt.LabelTreeClassifier({own}=...)"
    for name, own in (("n_jobs", "n_jobs"), ("random_state", "random_state"), ("progress", "verbose"))
} | {"repeats": "leave it out, every model is timed in 5 rounds"}
_GONE = GONE | {
    "covers": 'give grid={"tree__cover": [...]}',
    "paths": 'give grid={"tree__path": [...]}',
    "timed_points": "leave it out, 1,000 points are timed",
}


@refusing(_GONE)
def sweep(
    train: Any,
    validation: Any = SHARE,
    *,
    estimator: Any = None,
    tradeoffs: Any = TRADEOFFS,
    fanouts: Any = None,
    grid: Any = None,
    k: Any = (1, 3, 5),
    folder: str | os.PathLike[str] | None = None,
    client: Any = None,
    rules: Any = None,
) -> SweepResult:
    """Train a model at every combination of settings, and measure its precision, expected depth and search time.

    Four parameters matter most. `tradeoffs` and `fanouts` are the settings to compare; every combination is trained.
    `grid` adds values of other parameters. With `folder`, an interrupted sweep can continue, and its models are kept.

    Label embeddings and frequencies are computed once. Models are kept on disk and opened together for timing, which
    takes turns among them, so that disturbances of the machine affect all models alike. Simple baselines
    (`lt.baselines`) are measured on at most 5,000 of the validation points.

    Parameters
    ----------
    train : Dataset, or pair (X, Y)
        Data to train on. For models that read texts: a Dataset with texts, or a pair (texts, Y).
    validation : Dataset, or pair (X, Y), or float
        Data to measure on, or the share of `train` to hold out for measuring (at most 100,000 points). By default a
        fifth of `train` is held out.
    estimator : LabelTreeClassifier or another model with a tradeoff, optional
        Provides all other parameters. Its `n_jobs` is the number of threads for training and for batches (single calls
        use one), ``verbose=1`` shows progress, and `random_state` also draws the points that are held out and timed.
    tradeoffs : list of numbers, or "parabel", "fasttext" or "logs"
        The tradeoffs to try; a name is one of the paper's grids.
    fanouts : list, optional
        The fanouts to try. By default the estimator's own.
    grid : dict of lists, optional
        Other parameters of the estimator to combine with these. For the paper's four curves:
        ``{"tree__cover": ["marginal", "greedy"], "tree__path": ["weighted", "direct"]}``, or
        ``{"tree": [lt.TreeBuilder(...), ...]}``.
    k : ints
        The values of k for P@k, nDCG@k, expected depth@k and the other metrics. Single calls are timed for 1 and for
        the largest k.
    folder : path, optional
        Where finished settings are kept. An interrupted sweep continues from there, and a later one can add settings.
        A folder with a sweep of other data or another estimator is rejected. `load` opens the models in its folder
        ``models``. By default a temporary folder is used and removed at the end.
    client : distributed.Client, optional
        Train the settings as tasks on its Dask cluster, and time all models on one of its workers while the others are
        idle. Every worker holds the data. All workers must see `folder` and its parent, where a temporary folder is
        created; without `folder`, they must see this machine's temporary folder.
    rules : dict, optional
        Measure what you serve: rules of `predict_topk`, for the metrics, the times and the baselines.
        ``{"exclude_seen": True}`` leaves out the items of each point; `candidates`, `exclude`, `label_weight`,
        `limits`, `diversity` and `beam` are as in `predict_topk`, with one list of labels for all points.

    Returns
    -------
    SweepResult

    Examples
    --------
    >>> import numpy as np, labeltrees as lt
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.random((60, 8)), rng.random((60, 12)) < 0.3
    >>> result = lt.sweep((X, Y), (X, Y), tradeoffs=[0, 1, 2], k=(1, 3))
    >>> [record["tradeoff"] for record in result.table]
    [0.0, 1.0, 2.0]

    The paper's setting is that of Parabel at each tradeoff of its grid (``labeltrees sweep --preset paper``):

    >>> parabel = lt.LabelTreeClassifier.parabel()
    >>> paper = lt.sweep((X, Y), (X, Y), estimator=parabel, tradeoffs="parabel", k=(1, 3))
    >>> [round(record["tradeoff"], 3) for record in paper.table][:4]
    [0.0, 0.667, 1.0, 1.333]
    """
    estimator = check_estimator(LabelTreeClassifier() if estimator is None else estimator)
    candidates = make_grid(estimator, tradeoffs, fanouts, grid)
    ks, own = check_ks(k), estimator.get_params(deep=False)
    seed = seed_of(own.get("random_state", 0))
    check_n_jobs(own.get("n_jobs"))
    parts = split_data(as_tuning_data(train, "train", estimator), validation, estimator, seed)
    check_pair(parts.train, parts.validation)
    served = Rules.of(rules, estimator, parts.train)
    inputs = TrialInputs(estimator, parts.train, parts.validation, ks, seed, served)
    total = len(candidates) + CAREFUL.repeats
    with open_place(client, folder) as place, watch("Sweep", total, bool(own.get("verbose"))) as advance:
        study = Study(inputs, place, count_done=counter(advance))
        trials = study.run(candidates, timing=CAREFUL, report=True)
    baselines = measure_baselines(parts.train, parts.validation, ks, seed, rules=served)
    varied = dict.fromkeys(column for own in candidates.values() for column in other_columns(estimator, own))
    result = make_result(study, estimator, trials, baselines, parts.held_out, list(varied))
    metric = f"p{ks[0]}"
    best = max(result.table, key=lambda record: record[metric])
    what = f"The most precise setting ({describe_setting(best)})"
    result.comparison = baselines.compare(trials[best["setting"]].hits, metric, what)
    return result


def check_ks(k: Any) -> tuple[int, ...]:
    """Return the values of k, ascending."""
    listed = [k] if isinstance(k, int) else k
    if isinstance(listed, str) or not hasattr(listed, "__iter__") or not list(listed):
        refuse("k", "a list of integers, such as (1, 3, 5)", k)
    return tuple(sorted({check_integer("k", value, 1, 10_000) for value in listed}))


def counter(advance: Callable[[int], object] | None) -> Callable[[int], object]:
    """Return a function that reports a number of units done to `advance`, which takes the units done so far."""
    done = 0

    def count(units: int) -> None:
        nonlocal done
        done += units
        if advance is not None:
            advance(done)

    return count


def make_result(
    study: Study,
    estimator: Any,
    trials: Mapping[str, Trial],
    baselines: BaselineTable,
    held_out: str,
    varied: Sequence[str] = (),
) -> SweepResult:
    """Return the trials of a run with `report` as a result.

    Parameters
    ----------
    study : Study
    estimator : model
        Has the parameters that all trials share.
    trials : dict of Trial
        By the name of the setting.
    baselines : BaselineTable
    held_out : str
        How the validation points were held out; "" if they were given.
    varied : names
        Parameters that get a column besides those of the tree.
    """
    inputs, sample = study.inputs, study.inputs.sample(study.inputs.train.n_points)
    table = [
        {
            "setting": name,
            **tree_columns(estimator, trial.parameters),
            **{column: column_value(estimator, trial.parameters, column) for column in varied},
            **trial.record,
        }
        for name, trial in trials.items()
    ]
    parameters = {
        name: value
        for name, value in estimator.get_params(deep=False).items()
        if isinstance(value, bool | int | float | str | None) and name not in ("tradeoff", "fanout", "tree")
    }
    facts: dict[str, Any] = {
        "data": data_facts(inputs.train, inputs.validation),
        "estimator": {"class": type(estimator).__name__, "parameters": parameters},
        "k": list(inputs.ks),
        "measured": {
            "held_out": bool(held_out),
            "held_out_how": held_out,
            "repeats": CAREFUL.repeats,
            "single_calls": min(CAREFUL.max_points, inputs.validation.n_points),
            "threads": check_n_jobs(inputs.n_jobs),
            "baseline_points": len(baselines.rows),
            **({"rules": inputs.rules.words} if inputs.rules else {}),
        },
        "machine": study.machine,
        **({"varied": list(varied)} if varied else {}),
    }
    covers = dict.fromkeys(row["cover"] for row in table if row["cover"] is not None)
    softness = builder_of(estimator.get_params(deep=False).get("tree")).cover_softness
    curves = {method: sample.cover(method, softness) for method in covers}
    details = {
        "settings": {name: trial.details for name, trial in trials.items()},
        "frequencies": frequency_facts(inputs.train, sample.frequencies, curves),
        "examples": inputs.examples.describe(),
    }
    return SweepResult(table, facts, details, baselines=baselines.records)
