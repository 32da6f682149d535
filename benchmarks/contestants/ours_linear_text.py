"""labeltrees: LabelTreeClassifier fitted on texts, with its own vectorizer."""

from text_protocol import read, serve

import labeltrees as lt

model = None
PREFIX = "__label__"


def train(request):
    texts, labels = [], []
    with open(request["file"], encoding="utf-8") as file:
        for line in file:
            words = line.split()
            labels.append([word[len(PREFIX) :] for word in words if word.startswith(PREFIX)])
            texts.append(" ".join(word for word in words if not word.startswith(PREFIX)))
    trained = lt.LabelTreeClassifier(n_jobs=request["threads"], random_state=request["seed"])
    trained.fit(texts, labels)
    if "calibrate" in request:
        trained.calibrate(read(request["calibrate"]))
    trained.save(request["save"])
    load(request)
    return 0


def load(request):
    global model
    model = lt.load(request["save"], in_memory=True)


def batch(request, texts):
    return lambda: model.predict_topk(texts, 5, n_jobs=request["threads"], **request["settings"])[0]


def single(request):
    predictor, names = model.predictor(5, **request["settings"]), model.classes_
    return lambda text: names[predictor(text)[0]]


serve(train, load, lambda text: model.predict_topk([text], 5)[0][0], batch, single)
