"""Counters of one worker and of several."""

import os
import subprocess
import sys

from prometheus_client.parser import text_string_to_metric_families

from labeltrees.serving import make_app


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


WORKER = """
import sys
from labeltrees.serving.metrics import Metrics
from labeltrees.serving.registry import Registry

metrics = Metrics(Registry(sys.argv[1]))
metrics.begin_request()
metrics.end_request("predict", 200, 0.001)
metrics.begin_request()  # in progress when the worker ends
metrics.count_searches("fruit", 3, 1)
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
