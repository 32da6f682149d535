"""The main loop of every contestant: load the matrices, then answer one JSON request per line. Runs in any environment.

Requests: {"do": "train", "name", ...} -> seconds, cpu, peak_mib, bytes;
{"do": "load", "name", ...} -> bytes: opens the model that was saved under that name, in this or an earlier run;
{"do": "batch", "name", "k", "out", ...} -> seconds (best of "repeats", repeated further until "at_least" seconds have
passed; on "threads" threads, by default one); labels are saved to "out";
{"do": "single", "name", "k", "n", ...} -> p50, p99 in microseconds over the first n points, with one call per point.
"""

import json
import os
import sys
import time

import numpy as np
import scipy.sparse as sp

MAX_REPEATS = 20


def load(folder):
    """Return X, Y and the test X of the data folder as CSR float32 matrices.

    If the third argument of the script is "dense", X and the test X are arrays. If it is "answers", X and Y are None:
    nothing will be trained.
    """

    def read(part):
        return sp.csr_matrix(sp.load_npz(os.path.join(folder, f"{part}.npz")), dtype=np.float32)

    if sys.argv[3:] == ["answers"]:
        return [None, None, read("Xt")]
    X, Y, Xt = read("X"), read("Y"), read("Xt")
    return [X.toarray(), Y, Xt.toarray()] if sys.argv[3:] == ["dense"] else [X, Y, Xt]


def folder_bytes(folder):
    """Return the bytes of all files below a folder."""
    return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(folder) for name in names)


def peak_mib():
    """Return the peak memory of this process; getrusage would include that of the parent before the fork."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))


def percentiles(seconds):
    """Return p50 and p99 in microseconds."""
    return {"p50": float(np.percentile(seconds, 50) * 1e6), "p99": float(np.percentile(seconds, 99) * 1e6)}


def best_of(repeats, run, at_least=0.0):
    """Return the shortest time of some runs and the last result; short runs repeat until `at_least` seconds."""
    times = []
    while len(times) < repeats or (sum(times) < at_least and len(times) < MAX_REPEATS):
        start = time.perf_counter()
        found = run()
        times.append(time.perf_counter() - start)
    return min(times), found


def call_times(ask, queries):
    """Return the seconds of one call for each query."""
    times = []
    for query in queries:
        start = time.perf_counter()
        ask(query)
        times.append(time.perf_counter() - start)
    return times


def serve(train, load, batch, single):
    """Answer requests until the input ends.

    train(request) saves a model; load(request) opens it and returns its bytes on disk; batch(request) returns a
    function that returns labels (n, k); single(request) returns a function of a row number that predicts that row.
    """
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "train":
            wall, cpu = time.perf_counter(), time.process_time()
            train(request)
            size = load(request)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            answer = {"seconds": wall, "cpu": cpu, "bytes": size, "peak_mib": peak_mib()}
        elif request["do"] == "load":
            answer = {"bytes": load(request)}
        elif request["do"] == "batch":
            seconds, labels = best_of(request.get("repeats", 3), batch(request), request.get("at_least", 0))
            np.save(request["out"], labels)
            answer = {"seconds": seconds}
        else:
            answer = percentiles(call_times(single(request), range(request["n"])))
        print(json.dumps(answer), flush=True)


def top_labels(scores, k):
    """Return the k best labels (n, k) of a CSR matrix of scores, padded with -1."""
    scores = sp.csr_matrix(scores)
    labels = np.full((scores.shape[0], k), -1, dtype=np.int64)
    for row in range(scores.shape[0]):
        start, end = scores.indptr[row], scores.indptr[row + 1]
        order = np.argsort(-scores.data[start:end], kind="stable")[:k]
        labels[row, : len(order)] = scores.indices[start:end][order]
    return labels
