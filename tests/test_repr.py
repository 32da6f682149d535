"""Every object of the public API prints a few lines that help."""

import inspect
import tempfile
from pathlib import Path

import numpy as np
import pytest

import labeltrees as lt
from labeltrees.labels import imbalance
from labeltrees.tree.contract import SearchCost

MAX_CHARACTERS, MAX_LINES = 700, 4


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    """One or more objects of every public class, with enough points that a dump of an array would be long."""
    rng = np.random.default_rng(0)
    X, Y = rng.random((300, 8)), rng.random((300, 12)) < 0.3
    texts, labels = [f"word{i % 7} other{i % 5} more" for i in range(300)], [[f"label{i % 9}"] for i in range(300)]
    data = lt.Dataset(X, Y)
    model = lt.LabelTreeClassifier().fit(X, Y).calibrate(X, Y)
    text_model = lt.TextLabelTreeClassifier(dim=4, epochs=1, buckets=1000).fit(texts, labels)
    vectorizer = lt.TfidfVectorizer().fit(texts)
    items = lt.encoders.ItemEncoder(["milk", "bread"])
    folder = tmp_path_factory.mktemp("repr")
    lt.write_parts(data, folder / "parts", 20)
    parts = lt.open_parts(folder / "parts")
    (folder / "log.csv").write_text("context,item\n" + "".join(f"c{i % 40},i{i % 7}\n" for i in range(200)))
    prepared = lt.prepare_logs(folder / "log.csv", features="basket", min_engagement=0)
    swept = lt.sweep((X, Y), (X, Y), tradeoffs=[0, 1])
    chosen = lt.choose((X, Y), tune={"tradeoff": [1], "fanout": [4]})
    tree = lt.build_tree(X, Y)
    return [
        *(data, tree, tree.summary(), SearchCost(), imbalance(Y), swept, chosen),
        *(lt.LabelTreeClassifier(tradeoff=0.5), model, lt.TextLabelTreeClassifier(), text_model),
        *(model.predictor(), text_model.predictor(), model.searcher_, text_model.searcher_),
        *(model.label_set([1, 2]), model.label_weights(np.ones(12)), model.predict_topk(X, 3, return_stats=True)[2]),
        *(model.early_stop_, model.calibration_, lt.LabelTreeClassifierCV(), lt.TfidfVectorizer(), vectorizer),
        *(
            items,
            lt.encoders.ColumnEncoder(["a", "b"]),
            lt.encoders.TextEncoder(vectorizer),
            lt.encoders.UnionEncoder({"own": items}),
        ),
        *(lt.baselines.popularity(data), lt.baselines.neighbours(data), lt.baselines.co_occurrence(data)),
        *(parts, parts.parts[0], lt.PartsWriter(folder / "new", n_features=8, n_labels=12), prepared, prepared.summary),
        *(lt.Columns(context="query"), lt.TreeBuilder(embeddings=rng.random((12, 3))), lt.Solver("logistic")),
    ]


def test_every_public_class_is_shown(objects):
    classes = {name for name in lt.__all__ if inspect.isclass(getattr(lt, name))}
    classes -= {name for name in classes if issubclass(getattr(lt, name), Exception)}
    shown = {kind.__name__ for each in objects for kind in type(each).__mro__}
    assert classes - {"Encoder"} <= shown


def test_reprs_are_short_and_say_more_than_an_address(objects):
    for each in objects:
        shown = repr(each)
        assert shown.startswith(type(each).__name__), shown
        assert " object at 0x" not in shown
        assert "array(" not in shown
        assert len(shown) <= MAX_CHARACTERS, shown
        assert shown.count("\n") < MAX_LINES, shown


def test_a_fitted_model_says_what_it_has_learned():
    X, labels = np.eye(4), [["red"], ["red"], ["blue"], ["green"]]
    model = lt.LabelTreeClassifier(fanout=2)
    assert repr(model) == "LabelTreeClassifier(fanout=2)"
    first, second = repr(model.fit(X, labels)).splitlines()
    assert first == "LabelTreeClassifier(fanout=2)"
    assert second.startswith("  fitted: 3 labels, 4 points, 4 features, ")
    assert second.endswith("a tree of 2 nodes, height 2; with label names")


def test_a_predictor_says_what_it_searches_and_takes():
    model = lt.LabelTreeClassifier().fit(np.eye(3), [["a"], ["b"], ["c"]])
    assert repr(model.predictor(2)) == "Predictor(search with beam 10 for 2 labels of 3; takes 3 features)"
    assert repr(model.predictor(1, beam=None)).startswith("Predictor(exact search for 1 label of 3;")


def test_a_folder_of_parts_names_its_points():
    with tempfile.TemporaryDirectory() as folder:
        lt.write_parts(lt.Dataset(np.eye(3), np.eye(3)), Path(folder) / "parts", 2)
        last = lt.open_parts(Path(folder) / "parts").parts[1]
        assert repr(last).startswith("Part(1: points 2 to 2, in ")
