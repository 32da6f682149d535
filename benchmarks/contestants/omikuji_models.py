"""omikuji: settings are n_trees (1), linear_c (1), loss ("hinge" or "log") and beam_size.

It trains from a file and predicts one point per call.
"""

import os
import shutil
import sys

import numpy as np
import omikuji
from protocol import folder_bytes, load, serve

X, Y, Xt = load(sys.argv[1])
rows = [list(zip(Xt[row].indices.tolist(), Xt[row].data.tolist(), strict=True)) for row in range(Xt.shape[0])]
models = {}


def train(request):
    wanted = request["settings"]
    settings = omikuji.Model.default_hyper_param()
    settings.n_trees = wanted.get("n_trees", 1)
    settings.linear_c = wanted.get("linear_c", 1.0)
    settings.linear_loss_type = ("hinge", "log").index(wanted.get("loss", "hinge"))
    model = omikuji.Model.train_on_data(os.path.join(sys.argv[1], "train.txt"), settings, n_threads=request["threads"])
    folder = os.path.join(sys.argv[2], request["name"])
    shutil.rmtree(folder, ignore_errors=True)  # it refuses to replace a model that has other settings
    model.save(folder)


def open_model(request):
    folder = os.path.join(sys.argv[2], request["name"])
    model = omikuji.Model.load(folder)
    model.init_prediction_thread_pool(1)  # one thread, like everyone; single calls are also faster
    models[request["name"]] = model
    return folder_bytes(folder)


def batch(request):
    model, k, beam = models[request["name"]], request["k"], request["settings"]["beam_size"]

    def run():
        labels = np.full((len(rows), k), -1, dtype=np.int64)
        for number, row in enumerate(rows):
            found = [label for label, _ in model.predict(row, beam_size=beam, top_k=k)]
            labels[number, : len(found)] = found
        return labels

    return run


def single(request):
    model, k, beam = models[request["name"]], request["k"], request["settings"]["beam_size"]
    return lambda row: model.predict(rows[row], beam_size=beam, top_k=k)


serve(train, open_model, batch, single)
