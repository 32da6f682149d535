"""napkinXC's PLT: settings are tree_type, C, loss ("squared_hinge" or "logistic") and, for prediction, load_as.

Its search is exact. It predicts batches only.
"""

import os
import shutil
import sys

import numpy as np
from napkinxc.models import PLT
from protocol import folder_bytes, load, serve

X, Y, Xt = load(sys.argv[1])
lists = [] if Y is None else [Y.indices[Y.indptr[row] : Y.indptr[row + 1]].tolist() for row in range(Y.shape[0])]
models = {}


def train(request):
    folder = os.path.join(sys.argv[2], request["name"])
    shutil.rmtree(folder, ignore_errors=True)
    settings = request["settings"]
    losses = {"squared_hinge": "l2", "logistic": "log"}
    tuned = {"liblinear_c": settings["C"], "loss": losses[settings["loss"]]} if "C" in settings else {}
    model = PLT(
        folder,
        **tuned,
        tree_type=settings["tree_type"],
        arity=2,
        max_leaves=100,
        threads=request["threads"],
        seed=request["seed"],
    )
    model.fit(X, lists)


def open_model(request):
    opened(request["name"], {})
    return folder_bytes(os.path.join(sys.argv[2], request["name"]))


def opened(name, settings):
    """Return the model with its weights in the form that the settings ask for, by default hash tables."""
    load_as = settings.get("load_as", "map")
    if (name, load_as) not in models:
        models[name, load_as] = PLT(os.path.join(sys.argv[2], name), load_as=load_as)
        models[name, load_as].load()
    return models[name, load_as]


def padded(found, k):
    labels = np.full((len(found), k), -1, dtype=np.int64)
    for row, of_row in enumerate(found):
        labels[row, : len(of_row)] = of_row[:k]
    return labels


def batch(request):
    model, k = opened(request["name"], request["settings"]), request["k"]
    model.set_params(threads=request.get("threads", 1))
    return lambda: padded(model.predict(Xt, top_k=k), k)


def single(request):
    model, k = opened(request["name"], request["settings"]), request["k"]
    model.set_params(threads=1)
    rows = [Xt[row] for row in range(request["n"])]
    return lambda row: model.predict(rows[row], top_k=k)


serve(train, open_model, batch, single)
