"""The search over kinds of text features, for data with texts whose features a vectorizer made."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from labeltrees.data.tfidf import TfidfVectorizer
from labeltrees.data.tfidf_presets import PRESETS, preset_vectorizer
from labeltrees.tuning.trials import TrialRunner, Trials, Variant
from labeltrees.tuning.tuning_data import TuningData

NAMES = ("words", "words+pairs", "words+chars", "words+pairs+chars")
_SAMPLE = 20_000  # points of a trial: features matter more than the number of points
AS_GIVEN = "as given"


class TextData(NamedTuple):
    """Training, validation and all data."""

    train: TuningData
    validation: TuningData
    everything: TuningData


def can_choose_features(data: TuningData) -> bool:
    """Whether other features can be made: the data has texts, and a vectorizer made its features from them."""
    return data.texts is not None and not data.is_text and isinstance(data.vectorizer, TfidfVectorizer)


def try_features(runner: TrialRunner, data: TextData, repeats: int, timed_points: int) -> Trials:
    """Return the measurements of the given features and of all presets, on at most 20,000 training points."""
    rows = np.random.default_rng(runner.random_state).permutation(data.train.n_points)[:_SAMPLE]
    sample = data.train.take(np.sort(rows))
    trials, validation = Trials(sample.n_points), runner.validation
    for name in (AS_GIVEN, *_other_presets(data.train.vectorizer)):
        if trials.variants and not runner.budget.allows(sample.n_points, 1.0):
            runner.count_done(1)
            continue
        own, runner.validation = sample, data.validation
        if name != AS_GIVEN:
            own, runner.validation = with_features(name, runner.n_jobs, sample, data.validation)
        found = runner.run([Variant()], own, repeats, timed_points)
        label = f"features {name}"
        trials.variants[label] = Variant((("features", name),))
        trials._records[label] = found.record(Variant().name)
        trials._hits[label] = found._hits[Variant().name]
    runner.validation = validation
    return trials


def n_trials(data: TuningData) -> int:
    """Return the number of trials without a time budget."""
    return 1 + len(_other_presets(data.vectorizer))


def with_features(name: str, n_jobs: int | None, train: TuningData, *others: TuningData) -> list[TuningData]:
    """Return the data with the features of a preset, which is fitted on the texts of `train`."""
    vectorizer = preset_vectorizer(name, n_jobs)
    points = vectorizer.fit_transform(train.texts.tolist())
    made = [points, *(vectorizer.transform(other.texts.tolist()) for other in others)]
    return [
        replace(part, points=own, vectorizer=vectorizer, feature_names=None)
        for part, own in zip((train, *others), made, strict=True)
    ]


def _other_presets(vectorizer: Any) -> list[str]:
    """Return the names of the presets that differ from the given vectorizer."""
    given = _terms_of(vectorizer)
    return [name for name in NAMES if name in PRESETS and _terms_of(preset_vectorizer(name)) != given]


def _terms_of(vectorizer: Any) -> dict[str, Any]:
    return {name: value for name, value in vectorizer.get_params().items() if name != "n_jobs"}
