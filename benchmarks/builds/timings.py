"""Run under one build of labeltrees: time one task per request, on one thread.

    python benchmarks/builds/timings.py SOURCE

SOURCE is "bundled" or a dataset's folder. The first answer is a list of the tasks. A request names a task; the answer
is its time in seconds, or in microseconds per query for searches, and a digest of its result. `python -m
benchmarks.compare_builds` runs this under two builds. Only public names that both builds have may be used here.
"""

import hashlib
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from inputs import files, load

import labeltrees as lt

K = 5
MOST_QUERIES = 3000
MOST_CALLS = 1000
TURN_SECONDS = 0.3  # a turn repeats a short task until this time has passed
SMALL_TEXT_MODEL = {"dim": 64, "epochs": 1, "buckets": 200_000, "n_jobs": 1}


class Tasks:
    """The tasks of one dataset by name; each returns its time and its result."""

    def __init__(self, source, temporary):
        self.train, test = load(source)
        self.test = test[:MOST_QUERIES]
        self.queries = self.test.X.astype(np.float32)
        self.queries.indices = self.queries.indices.astype(np.int32)
        self.model = self.fit_linear()
        xmc = Path(temporary) / "train.txt"
        lt.write_xmc(self.train, xmc)
        self.by_name = {
            "read_xmc, s": seconds(lambda: lt.read_xmc(xmc), dataset_arrays),
            "build_tree, s": seconds(lambda: lt.build_tree(self.train.X, self.train.Y, n_jobs=1), tree_arrays),
            "fit, s": seconds(self.fit_linear, lambda model: model.predict_topk(self.queries, K)),
            "batch search, us per query": self.batch(lambda: self.model.predict_topk(self.queries, K)),
            "exact search, us per query": self.batch(lambda: self.model.predict_topk(self.queries, K, beam=None)),
            "single calls, us": single_calls(self.model.predictor(K), rows_of(self.queries)),
        }
        if self.train.texts is not None:
            self.add_text_tasks(source)

    def add_text_tasks(self, source):
        """Add the tasks of a dataset that has texts."""
        self.texts, self.new_texts = list(self.train.texts), list(self.test.texts)
        self.text_model = self.fit_text()
        fitted = new_vectorizer().fit(self.texts)
        if source != "bundled":
            self.by_name["read_texts, s"] = seconds(lambda: lt.read_texts(files(source)[0]), dataset_arrays)
        self.by_name |= {
            "vectorizer, fit_transform, s": seconds(lambda: new_vectorizer().fit_transform(self.texts), matrix_arrays),
            "vectorizer, transform, s": seconds(lambda: fitted.transform(self.texts), matrix_arrays),
            "text model, fit, s": seconds(self.fit_text, lambda model: model.predict_topk(self.new_texts, K)),
            "text model, batch search, us per query": self.batch(
                lambda: self.text_model.predict_topk(self.new_texts, K)
            ),
            "text model, single calls, us": single_calls(
                self.text_model.predictor(K), [(text,) for text in self.new_texts]
            ),
        }

    def fit_linear(self):
        """Train a linear model with the default settings."""
        return lt.LabelTreeClassifier(C=1.0, n_jobs=1).fit(self.train.X, self.train.Y)

    def fit_text(self):
        """Train a small text model."""
        return lt.TextLabelTreeClassifier(**SMALL_TEXT_MODEL).fit(self.texts, self.train.Y)

    def batch(self, search):
        """Return a task that searches for all queries and measures microseconds per query."""
        return seconds(search, tuple, scale=1e6 / self.test.n_points)

    def precision(self):
        """Return precision at 1, 3 and 5 of the linear model, and of the text model if there is one."""
        answers = {"linear": self.model.predict_topk(self.queries, K)[0]}
        if self.train.texts is not None:
            answers["text"] = self.text_model.predict_topk(self.new_texts, K)[0]
        return {
            name: [100 * lt.metrics.precision_at_k(self.test.Y, labels, k) for k in (1, 3, 5)]
            for name, labels in answers.items()
        }


def new_vectorizer():
    return lt.TfidfVectorizer(min_df=2, n_jobs=1)


def dataset_arrays(dataset):
    return [*matrix_arrays(dataset.X), *matrix_arrays(dataset.Y)]


def matrix_arrays(matrix):
    return [matrix.indptr, matrix.indices, matrix.data]


def tree_arrays(tree):
    return [tree.child_ptr, tree.children]


def rows_of(X):
    """Return the ids and values of each row's features."""
    return [(X.indices[a:b], X.data[a:b]) for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)]


def seconds(work, arrays, scale=1.0):
    """Return a task that measures the processor time of some work, which other programs disturb little.

    Its result is the arrays of what the work returned.
    """

    def run():
        start = time.process_time()
        made = work()
        took = time.process_time() - start
        return took * scale, arrays(made)

    return run


def single_calls(predictor, queries):
    """Return a task that measures the median microseconds of one call per query."""
    some = queries[:MOST_CALLS]

    def run():
        took, answers = np.empty(len(some)), []
        for i, query in enumerate(some):
            start = time.perf_counter()
            answer = predictor(*query)
            took[i] = time.perf_counter() - start
            answers.extend(answer)
        return float(np.median(took)) * 1e6, answers

    return run


def best_of_turn(task):
    """Return the best time of a task over one turn, and its last result."""
    end = time.perf_counter() + TURN_SECONDS
    best, result = task()
    while time.perf_counter() < end:
        took, result = task()
        best = min(best, took)
    return best, result


def digest(arrays):
    """Return a short digest of arrays."""
    total = hashlib.sha256()
    for array in arrays:
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()[:16]


def main():
    with tempfile.TemporaryDirectory() as temporary:
        tasks = Tasks(sys.argv[1], temporary)
        for line in sys.stdin:
            request = json.loads(line)
            if "task" in request:
                took, result = best_of_turn(tasks.by_name[request["task"]])
                answer = {"time": took, "digest": digest(result)}
            else:
                answer = {"tasks": list(tasks.by_name), "precision": tasks.precision(), "package": lt.__file__}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
