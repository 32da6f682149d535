"""Threads that are the first to use a loaded model: what is checked, found or sorted once is so by any of them."""

import sys
import sysconfig
import threading

import pytest

import labeltrees as lt

TEXTS = [f"word{i % 7} word{i % 5} word{i % 11}" for i in range(80)]
LABELS = [[f"label{i % 7}", f"label{i % 11}"] for i in range(80)]
FAMILIES = {
    "linear": lambda: lt.LabelTreeClassifier(fanout=2, C=1.0),
    "ensemble": lambda: lt.LabelTreeClassifier(fanout=2, C=1.0, n_trees=2),
    "evidence": lambda: lt.LabelTreeClassifier(fanout=2, C=1.0, evidence="neighbours"),
    "text": lambda: lt.TextLabelTreeClassifier(dim=4, epochs=2, min_count=1, n_jobs=1),
}
USES = {
    "batch": lambda model: model.predict_topk(TEXTS, 3, n_jobs=2),
    "candidates": lambda model: model.predict_topk(TEXTS, 3, candidates=["label1", "label2"], n_jobs=1),
    "weights": lambda model: model.predict_topk(TEXTS, 3, label_weight={"label3": 5.0}, n_jobs=1),
    "no features": lambda model: model.predictor(3)(""),
    "one by one": lambda model: [model.predictor(3)(text) for text in TEXTS[:11]],
    "excluded": lambda model: model.predictor(3)(TEXTS[0], exclude=["label0"]),
}


def run_at_once(works):
    """Run functions in threads that start together, and return their results, or what they raised."""
    gate, results = threading.Barrier(len(works)), [None] * len(works)

    def run(place):
        gate.wait()
        try:
            results[place] = works[place]()
        except BaseException as error:
            results[place] = error

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def plain(found):
    return [part.tolist() if hasattr(part, "tolist") else plain(part) for part in found]


@pytest.mark.parametrize("family", FAMILIES)
def test_threads_get_the_answers_of_one_thread_from_a_model_just_loaded(tmp_path, family):
    FAMILIES[family]().fit(TEXTS, LABELS).save(tmp_path / "model")
    expected = {name: plain(use(lt.load(tmp_path / "model"))) for name, use in USES.items()}
    for _ in range(3):
        model = lt.load(tmp_path / "model")
        names = [*USES, *USES]
        found = run_at_once([lambda use=USES[name], model=model: use(model) for name in names])
        for name, answer in zip(names, found, strict=True):
            assert plain(answer) == expected[name], name


def test_models_are_fitted_in_threads_beside_searches():
    models = {family: make().fit(TEXTS, LABELS) for family, make in FAMILIES.items()}
    expected = {family: plain(model.predict_topk(TEXTS, 3)) for family, model in models.items()}
    works = [lambda make=make: make().fit(TEXTS, LABELS).predict_topk(TEXTS, 3) for make in FAMILIES.values()]
    works += [lambda model=model: model.predict_topk(TEXTS, 3, n_jobs=2) for model in models.values()]
    for family, answer in zip([*FAMILIES, *FAMILIES], run_at_once(works), strict=True):
        assert plain(answer) == expected[family], family


def test_a_list_that_another_thread_empties_is_read_or_refused():
    predictor = lt.LabelTreeClassifier(fanout=2, C=1.0).fit(TEXTS, LABELS).predictor(3)
    known, ids = [f"label{i}" for i in range(7)], list(range(5))
    excluded, features, values = known.copy(), ids.copy(), [1.0] * 5
    lists = [(excluded, known), (features, ids), (values, [1.0] * 5)]

    def change():
        for _ in range(2000):
            for changed, whole in lists:
                changed.clear()
                changed.extend(whole)

    def ask():
        for _ in range(2000):
            try:
                answer = predictor(TEXTS[0], exclude=excluded)
                predictor(features, values)
            except (ValueError, IndexError):
                continue
            assert len(answer[0]) == 3

    assert run_at_once([change, ask, ask]) == [None, None, None]


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has a global interpreter lock")
def test_the_core_needs_no_interpreter_lock():
    """Python turns the lock on when it imports a module that needs it."""
    lt.LabelTreeClassifier(fanout=2).fit(TEXTS, LABELS)
    assert not sys._is_gil_enabled()
