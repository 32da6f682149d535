"""Run under one build of labeltrees: print a SHA-256 digest of everything it computes from a dataset, as JSON.

    python benchmarks/builds/digests.py SOURCE

SOURCE is "bundled" or a dataset's folder. `python -m benchmarks.same_results` runs this under two builds. Only public
names that both builds have may be used here.
"""

import hashlib
import itertools
import json
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from inputs import load

import labeltrees as lt

TRADEOFFS = (0.0, 1.0, 1.333, 2.0)
FANOUTS = (2, 16, "auto")
COVERS = ("marginal", "greedy")
PATHS = ("weighted", "direct")
MOST_QUERIES = 2000
MOST_CALLS = 300
N_PARTS = 4
SMALL = 2000  # training points of the models whose cost grows with points x labels, or with dense features
DENSE_FEATURES = 200
# The time that training took, and the checksum of the manifest, which covers it.
CHANGING_LINES = re.compile(r'^( "checksum"|\s+"\w*seconds"): .*$', re.MULTILINE)


def digest(*values):
    """Return the SHA-256 digest of arrays, matrices and plain values."""
    total = hashlib.sha256()
    for value in values:
        if sp.issparse(value):
            value = sp.csr_array(value)
            total.update(digest(value.indptr, value.indices, value.data, np.array(value.shape)).encode())
            continue
        array = np.asarray(value)
        total.update(f"{array.dtype.str} {array.shape}".encode())
        total.update(repr(array.tolist()).encode() if array.dtype.hasobject else np.ascontiguousarray(array).tobytes())
    return total.hexdigest()


