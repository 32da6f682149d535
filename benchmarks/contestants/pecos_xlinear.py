"""PECOS XR-Linear: settings are nr_splits, C, solver_type, beam_size and post_processor; all but the first optional."""

import os
import shutil
import sys

from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.xlinear.model import XLinearModel
from protocol import folder_bytes, load, serve, top_labels

X, Y, Xt = load(sys.argv[1])
models = {}


def train(request):
    settings = request["settings"]
    embeddings = LabelEmbeddingFactory.create(Y, X, method="pifa")
    chain = Indexer.gen(
        embeddings,
        indexer_type="hierarchicalkmeans",
        nr_splits=settings["nr_splits"],
        max_leaf_size=100,
        seed=request["seed"],
        threads=request["threads"],
    )
    costs = {"Cp": settings.get("C", 1.0), "Cn": settings.get("C", 1.0)}
    solver = settings.get("solver_type", "L2R_L2LOSS_SVC_DUAL")
    model = XLinearModel.train(
        X, Y, C=chain, threads=request["threads"], bias=1.0, threshold=0.1, solver_type=solver, **costs
    )
    folder = os.path.join(sys.argv[2], request["name"])
    shutil.rmtree(folder, ignore_errors=True)
    model.save(folder)


def open_model(request):
    folder = os.path.join(sys.argv[2], request["name"])
    models[request["name"]] = XLinearModel.load(folder, is_predict_only=True)
    return folder_bytes(folder)


def batch(request):
    model, k, beam = models[request["name"]], request["k"], request["settings"]["beam_size"]
    threads = request.get("threads", 1)
    post_processor = request["settings"].get("post_processor")

    class Lazy:
        """The matrix of scores; converting it to lists of labels is not timed."""

        def __call__(self):
            self.scores = model.predict(Xt, beam_size=beam, only_topk=k, threads=threads, post_processor=post_processor)
            return self

        def __array__(self, dtype=None, copy=None):
            return top_labels(self.scores, k)

    return Lazy()


def single(request):
    model, k, beam = models[request["name"]], request["k"], request["settings"]["beam_size"]
    rows = [Xt[row : row + 1] for row in range(request["n"])]
    return lambda row: model.predict(rows[row], beam_size=beam, only_topk=k, threads=1)


serve(train, open_model, batch, single)
