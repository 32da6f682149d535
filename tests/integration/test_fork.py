"""A process can fork while other threads predict: the child can predict too, because no lock is left behind."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import labeltrees as lt
from tests.models.twin import make_problem
from tests.sanitizers import WITH_THREAD_SANITIZER

N_FORKS = 20
SECONDS = 20  # for a child to predict

WORDS = [f"w{number}" for number in range(50)]


def linear_case():
    X, Y = make_problem(seed=1, n=200, d=40, n_labels=30)
    model = lt.LabelTreeClassifier(fanout=4).fit(X, Y)
    return model, X, X[[0]]


def text_case():
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, size=6)) for _ in range(200)]
    labels = [[text.split()[0]] for text in texts]
    model = lt.TextLabelTreeClassifier(dim=8, epochs=2, min_count=1, buckets=100).fit(texts, labels)
    return model, texts, texts[0]


def wait_for(child):
    """The exit code of a child process; kills it if it takes too long."""
    deadline = time.monotonic() + 2 * SECONDS
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "still running"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
@pytest.mark.skipif(
    WITH_THREAD_SANITIZER,
    reason="ThreadSanitizer ends a fork whose new threads have the addresses of threads of its parent",
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Python warns about forking with threads
@pytest.mark.parametrize("make_case", [linear_case, text_case])
def test_a_child_can_predict_that_was_forked_while_threads_predict(make_case):
    model, batch, single = make_case()
    predictor = model.predictor(3)
    expected, expected_single = model.predict_topk(batch, 3, n_jobs=2)[1], predictor(single)[1]
    stop = threading.Event()

    def run(predict):
        while not stop.is_set():
            predict()

    calls = [lambda: predictor(single), lambda: model.predict_topk(batch, 3, n_jobs=2)]
    threads = [threading.Thread(target=run, args=(call,)) for call in (*calls, *calls)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(N_FORKS):
            child = os.fork()
            if child == 0:
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(SECONDS)
                try:
                    same = np.array_equal(model.predict_topk(batch, 3, n_jobs=2)[1], expected)
                    os._exit(0 if same and np.array_equal(predictor(single)[1], expected_single) else 1)
                except BaseException:
                    os._exit(2)
            assert wait_for(child) == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()
