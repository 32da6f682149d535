"""labeltrees: TextLabelTreeClassifier on Huffman's tree, or at the tradeoff of the request."""

from text_protocol import SETTINGS, serve

import labeltrees as lt

model = names = predictor = None


def train(request):
    global model, names, predictor
    how = {"tree": "huffman"} if request.get("tradeoff") is None else {"tradeoff": request["tradeoff"]}
    model = lt.TextLabelTreeClassifier(
        epochs=request["epochs"], n_jobs=request["threads"], random_state=request["seed"], **how, **SETTINGS
    )
    model.fit_file(request["file"])
    names, predictor = model.classes_, model.predictor(5)
    stats = model.stats_
    seconds = (stats["seconds"] - stats["tree_seconds"]) * request["threads"]
    return stats["n_tokens"] * request["epochs"] / seconds


serve(train, lambda text: names[predictor(text)[0]].tolist())
