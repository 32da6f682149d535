"""labeltrees: settings are the parameters of LabelTreeClassifier."""

import os
import sys

import numpy as np
from protocol import folder_bytes, load, serve

import labeltrees as lt

X, Y, Xt = load(sys.argv[1])
models = {}


def train(request):
    model = lt.LabelTreeClassifier(n_jobs=request["threads"], random_state=request["seed"], **request["settings"])
    folder = os.path.join(sys.argv[2], request["name"])
    model.fit(X, Y).save(folder)
    models[request["name"]] = lt.load(folder, in_memory=True)
    return folder_bytes(folder)


def batch(request):
    model = models[request["name"]]
    return lambda: model.predict_topk(Xt, request["k"], n_jobs=1, **request["settings"])[0]


def single(request):
    predictor = models[request["name"]].predictor(request["k"], **request["settings"])
    rows = [Xt[row] for row in range(request["n"])]
    if isinstance(Xt, np.ndarray):
        return lambda row: predictor(rows[row], k=request["k"])
    parts = [(row.indices.astype(np.int32), row.data) for row in rows]
    return lambda row: predictor(*parts[row], request["k"])


serve(train, batch, single)