class Digests:
    """The digests of one dataset, by group and item."""

    def __init__(self, source):
        self.train, self.test = load(source)
        self.found = {}
        n = min(self.test.n_points // 2, MOST_QUERIES)
        self.calibration, self.queries = np.arange(n), np.arange(n, 2 * n)

    def add(self, group, item, *values):
        """Store the digest of some values."""
        self.found.setdefault(group, {})[item] = digest(*values)

    def add_data(self):
        """Add what was read, and what is derived from labels and features."""
        for name, dataset in (("train", self.train), ("test", self.test)):
            self.add("data", f"{name}: X, Y", dataset.X, dataset.Y)
            if dataset.label_names is not None:
                self.add("data", f"{name}: names", dataset.label_names, dataset.feature_names, dataset.texts)
        X, Y = self.train.X, self.train.Y
        self.add("data", "pifa", lt.pifa(X, Y))
        self.add("data", "label frequencies", lt.label_frequencies(Y))
        for cover in COVERS:
            self.add("data", f"cover frequencies, {cover}", lt.cover_frequencies(Y, method=cover))

    def add_trees(self):
        """Add the arrays of trees over a grid of settings."""
        for tradeoff, fanout, cover, path in itertools.product(TRADEOFFS, FANOUTS, COVERS, PATHS):
            tree = lt.build_tree(
                self.train.X, self.train.Y, tradeoff=tradeoff, fanout=fanout, cover=cover, path=path, n_jobs=1
            )
            item = f"tradeoff {tradeoff:g}, fanout {fanout}, {cover}, {path}"
            self.add("trees", item, tree.child_ptr, tree.children)

    def add_linear_models(self):
        """Add linear models: their files, and what they predict."""
        train, test = self.train, self.test
        models = {
            "default": lt.LabelTreeClassifier(C=1.0, n_jobs=1),
            "logistic": lt.LabelTreeClassifier(C=1.0, loss="logistic", n_jobs=1),
            "2 trees": lt.LabelTreeClassifier(C=1.0, n_trees=2, n_jobs=1),
            "parabel()": lt.LabelTreeClassifier.parabel(n_jobs=1),
        }
        for name, model in models.items():
            self.add_model(f"linear, {name}", model.fit(train.X, train.Y), test.X)
        rows = np.arange(min(SMALL, train.n_points))
        labels = np.unique(train.Y[rows].indices)
        Y = train.Y[rows][:, labels]
        flat = lt.LabelTreeClassifier.one_vs_all(n_jobs=1).fit(train.X[rows], Y)
        self.add_model("linear, flat tree", flat, test.X, labels)
        frequent = np.argsort(-np.bincount(train.X.indices, minlength=train.n_features), kind="stable")
        columns = np.sort(frequent[:DENSE_FEATURES])
        dense = lt.LabelTreeClassifier(C=1.0, n_jobs=1).fit(train.X[rows][:, columns].toarray(), Y)
        self.add_model("linear, dense rows", dense, test.X[:, columns].toarray(), labels)
        if train.texts is not None:
            names = [train.label_names[train.Y[[row]].indices].tolist() for row in rows]
            model = lt.LabelTreeClassifier(C=1.0, n_jobs=1).fit([train.texts[row] for row in rows], names)
            self.add_model("linear, from texts", model, np.array(test.texts, dtype=object), labels)

    def add_fits_of_parts(self):
        """Add the model with default settings, fitted in memory, in parts and on Dask: its files and predictions."""
        from dask.distributed import Client

        from labeltrees.dask import DaskLabelTreeClassifier

        with tempfile.TemporaryDirectory() as temporary:
            data = lt.Dataset(self.train.X, self.train.Y)
            lt.write_parts(data, Path(temporary) / "parts", self.train.n_points // N_PARTS + 1)
            parts = lt.open_parts(Path(temporary) / "parts")
            self.add_fit("fit in memory", lt.LabelTreeClassifier(n_jobs=1).fit(data))
            self.add_fit("fit in parts", lt.LabelTreeClassifier(n_jobs=1).fit(parts))
            with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
                self.add_fit("fit on Dask", DaskLabelTreeClassifier(client=client, n_jobs=1).fit(parts).to_local())

    def add_fit(self, group, model):
        """Add a model's files, and its predictions with default settings."""
        self.add_files(group, model, "")
        self.add(group, "predictions", *model.predict_topk(self.test.X[self.queries], 5))

    def add_text_models(self):
        """Add text models, trained by one thread."""
        if self.train.texts is None:
            return
        small = {"dim": 32, "epochs": 2, "buckets": 100_000, "n_jobs": 1}
        models = {
            "tradeoff 1": lt.TextLabelTreeClassifier(**small),
            "Huffman": lt.TextLabelTreeClassifier(tree="huffman", **small),
            "character n-grams": lt.TextLabelTreeClassifier(min_n=2, max_n=3, **small),
        }
        for name, model in models.items():
            model.fit(list(self.train.texts), self.train.Y)
            self.add_model(f"text, {name}", model, np.array(self.test.texts, dtype=object))

    def add_model(self, group, model, X, labels=None):
        """Add a model's files and predictions, before and after it is calibrated."""
        for number, tree in enumerate(model.trees_ if hasattr(model, "trees_") else [model.tree_]):
            self.add(group, f"tree {number}", tree.child_ptr, tree.children)
        queries = X[self.queries]
        self.add_files(group, model, "")
        self.add_predictions(group, model, queries)
        Y = self.test.Y[self.calibration]
        model.calibrate(X[self.calibration], Y if labels is None else Y[:, labels])
        for agreement in (0.9, 0.99, 1.0):
            for k in (1, 5):
                result = model.predict_topk(queries, k, agreement=agreement)
                self.add(group, f"agreement {agreement:g}, k {k}", *result)
        self.add(group, "predict_proba", model.predict_proba(queries))
        loaded = self.add_files(group, model, "calibrated: ")
        self.add(group, "loaded, agreement 0.9", *loaded.predict_topk(queries, 5, agreement=0.9))

    def add_files(self, group, model, prefix):
        """Add the files of the saved model; return the model as it is loaded from them."""
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary) / "model"
            model.save(folder)
            for path in sorted(path for path in folder.rglob("*") if path.is_file()):
                content = path.read_bytes()
                if path.name == "manifest.json":
                    content = CHANGING_LINES.sub("", content.decode()).encode()
                self.add(group, f"{prefix}file {path.relative_to(folder)}", np.frombuffer(content, dtype=np.uint8))
            return lt.load(folder, in_memory=True)

    def add_predictions(self, group, model, queries):
        """Add labels and scores for every way to search."""
        rng = np.random.default_rng(0)
        n_labels = len(model.classes_)
        some = np.sort(rng.permutation(n_labels)[: max(n_labels // 3, 1)])
        lists = [np.sort(rng.permutation(n_labels)[:20]).tolist() for _ in range(queries.shape[0])]
        beams = {"beam 10, ": {"beam": 10}, "exact, ": {"beam": None}} if group.startswith("linear") else {"": {}}
        limits = {"all labels": {}, "candidates": {"candidates": some}, "exclude": {"exclude": some}}
        limits |= {"candidates per query": {"candidates": lists}, "exclude per query": {"exclude": lists}}
        for (way, beam), (limit, allowed), k in itertools.product(beams.items(), limits.items(), (1, 5)):
            labels, scores, stats = model.predict_topk(queries, k, **beam, **allowed, return_stats=True)
            self.add(group, f"{way}{limit}, k {k}", labels, scores)
            self.add(group, f"{way}{limit}, k {k}: work", stats.chunks, stats.classifiers, stats.depth, stats.partial)
        for k in (1, 5):
            answers = [model.predictor(k)(*query) for query in single_queries(queries)]
            self.add(group, f"single calls, k {k}", *itertools.chain.from_iterable(answers))
        self.add(group, "max_chunks 3", *model.predict_topk(queries, 5, max_chunks=3))
        self.add(group, "predict_scores", model.predict_scores(queries))


def single_queries(queries):
    """Return the arguments of a predictor's calls for the first queries."""
    some = queries[:MOST_CALLS]
    if some.dtype == object:
        return [(text,) for text in some]
    rows = sp.csr_array(some).astype(np.float32)
    ends = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    return [(rows.indices[a:b].astype(np.int32), rows.data[a:b]) for a, b in ends]


def main():
    digests = Digests(sys.argv[1])
    digests.add_data()
    digests.add_trees()
    digests.add_linear_models()
    digests.add_fits_of_parts()
    digests.add_text_models()
    print(json.dumps({"package": lt.__file__, "version": lt.__version__, "digests": digests.found}))


if __name__ == "__main__":
    main()
