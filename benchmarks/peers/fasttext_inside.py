"""Run in the peers' environment: train a fastText model, or predict with a model file.

Arguments: "train" FILE MODEL ARGUMENTS.json, or "answer" MODEL TEXTS.json OUT.json.
"""

import json
import sys
from pathlib import Path

import fasttext

fasttext.FastText.eprint = lambda line: None
if sys.argv[1] == "train":
    arguments = json.loads(Path(sys.argv[4]).read_text())
    fasttext.train_supervised(sys.argv[2], loss="hs", verbose=0, **arguments).save_model(sys.argv[3])
else:
    model = fasttext.load_model(sys.argv[2])
    answers = []
    for text in json.loads(Path(sys.argv[3]).read_text()):
        labels, scores = model.predict(text, 5)
        answers.append([list(labels), scores.tolist()])
    Path(sys.argv[4]).write_text(json.dumps(answers))
