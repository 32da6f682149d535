"""Make tests/models/text/data: small models trained by fastText, and its predictions for some texts.

Run it with a Python that has fasttext 0.9.3; `python benchmarks/peers/environment.py` makes one and prints its path.
"""

import base64
import json
import random
from pathlib import Path

import fasttext
import numpy as np

TARGET = Path(__file__).resolve().parent.parent / "tests" / "models" / "text" / "data"
LABELS = ["apple", "pear", "plum", "quince", "fig", "caf\u00e9", "kiwi", "lime", "date"]
WORDS = (
    "red green ripe sour sweet juice tree pie jam seed skin cake na\u00efve \u6f22\u5b57 stra\u00dfe </s-like>".split()
)
WORDS += ["x", "y", "z"]
MODELS = {
    "words": {"minCount": 2, "wordNgrams": 1},
    "bigrams": {"minCount": 2, "wordNgrams": 2, "bucket": 50},
    "subwords": {"minCount": 3, "wordNgrams": 3, "minn": 2, "maxn": 4, "bucket": 60},
}
QUERIES = [
    "",
    "red",
    "red red red",
    "sweet juice from a ripe pear tree",
    "\u6f22\u5b57 na\u00efve stra\u00dfe \U0001f600",
    "nothing here was ever seen",
    "tabs\tand\rreturns\x0band\x0cfeeds\0and nul",
    "__label__apple __label__unseen jam",
    "pie </s> cake",
    "x" * 300,
    "z y x " * 40,
]


def training_lines() -> bytes:
    """Return lines with all oddities that the format allows, drawn with a fixed seed."""
    rng = random.Random(7)
    lines = []
    for _ in range(60):
        labels = rng.choices(LABELS, weights=[20, 12, 9, 6, 5, 4, 3, 2, 1], k=rng.choice([1, 1, 2]))
        words = rng.choices(WORDS, k=rng.randint(1, 7)) + [f"about{labels[0]}"] * 2
        tokens = [f"__label__{label}" for label in labels] + words
        if rng.random() < 0.2:
            rng.shuffle(tokens)  # labels may be anywhere in a line
        lines.append(rng.choice([" ", "  ", "\t"]).join(tokens).encode())
    lines[10] += b" </s> rest __label__apple"
    lines[11] += b" </s>"
    lines[20] = b""
    lines[21] = b"no label here, only words"
    lines[22] = b"__label__lime"
    lines[30] += b" \xff\xfe broken \xc3"
    lines[31] += b"\0nul\0inside"
    lines[32] += b" \r"
    lines[40] = b"__label__date __label__date twice " + b"many " * 200
    return b"\n".join(lines)  # the last line has no newline


def main() -> None:
    """Train the models and write their predictions."""
    TARGET.mkdir(parents=True, exist_ok=True)
    train = TARGET / "train.txt"
    train.write_bytes(training_lines())
    expected = {}
    one = TARGET / "one.txt"
    one.write_text("__label__only some words here\n" * 3)
    for name, options in {**MODELS, "one_label": {"wordNgrams": 1}}.items():
        source = one if name == "one_label" else train
        # Each of 10 threads initialises a tenth of the input matrix. With fewer threads, or a size that is not a
        # multiple of 10, fastText 0.9.3 trains uninitialised memory.
        model = fasttext.train_supervised(
            str(source), loss="hs", dim=10, epoch=20, lr=0.5, thread=10, seed=3, verbose=0, **options
        )
        model.save_model(str(TARGET / f"{name}.bin"))
        answers = []
        for query in QUERIES:
            labels, scores = model.predict(query, k=20)
            vector = np.asarray(model.get_sentence_vector(query), dtype=np.float64)
            answers.append({"labels": list(labels), "scores": scores.tolist(), "vector": vector.tolist()})
        words, counts = model.get_words(include_freq=True, on_unicode_error="replace")
        expected[name] = {"options": options, "answers": answers, "n_words": len(words), "counts": counts.tolist()}
    one.unlink()
    record = {"queries": [base64.b64encode(query.encode()).decode() for query in QUERIES], "models": expected}
    (TARGET / "expected.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
