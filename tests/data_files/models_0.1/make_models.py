"""Writes the models of this folder and their predictions, with labeltrees 0.1.0: they must load in later versions.

Run in this folder by ``python make_models.py`` where labeltrees 0.1.0 is installed. Later versions cannot run it: they
have other parameters.
"""

import json
import shutil
from pathlib import Path

import numpy as np

import labeltrees as lt

HERE = Path(__file__).parent
WORDS = "red green blue apple pear plum car train bus fast slow old new".split()
N_LABELS, N_POINTS, N_FEATURES = 8, 40, 12


def make_data():
    """Return points and labels in which a label shows in two of the features."""
    random = np.random.default_rng(0)
    labels = random.integers(0, N_LABELS, (N_POINTS, 2)) % random.integers(1, N_LABELS + 1, (N_POINTS, 1))
    labels[:N_LABELS, 0] = np.arange(N_LABELS)
    Y = np.zeros((N_POINTS, N_LABELS), dtype=np.float32)
    Y[np.arange(N_POINTS)[:, None], labels] = 1
    X = np.round(random.random((N_POINTS, N_FEATURES)) * (random.random((N_POINTS, N_FEATURES)) < 0.2), 2)
    X[np.arange(N_POINTS)[:, None], labels] += 1
    return X.astype(np.float32), Y


def make_texts():
    """Return texts of two of the words and names of labels that follow from them."""
    random = np.random.default_rng(1)
    pairs = [random.choice(len(WORDS), 3, replace=False) for _ in range(N_POINTS)]
    texts = [" ".join(WORDS[word] for word in pair) for pair in pairs]
    return texts, [sorted({f"label {word % N_LABELS}" for word in pair[:2]}) for pair in pairs]


def main():
    """Write all models."""
    X, Y = make_data()
    texts, names = make_texts()
    queries = np.round((X[:6] + 0.1 * X[6:12]).astype(float), 3).tolist()
    asked = [f"{WORDS[i]} {WORDS[-i]}" for i in range(1, 7)]
    tree = lt.LabelTree([0, 2, 6, 10], [1, 2, ~0, ~1, ~2, ~3, ~4, ~5, ~6, ~7], N_LABELS)
    other_tree = {"cover": "greedy", "cover_softness": 0.25, "path": "direct", "smoothing": 0.5, "weights_of": "node"}
    solver = {"score_power": 2.5, "eps": 0.01, "max_iter": 20, "prune_below": 0.05}
    label_texts = {name: name for name in sorted({name for of_text in names for name in of_text})} | {"new": "fast car"}
    weights = {"label_text_points": "all", "label_text_weight": 2.0, "label_text_embedding": 0.25}
    classifier = lt.LabelTreeClassifier
    models = {
        "plain": classifier().fit(X, Y),
        "texts": classifier(vectorizer=lt.TfidfVectorizer(min_df=1)).fit(texts, names),
        "two_trees": classifier(n_trees=2, fanout=3, class_weight="balanced").fit(X, Y, label_names=list("abcdefgh")),
        "evidence": classifier(evidence="both", fanout=3).fit(X, Y),
        "trend": classifier(trend=7.0, fanout=3).fit(X, Y, times=np.arange(N_POINTS)),
        "label_texts": classifier(fanout=3).fit(texts, names, label_texts=label_texts),
        "label_text_weights": classifier(fanout=3, **weights).fit(texts, names, label_texts=label_texts),
        "parabel": classifier.parabel(leaf_size=3).fit(X, Y),
        "calibrated": classifier(fanout=2, C=1.0).fit(X, Y).calibrate(np.vstack([X] * 20), np.vstack([Y] * 20)),
        "given_tree": classifier(tree=tree, negatives="matcher").fit(X, Y),
        "flat": classifier.one_vs_all().fit(X, Y),
        "variants": classifier(tradeoff=1.5, fanout=2, **other_tree, **solver).fit(X, Y),
        "logistic_beam": classifier(loss="logistic", search="beam", beam=2, fanout=2).fit(X, Y),
        "text_model": lt.TextLabelTreeClassifier(dim=4, buckets=50, min_count=1).fit(texts, names),
        "text_variants": lt.TextLabelTreeClassifier(
            dim=4, buckets=50, min_count=1, tradeoff=1.5, cover="greedy", smoothing=0.3
        ).fit(texts, names),
        "text_huffman": lt.TextLabelTreeClassifier(dim=4, buckets=50, min_count=1, tree="huffman").fit(texts, names),
    }
    recorded = {}
    for name, model in models.items():
        folder = HERE / name
        shutil.rmtree(folder, ignore_errors=True)
        model.save(folder)
        reads_texts = model.takes_texts or model.READS_TEXTS
        found, scores = lt.load(folder).predict_topk(asked if reads_texts else queries, 3)
        recorded[name] = {
            "X": asked if reads_texts else queries,
            "labels": found.tolist(),
            "scores": [[float(score) for score in row] for row in scores],
        }
    (HERE / "predictions.json").write_text(json.dumps(recorded, indent=None) + "\n")


if __name__ == "__main__":
    main()
