"""labeltrees: TextLabelTreeClassifier on a Huffman tree, or at the tradeoff of the request."""

from text_protocol import SETTINGS, read, serve

import labeltrees as lt

model = names = predictor = None


def train(request):
    tree = {"tree": "huffman"} if request.get("tradeoff") is None else {"tradeoff": request["tradeoff"]}
    trained = lt.TextLabelTreeClassifier(
        epochs=request["epochs"], n_jobs=request["threads"], random_state=request["seed"], **tree, **SETTINGS
    )
    trained.fit_file(request["file"])
    if "calibrate" in request:
        trained.calibrate(read(request["calibrate"]))
    use(trained)
    if request["save"]:
        trained.save(request["save"])
    stats = trained.stats_
    seconds = (stats["seconds"] - stats["tree_seconds"]) * request["threads"]
    return stats["n_tokens"] * request["epochs"] / seconds


def use(trained):
    global model, names, predictor
    model, names, predictor = trained, trained.classes_, trained.predictor(5)


def batch(request, texts):
    return lambda: model.predict_topk(texts, 5, n_jobs=request["threads"], **request["settings"])[0]


def single(request):
    ask = model.predictor(5, **request["settings"])
    return lambda text: names[ask(text)[0]]


serve(
    train,
    lambda request: use(lt.load(request["save"], in_memory=True)),
    lambda text: names[predictor(text)[0]].tolist(),
    batch,
    single,
)
