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
    with tempfile.TemporaryFile("w+") as progress:  # where fastText tells its speed
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


serve(train, lambda text: [label[len("__label__") :] for label in model.predict(text, 5)[0]])
