"""A part of the fault injection and of the kills (make faults does all), and forks while locks are slow."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.inject import compile_shim, preloaded

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or shutil.which("cc") is None or "LD_PRELOAD" in os.environ,
    reason="needs Linux, a C compiler, and no other preloaded library such as a sanitizer",
)

FORK = """
import os, signal, threading, time
import numpy as np
import labeltrees as lt

texts = [f"w{i % 7} w{i % 5} w{i % 3}" for i in range(60)]
labels = [[text.split()[0]] for text in texts]
text_model = lt.TextLabelTreeClassifier(dim=8, epochs=1, min_count=1, buckets=50).fit(texts, labels)
linear = lt.LabelTreeClassifier(fanout=3).fit(texts, labels)
stop = threading.Event()


def run(model):
    while not stop.is_set():
        model.predict_topk(texts, 3, n_jobs=2)


threads = [threading.Thread(target=run, args=(model,)) for model in (text_model, linear, text_model)]
for thread in threads:
    thread.start()
codes = []
for _ in range(3):
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        for model in (text_model, linear):
            model.predict_topk(texts, 3, n_jobs=1)
            model.predictor(2)(texts[0])
        os._exit(0)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
stop.set()
for thread in threads:
    thread.join()
print(codes)
"""


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    return compile_shim(tmp_path_factory.mktemp("shim"))


@pytest.mark.parametrize("operation", ["save", "import-fasttext"])
def test_a_failing_call_leaves_the_old_state_or_the_new_one(shim, operation):
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.inject", "--operations", operation, "--most", "3"],
        env=preloaded(shim),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, (outcomes, done.stderr)
    assert {outcome["kind"] for outcome in outcomes if outcome["failed"] > 0} >= {"write", "fsync", "rename"}


KILL = """
import sys
from pathlib import Path
from tests.faults.kill import kill_often
print(kill_often("save", times=2, seed=1, folder=Path(sys.argv[1]))["problems"])
"""


def test_a_killed_save_leaves_the_old_model_or_the_new_one(tmp_path):
    # In a process of its own, because it forks and must have no threads.
    command = [sys.executable, "-W", "ignore", "-c", KILL, tmp_path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_predicts_that_was_forked_while_locks_are_slow(shim):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK],
        env=preloaded(shim, SLOW_LOCKS="1"),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout.strip() == "[0, 0, 0]", done.stderr
