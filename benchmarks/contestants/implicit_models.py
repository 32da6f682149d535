"""implicit: settings are "model" (als, cosine, tfidf, bm25), "rows", and the parameters of the model.

Rows of the matrix that it learns from are training points: with "rows" = "purchase" the items of a point (its labels),
with "rows" = "all" also those of its history (its features). `feature_label.npy` in the data folder has the label of
each feature, -1 for features that are not labels. Test points are new users, given by their history.
"""

import os
import pickle
import sys

import numpy as np
import scipy.sparse as sp
from implicit.als import AlternatingLeastSquares
from implicit.nearest_neighbours import BM25Recommender, CosineRecommender, TFIDFRecommender
from protocol import folder_bytes, load, serve

MODELS = {
    "als": AlternatingLeastSquares,
    "cosine": CosineRecommender,
    "tfidf": TFIDFRecommender,
    "bm25": BM25Recommender,
}
X, Y, Xt = load(sys.argv[1])
models = {}


def as_labels(features):
    """Return a matrix of features as one of labels; features that are not labels are left out."""
    label = np.load(os.path.join(sys.argv[1], "feature_label.npy"))
    known = np.flatnonzero(label >= 0)
    move = sp.csr_matrix((np.ones(len(known)), (known, label[known])), shape=(features.shape[1], Y.shape[1]))
    return sp.csr_matrix(features @ move, dtype=np.float32)


def train(request):
    settings = dict(request["settings"])
    kind, rows = settings.pop("model"), settings.pop("rows")
    if kind == "als":
        settings |= {"random_state": request["seed"], "iterations": 15}
    model = MODELS[kind](num_threads=request["threads"], **settings)
    points = Y if rows == "purchase" else Y + as_labels(X)
    model.fit(sp.csr_matrix(points, dtype=np.float32), show_progress=False)
    os.makedirs(os.path.join(sys.argv[2], request["name"]), exist_ok=True)
    with open(path_of(request), "wb") as file:
        pickle.dump(model, file)


def path_of(request):
    return os.path.join(sys.argv[2], request["name"], "model.pickle")


def open_model(request):
    with open(path_of(request), "rb") as file:
        models[request["name"]] = pickle.load(file)
    return folder_bytes(os.path.dirname(path_of(request)))


def recommend(request, histories):
    model = models[request["name"]]
    users = np.arange(histories.shape[0])
    again = {"recalculate_user": True} if hasattr(model, "user_factors") else {}
    return model.recommend(users, histories, N=request["k"], filter_already_liked_items=False, **again)[0]


def batch(request):
    histories = as_labels(Xt)
    return lambda: np.asarray(recommend(request, histories), dtype=np.int64)


def single(request):
    histories = as_labels(Xt)
    rows = [histories[row] for row in range(request["n"])]
    return lambda row: recommend(request, rows[row])


serve(train, open_model, batch, single)
