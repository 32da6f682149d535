"""A process ends cleanly while daemon threads search or fit: Python up to 3.13 ends such threads in mid-call."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys, threading, time
import numpy as np, scipy.sparse as sp
import labeltrees as lt

X = sp.random_array((2000, 300), density=0.02, rng=np.random.default_rng(0), dtype=np.float32).tocsr()
Y = sp.csr_array((np.ones(2000, np.float32), (np.arange(2000), np.arange(2000) % 100)), shape=(2000, 100))
texts = ["red apple pie"] * 2000
model = lt.LabelTreeClassifier().fit(X, Y)
answer = model.predictor()
row = X[[0]]
started = threading.Event()
work = {
    "predict": lambda: model.predict_topk(X, 5),
    "single calls": lambda: answer(row.indices, row.data),
    "fit": lambda: lt.LabelTreeClassifier().fit(X, Y),
    "functions of the user": lambda: lt.TfidfVectorizer(preprocessor=lambda text: text.lower()).fit_transform(texts),
    "progress": lambda: lt.build_tree(X, Y, progress=lambda done, total=None: sum(range(1000))),
}[sys.argv[1]]


def run():
    while True:
        work()
        started.set()


for _ in range(2):
    threading.Thread(target=run, daemon=True).start()
started.wait(30)
time.sleep(float(sys.argv[2]))
"""


@pytest.mark.parametrize("work", ["predict", "single calls", "fit", "functions of the user", "progress"])
def test_a_process_ends_cleanly_while_daemon_threads_work(work):
    # Python never joins daemon threads, so the threads that they started remain. That is no fault.
    options = os.environ.get("TSAN_OPTIONS", "") + " report_thread_leaks=0"
    for seconds in ("0", "0.03"):
        run = subprocess.run(
            [sys.executable, "-c", PROGRAM, work, seconds],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONWARNINGS": "", "TSAN_OPTIONS": options},
            timeout=100,
        )
        assert (run.returncode, run.stderr) == (0, "")
