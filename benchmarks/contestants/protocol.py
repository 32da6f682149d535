"""What every contestant does: loads the same matrices, answers one JSON request a line. Runs in any environment.

Requests: {"do": "train", "name", ...} -> seconds, cpu, peak_mib, bytes;
{"do": "batch", "name", "k", "out", ...} -> seconds (best of "repeats"), labels saved to out;
{"do": "single", "name", "k", "n", ...} -> p50, p99 in microseconds over the first n points, one call each.
"""

import json
import os
import sys
import time

import numpy as np
import scipy.sparse as sp


def load(folder):
    """Return X, Y, test X of the data folder as CSR float32 matrices; X as arrays if the third argument is "dense"."""
    files = [os.path.join(folder, f"{part}.npz") for part in ("X", "Y", "Xt")]
    X, Y, Xt = [sp.csr_matrix(sp.load_npz(file), dtype=np.float32) for file in files]
    return [X.toarray(), Y, Xt.toarray()] if sys.argv[3:] == ["dense"] else [X, Y, Xt]


def folder_bytes(folder):
    """Return the bytes of all files below a folder."""
    return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(folder) for name in names)


def peak_mib():
    """Return the most memory this process has had; getrusage's figure would start with that of the parent."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))


def percentiles(seconds):
    """Return p50 and p99 in microseconds."""
    return {"p50": float(np.percentile(seconds, 50) * 1e6), "p99": float(np.percentile(seconds, 99) * 1e6)}


def serve(train, batch, single):
    """Answer requests until the input ends.

    train(request) -> bytes on disk; batch(request) -> function that returns labels (n, k);
    single(request) -> function of a row number that answers that one query.
    """
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "train":
            wall, cpu = time.perf_counter(), time.process_time()
            size = train(request)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            answer = {"seconds": wall, "cpu": cpu, "bytes": size, "peak_mib": peak_mib()}
        elif request["do"] == "batch":
            run = batch(request)
            best = np.inf
            for _ in range(request.get("repeats", 3)):
                start = time.perf_counter()
                labels = run()
                best = min(best, time.perf_counter() - start)
            np.save(request["out"], labels)
            answer = {"seconds": best}
        else:
            ask = single(request)
            times = []
            for row in range(request["n"]):
                start = time.perf_counter()
                ask(row)
                times.append(time.perf_counter() - start)
            answer = percentiles(times)
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
