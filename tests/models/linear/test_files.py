"""A saved model is the model; a damaged one is refused or answers, and never brings the interpreter down."""

import os
import pickle
import subprocess
import sys
import textwrap

import joblib
import numpy as np
import pytest

import labeltrees as lt

# The rich model has feature names, and arrays have none.
pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")


def answers(model, X):
    queries = X[:15]
    allowed = [["label a", "label b"]] * 15 if model.label_names_ is not None else [[1, 2]] * 15
    results = [
        *model.predict_topk(queries, 14),
        *model.predict_topk(queries, 3, candidates=allowed),
        model.predict(queries).toarray(),
        model.predict_scores(queries).toarray(),
    ]
    if model.calibration_ is not None:
        results.append(model.predict_proba(queries).toarray())
    return results


def assert_same(model, other, X):
    for a, b in zip(answers(model, X), answers(other, X), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("verify", [False, True])
@pytest.mark.parametrize("in_memory", [False, True])
def test_a_loaded_model_equals_the_saved_one(rich, folder, problem, in_memory, verify):
    loaded = lt.load(folder, in_memory=in_memory, verify=verify)
    assert type(loaded) is lt.LabelTreeClassifier
    assert_same(rich, loaded, problem[0])
    assert loaded.classes_.tolist() == rich.classes_.tolist()
    assert loaded.feature_names_in_.tolist() == rich.feature_names_in_.tolist()
    assert loaded.n_features_in_ == 40
    assert loaded.trees_ == rich.trees_
    # Times are not saved, so that the same training gives the same files.
    assert loaded.stats_ == {name: value for name, value in rich.stats_.items() if "seconds" not in name}
    np.testing.assert_array_equal(loaded.tree_.mass(), rich.tree_.mass())
    assert loaded.score(problem[0], problem[1].toarray()) == rich.score(problem[0], problem[1].toarray())
    given, found = rich.get_params(), loaded.get_params()
    np.testing.assert_array_equal(found.pop("class_weight"), [2, 1, 0.5, *[1] * 9])
    given.pop("class_weight")
    assert found == given


def plain_models():
    balanced = lt.LabelTreeClassifier(class_weight="balanced", verbose=True, n_jobs=2, tradeoff=np.float32(0.5))
    return {
        "plain": lt.LabelTreeClassifier(),
        "dense": lt.LabelTreeClassifier(fanout=3),
        "logistic": lt.LabelTreeClassifier(loss="logistic"),
        "flat": lt.LabelTreeClassifier.one_vs_all(),
        "given tree": lt.LabelTreeClassifier(tree=lt.random_tree(12)),
        "parabel": lt.LabelTreeClassifier.parabel(),
        "class weights": lt.LabelTreeClassifier(class_weight=np.arange(1.0, 13)),
        "balanced": balanced,
        "random state": lt.LabelTreeClassifier(random_state=np.random.RandomState(0)),
        "embeddings": lt.LabelTreeClassifier(tree=lt.TreeBuilder(embeddings=np.eye(12))),
        "not normalized": lt.LabelTreeClassifier(normalize=np.False_, loss=lt.Solver(score_power=1.5)),
    }


@pytest.mark.parametrize("name", plain_models())
def test_settings_come_back(problem, tmp_path, name):
    X, Y = problem
    X = X.toarray() if name == "dense" else X
    model = plain_models()[name].fit(X, Y)
    model.save(tmp_path / "model")
    loaded = lt.load(tmp_path / "model")
    assert_same(model, loaded, X)
    assert_same(model, pickle.loads(pickle.dumps(loaded)), X)
    for parameter, value in model.get_params(deep=False).items():
        found = getattr(loaded, parameter)
        if isinstance(value, np.random.RandomState):
            assert found is None
        elif isinstance(value, lt.TreeBuilder):
            assert found == lt.TreeBuilder(**{**value.get_params(), "embeddings": None})
        elif parameter == "class_weight":
            np.testing.assert_array_equal(found, value)
        else:
            assert found == value, parameter
    if name not in ("embeddings", "random state"):  # what was not kept cannot be repeated
        assert_same(model, loaded.fit(X, Y), X)


def test_parameters_set_after_fitting_do_not_change_the_saved_model(problem, tmp_path):
    model = lt.LabelTreeClassifier().fit(*problem)
    expected = model.predict_topk(problem[0])
    model.set_params(normalize=False, loss=lt.Solver("logistic", score_power=1), n_trees=5, tree="flat", k=2)
    model.save(tmp_path / "model")
    loaded = lt.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_topk(problem[0])[1], expected[1])
    assert loaded.k == 2


def test_wrong_settings_are_not_saved(problem, tmp_path):
    model = lt.LabelTreeClassifier().fit(*problem).set_params(k=0)
    with pytest.raises(lt.errors.InputError, match="k must be"):
        model.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_loaded_model_can_be_saved_over_itself(copied, rich, problem):
    loaded = lt.load(copied)
    loaded.save(copied)
    assert_same(rich, loaded, problem[0])
    assert_same(rich, lt.load(copied, verify=True), problem[0])


def test_saving_twice_gives_the_same_bytes(rich, folder, tmp_path):
    rich.save(tmp_path / "again")
    for file in folder.iterdir():
        assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes(), file.name


def test_names_are_not_read_before_they_are_asked_for(folder, problem):
    loaded = lt.load(folder)
    loaded.predict_topk(problem[0][:3], 2)
    assert "array" not in loaded._label_names.__dict__


@pytest.mark.parametrize("how", ["pickle", "joblib", "mapped joblib", "pickle of a loaded one"])
def test_models_pickle(rich, folder, problem, tmp_path, how):
    if how.startswith("pickle"):
        again = pickle.loads(pickle.dumps(rich if how == "pickle" else lt.load(folder)))
    else:
        joblib.dump(rich, tmp_path / "model.joblib")
        again = joblib.load(tmp_path / "model.joblib", mmap_mode="r" if "mapped" in how else None)
    assert_same(rich, again, problem[0])
    assert again.trees_ == rich.trees_


def test_a_model_can_be_used_after_fork(folder):
    script = """
        import os, sys, numpy as np, scipy.sparse as sp, labeltrees as lt
        model = lt.load(sys.argv[1])
        X = np.random.default_rng(0).random((300, 40))
        before = model.predict_topk(X, 4, n_jobs=2)[1]
        child = os.fork()
        if child == 0:
            after = model.predict_topk(X, 4, n_jobs=2)[1]
            lt.LabelTreeClassifier(n_jobs=2).fit(sp.csr_array(X), X > 0.9).predict_topk(X)
            os._exit(0 if np.array_equal(before, after) else 3)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script), os.fspath(folder)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (result.stdout.strip(), result.returncode) == ("0", 0), result.stderr


def test_a_logistic_models_ceilings_are_saved_and_change_no_answer(problem, tmp_path):
    X, Y = problem
    model = lt.LabelTreeClassifier(loss="logistic", fanout=4, beam=None).fit(X, Y)
    model.save(tmp_path / "model")
    loaded = lt.load(tmp_path / "model", verify=True)
    np.testing.assert_array_equal(loaded.searcher_.stores[0].ceilings, model.searcher_.stores[0].ceilings)
    assert len(loaded.searcher_.stores[0].ceilings) == model.tree_.n_nodes
    for found, expected in zip(loaded.predict_topk(X, 3), model.predict_topk(X, 3), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_model_with_the_hinge_has_no_ceilings(problem):
    assert lt.LabelTreeClassifier().fit(*problem).searcher_.stores[0].ceilings is None
