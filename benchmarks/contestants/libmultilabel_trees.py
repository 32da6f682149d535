"""LibMultiLabel's linear trees: settings are, for prediction, beam_size.

It returns a dense vector of all labels' scores per query, so queries go in blocks; finding the k best is timed, too.
Its k-means fails if a label has no point, so such labels are left out.
"""

import os
import pickle
import sys

import numpy as np
import scipy.sparse as sp
from libmultilabel import linear
from protocol import load, serve

BLOCK = 256  # queries

X, Y, Xt = load(sys.argv[1])
models = {}


def path_of(request):
    return os.path.join(sys.argv[2], request["name"] + ".pickle")


def train(request):
    known = np.flatnonzero(np.diff(Y.tocsc().indptr))
    np.random.seed(request["seed"])  # noqa: NPY002  its k-means has no other seed
    model = linear.train_tree(Y[:, known], X, f"-s 1 -B 1 -q -m {request['threads']}")
    with open(path_of(request), "wb") as file:
        pickle.dump((model, known), file, protocol=5)


def open_model(request):
    with open(path_of(request), "rb") as file:
        models[request["name"]] = pickle.load(file)
    return os.path.getsize(path_of(request))


def best_labels(opened, rows, beam, k):
    model, known = opened
    scores = np.asarray(model.predict_values(rows, beam_width=beam))
    some = np.argpartition(-scores, k, axis=1)[:, :k]
    order = np.argsort(-np.take_along_axis(scores, some, axis=1), axis=1, kind="stable")
    return known[np.take_along_axis(some, order, axis=1)]


def batch(request):
    model, k, beam = models[request["name"]], request["k"], request["settings"]["beam_size"]
    blocks = [Xt[first : first + BLOCK] for first in range(0, Xt.shape[0], BLOCK)]
    return lambda: np.concatenate([best_labels(model, rows, beam, k) for rows in blocks])


def single(request):
    model, k, beam = models[request["name"]], request["k"], request["settings"]["beam_size"]
    rows = [sp.csr_matrix(Xt[row : row + 1]) for row in range(request["n"])]
    return lambda row: best_labels(model, rows[row], beam, k)


serve(train, open_model, batch, single)
