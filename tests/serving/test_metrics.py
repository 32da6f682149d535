"""Counters of one worker and of several."""

import os
import subprocess
import sys

from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from labeltrees.serving import make_app
from labeltrees.serving.metrics import BUCKETS, Metrics
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


def test_times_are_counted_as_prometheus_counts_them(text_model):
    metrics = Metrics(Registry(text_model))
    expected = CollectorRegistry()
    seconds = Histogram("labeltrees_request_seconds", "", ["route"], registry=expected, buckets=BUCKETS)
    for value in (0.0, 1e-5, 1.0001e-5, 0.003, 0.003, 5.0, 7.0):  # bounds belong to the lower bucket
        metrics.count_request("predict", 200, value)
        seconds.labels("predict").observe(value)
        metrics.flush()
    of_both = [samples(text) for text in (metrics.text().decode(), generate_latest(expected).decode())]
    found, wanted = ({key: n for key, n in one.items() if "seconds_" in key[0]} for one in of_both)
    names = ("bucket", "count", "sum")
    assert {key: n for key, n in found.items() if key[0].endswith(names)} == {
        key: n for key, n in wanted.items() if key[0].endswith(names)
    }


WORKER = """
import sys
from labeltrees.serving.metrics import Metrics
from labeltrees.serving.registry import Registry

metrics = Metrics(Registry(sys.argv[1]))
metrics.count_request("predict", 200, 0.001)
metrics.in_progress = 1  # when the worker ends
metrics.count_searches("fruit", 3, 1)
metrics.flush()
if sys.argv[2] == "report":
    print(metrics.text().decode())
"""


def test_counters_of_ended_workers_stay_and_their_requests_in_progress_go(model_folder, tmp_path):
    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    for what in ("end", "end", "report"):
        command = [sys.executable, "-c", WORKER, str(model_folder), what]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found = samples(done.stdout)
    assert found["labeltrees_requests_total", (("route", "predict"), ("status", "200"))] == 3
    assert found["labeltrees_searches_total", (("model", "fruit"),)] == 9
    assert found["labeltrees_request_seconds_count", (("route", "predict"),)] == 3
    assert found["labeltrees_requests_in_progress", ()] == 1
