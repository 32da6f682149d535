"""Counters of one worker and of several."""

import os

import pytest
from prometheus_client.parser import text_string_to_metric_families

from labeltrees.serving import make_app
from labeltrees.serving.metrics import Metrics, make_shared_file
from labeltrees.serving.registry import Registry


def samples(text):
    families = text_string_to_metric_families(text)
    return {(one.name, tuple(sorted(one.labels.items()))): one.value for family in families for one in family.samples}


def test_requests_searches_and_versions_are_counted(text_model, get, post):
    app = make_app(text_model)
    for body in ({"texts": ["red", "pear"]}, {"text": "red", "max_chunks": 1, "k": 9}, {"text": 1}, b"{"):
        post(app, "/v1/models/model/predict", body)
    found = samples(get(app, "/metrics").text)
    assert found["labeltrees_requests_total", (("route", "predict"), ("status", "200"))] == 2
    assert found["labeltrees_requests_total", (("route", "predict"), ("status", "400"))] == 2
    assert found["labeltrees_searches_total", (("model", "model"),)] == 3
    assert found["labeltrees_searches_cut_short_total", (("model", "model"),)] == 1
    assert found["labeltrees_request_seconds_count", (("route", "predict"),)] == 4
    assert found["labeltrees_request_seconds_bucket", (("le", "+Inf"), ("route", "predict"))] == 4
    assert 0 < found["labeltrees_request_seconds_sum", (("route", "predict"),)] < 60
    assert found["labeltrees_model_info", (("model", "model"), ("version", "1"))] == 1
    assert found["labeltrees_requests_in_progress", ()] == 1  # the one that asks


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_workers_share_counters_and_a_new_worker_goes_on_for_a_dead_one(model_folder):
    path = make_shared_file()
    registry = Registry(model_folder)
    own = Metrics(registry, path)
    own.count_request("predict", 200, 0.001)
    for expected in (2, 3):  # the second worker takes the place of the first
        worker = os.fork()
        if worker == 0:
            Metrics(registry, path).count_request("predict", 200, 0.001)
            os._exit(0)
        os.waitpid(worker, 0)
        found = samples(own.text().decode())
        assert found["labeltrees_requests_total", (("route", "predict"), ("status", "200"))] == expected
    used = [any(own._all[at : at + own._stride // 8]) for at in range(0, len(own._all), own._stride // 8)]
    assert used.count(True) == 2
