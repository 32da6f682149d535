"""The sentences about a choice, from trials that are made up."""

from types import SimpleNamespace

from labeltrees.tuning.explain import _chosen
from labeltrees.tuning.limits import PairedDifference
from labeltrees.tuning.search import Step


def trial(n_points, p1):
    record = {"p1": p1, "top5_p50_us": 1.0, "training_seconds": 1.0, "model_bytes": 1e6}
    return SimpleNamespace(n_points=n_points, record=record)


def test_an_estimator_that_stays_has_the_metric_on_the_points_of_the_steps_and_on_all():
    own, tried = trial(71, 0.5), trial(71, 0.49)
    step = Step("+ C 0.1", tried, own, PairedDifference(-0.01, -0.02, 0.0), False, "no gain")
    search = SimpleNamespace(steps=[step], limits=SimpleNamespace(metric="p1", k=5, max_latency_us=None))
    start = "No change gains more than luck explains, so the estimator stays as given: P@1 50.00 %"
    assert _chosen(search, own) == [f"{start}."]
    assert _chosen(search, trial(640, 0.7)) == [f"{start}, and 70.00 % when trained on 640 points."]
