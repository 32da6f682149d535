"""labeltrees: settings are the parameters of LabelTreeClassifier; "calibrate" names a file of points for it."""

import os
import sys

import numpy as np
import scipy.sparse as sp
from protocol import folder_bytes, load, serve

import labeltrees as lt

X, Y, Xt = load(sys.argv[1])
models = {}


def train(request):
    model = lt.LabelTreeClassifier(n_jobs=request["threads"], random_state=request["seed"], **request["settings"])
    model.fit(X, Y)
    if "calibrate" in request:
        model.calibrate(sp.load_npz(request["calibrate"]))
    model.save(os.path.join(sys.argv[2], request["name"]))


def open_model(request):
    folder = os.path.join(sys.argv[2], request["name"])
    models[request["name"]] = lt.load(folder, in_memory=True)
    return folder_bytes(folder)


def batch(request):
    model = models[request["name"]]
    threads = request.get("threads", 1)
    return lambda: model.predict_topk(Xt, request["k"], n_jobs=threads, **request["settings"])[0]


def single(request):
    predictor = models[request["name"]].predictor(request["k"], **request["settings"])
    rows = [Xt[row] for row in range(request["n"])]
    if isinstance(Xt, np.ndarray):
        return lambda row: predictor(rows[row], k=request["k"])
    parts = [(row.indices.astype(np.int32), row.data) for row in rows]
    return lambda row: predictor(*parts[row], request["k"])


serve(train, open_model, batch, single)
