"""LabelTreeClassifier: what it learns is what liblinear learns, in any tree, on any number of threads."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

import labeltrees as lt
from tests.models.twin import TIGHT, all_scores, any_tree, make_problem, tight, tree_scores

pytestmark = pytest.mark.smoke


def bytes_of(model):
    """All that was trained."""
    return [array.tobytes() for store in model.searcher_.stores for array in store.arrays().values()]


@pytest.mark.parametrize("tree", [None, "flat", any_tree(), lt.huffman_tree(np.arange(1, 13))], ids=str)
@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize(
    "options",
    [{}, {"C": 0.1, "score_power": 2}, {"normalize": False}, {"loss": "logistic"}, {"loss": "logistic", "C": 0.3}],
    ids=str,
)
def test_every_classifier_is_liblinears(problem, tree, options, dense):
    X, Y = problem
    if dense:
        X = X.toarray() + 0.05
    model = lt.LabelTreeClassifier(tree=tree, fanout=3, **tight(**options)).fit(X, Y)
    scale, power = options.get("normalize", True), options.get("score_power", 3)
    if "loss" in options:
        power = None
    expected = tree_scores(model.tree_, X, Y, X, C=options.get("C", 1.0), power=power, scale=scale)
    np.testing.assert_allclose(all_scores(model, X), expected, atol=3e-3)


def test_one_vs_all_is_one_linear_svc_per_label():
    X, Y = make_problem(3, unlabelled=15)
    model = lt.LabelTreeClassifier.one_vs_all(**TIGHT).fit(X, Y)
    assert model.tree_.n_nodes == 1
    rows, found = normalize(X.toarray()), all_scores(model, X)
    for label in range(12):
        margins = LinearSVC(dual=False, tol=1e-8).fit(rows, Y[:, [label]].toarray()[:, 0]).decision_function(rows)
        np.testing.assert_allclose(found[:, label], np.exp(-(np.maximum(0, 1 - margins) ** 3)), atol=3e-3)


def test_points_without_labels_train_the_root():
    X, Y = make_problem(3, unlabelled=15)
    model = lt.LabelTreeClassifier(tree=any_tree(), **TIGHT).fit(X, Y)
    np.testing.assert_allclose(all_scores(model, X), tree_scores(model.tree_, X, Y, X), atol=3e-3)
    without = tree_scores(model.tree_, X[:-15], Y[:-15], X)
    assert np.abs(without - all_scores(model, X)).max() > 0.05


def test_the_default_setting_is_near_the_tight_one(problem):
    X, Y = problem
    loose, tight = lt.LabelTreeClassifier().fit(X, Y), lt.LabelTreeClassifier(**TIGHT).fit(X, Y)
    assert loose.tree_ == tight.tree_
    assert np.abs(all_scores(loose, X) - all_scores(tight, X)).mean() < 0.02
    assert loose.score(X, Y) > 0.9


def test_parabel_is_a_balanced_binary_tree_with_ten_paths():
    model = lt.LabelTreeClassifier.parabel(leaf_size=3)
    wanted = {"tradeoff": 0.0, "fanout": 2, "leaf_size": 3, "loss__score_power": 2, "search": "paths", "beam": 10}
    assert wanted.items() <= model.get_params().items()
    model.set_params(loss__eps=1e-5, loss__max_iter=5000, loss__prune_below=0.0)
    X, Y = make_problem(1)
    model.fit(X, Y)
    assert set(model.tree_.label_depth) == {3}  # 12, 6, 3 labels, then the labels
    np.testing.assert_allclose(all_scores(model, X), tree_scores(model.tree_, X, Y, X, power=2), atol=3e-3)
    assert lt.LabelTreeClassifier.parabel().leaf_size == 100


# ---- the tree --------------------------------------------------------------------------------------------------------


def test_the_tree_is_that_of_build_tree(problem):
    X, Y = problem
    options = {"tradeoff": 1.4, "fanout": 3, "leaf_size": 2, "random_state": 5}
    variants = {
        "smoothing": 0.3,
        "cover": "greedy",
        "cover_softness": 0.5,
        "path": "direct",
        "weights_of": "node",
        "embeddings": np.random.default_rng(1).random((12, 4)),
        "tolerance": 0.01,
    }
    builder, weight = lt.TreeBuilder(**variants), np.random.default_rng(0).random(120)
    expected = lt.build_tree(normalize(X), Y, sample_weight=weight, **options, **builder.get_params())
    assert lt.LabelTreeClassifier(**options, tree=builder).fit(X, Y, weight).tree_ == expected
    defaults = {**lt.LabelTreeClassifier().get_params(), **lt.TreeBuilder().get_params()}
    for name, value in {**options, **variants}.items():
        assert value is not defaults[name], name
    assert variants.keys() == builder.get_params().keys()


def test_given_embeddings_make_the_tree(problem):
    X, Y = problem
    embeddings = np.random.default_rng(0).standard_normal((12, 3))
    model = lt.LabelTreeClassifier(tree=lt.TreeBuilder(embeddings=embeddings), fanout=2, tradeoff=0).fit(X, Y)
    assert model.tree_ == lt.build_tree(X, Y, embeddings=embeddings, fanout=2, tradeoff=0)
    assert model.tree_ != lt.LabelTreeClassifier(fanout=2, tradeoff=0).fit(X, Y).tree_


def test_a_given_tree_is_used(problem):
    tree = any_tree(1)
    assert lt.LabelTreeClassifier(tree=tree).fit(*problem).tree_ is tree


@pytest.mark.parametrize(("options", "message"), [({"tree": lt.flat_tree(11)}, "tree must be a LabelTree over the 12")])
def test_a_tree_over_other_labels_is_refused(problem, options, message):
    with pytest.raises(lt.errors.InputError, match=message):
        lt.LabelTreeClassifier(**options).fit(*problem)


@pytest.mark.parametrize("tree", ["flat", any_tree()], ids=str)
def test_several_trees_and_a_given_one_are_refused(problem, tree):
    with pytest.raises(lt.errors.InputError, match="n_trees must be 1 if the tree is given, got 2"):
        lt.LabelTreeClassifier(tree=tree, n_trees=2).fit(*problem)


@pytest.mark.parametrize("tree", [None, "flat", any_tree(2)], ids=str)
def test_labels_without_points_are_never_predicted(problem, tree):
    X, Y = problem
    Y = Y.toarray()
    Y[:, [0, 7, 11]] = 0
    model = lt.LabelTreeClassifier(tree=tree, beam=None).fit(X, Y)
    assert model.tree_.unplaced_labels.tolist() == [0, 7, 11]
    labels, scores = model.predict_topk(X, 12)
    assert not np.isin(labels, [0, 7, 11]).any()
    assert (labels[:, 9:] == -1).all()
    assert (scores[:, 9:] == 0).all()
    assert (labels[:, :9] >= 0).all()
    assert model.predict(X).shape == (120, 12)


def test_points_whose_labels_are_not_in_a_given_tree_count_as_having_none(problem):
    X, Y = problem
    tree = lt.LabelTree([0, 2, 4], [~1, 1, ~2, ~3], 12)
    model = lt.LabelTreeClassifier(tree=tree, **TIGHT).fit(X, Y)
    np.testing.assert_allclose(all_scores(model, X), tree_scores(tree, X, Y, X), atol=3e-3)


# ---- several trees ---------------------------------------------------------------------------------------------------


def test_scores_of_several_trees_are_averaged(problem):
    X, Y = problem
    model = lt.LabelTreeClassifier(n_trees=3, fanout=2, tradeoff=0, beam=None, C=1.0).fit(X, Y)
    assert len(model.trees_) == 3
    assert model.trees_[0] != model.trees_[1] != model.trees_[2]
    alone = [lt.LabelTreeClassifier(tree=tree, beam=None, C=1.0).fit(X, Y) for tree in model.trees_]
    mean = np.mean([all_scores(single, X) for single in alone], axis=0)
    labels, scores = model.predict_topk(X, 3)
    for row in range(120):
        union = np.unique(np.concatenate([single.predict_topk(X[[row]], 3)[0][0] for single in alone]))
        np.testing.assert_allclose(scores[row], np.sort(mean[row, union])[::-1][:3], rtol=1e-5)
        np.testing.assert_allclose(mean[row, labels[row]], scores[row], rtol=1e-5)


def test_the_first_of_several_trees_is_the_only_one_of_one(problem):
    several, one = (lt.LabelTreeClassifier(n_trees=n, random_state=3).fit(*problem) for n in (2, 1))
    assert several.tree_ is several.trees_[0]
    assert bytes_of(several)[: len(bytes_of(one))] == bytes_of(one)


# ---- always the same -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"n_trees": 2}, {"tree": "flat"}, {"loss": "logistic"}], ids=str)
@pytest.mark.parametrize("dense", [False, True])
def test_threads_do_not_matter(problem, options, dense):
    X, Y = problem
    X = X.toarray() if dense else X
    one, two = (lt.LabelTreeClassifier(fanout=3, n_jobs=n, **options).fit(X, Y) for n in (1, 2))
    assert bytes_of(one) == bytes_of(two)
    for a, b in zip(one.predict_topk(X), two.predict_topk(X), strict=True):
        np.testing.assert_array_equal(a, b)


def test_fitting_again_forgets(problem):
    X, Y = problem
    model = lt.LabelTreeClassifier(fanout=3).fit(X, [["a", "b"]] * 60 + [["c"]] * 60)
    model.calibrate(X, [["a"]] * 120)
    model.fit(X, Y)
    assert bytes_of(model) == bytes_of(lt.LabelTreeClassifier(fanout=3).fit(X, Y))
    assert model.label_names_ is None
    assert model.calibration_ is None
    assert model.classes_.tolist() == list(range(12))


def test_a_failed_fit_leaves_the_old_model(problem, model):
    X, Y = problem
    again = lt.LabelTreeClassifier(fanout=3, beam=None).fit(X, Y)
    with pytest.raises(lt.errors.InputError):
        again.fit(X, Y[:100])
    np.testing.assert_array_equal(again.predict_topk(X)[1], model.predict_topk(X)[1])


def test_training_reports_its_size(model):
    assert model.stats_["n_weights"] > 0
    assert model.stats_["bytes"] == sum(store.nbytes for store in model.searcher_.stores)
    assert 0 <= model.stats_["tree_seconds"] <= model.stats_["seconds"]


# ---- small and odd ---------------------------------------------------------------------------------------------------


def test_one_label_differs_from_none():
    X, Y = make_problem(2, unlabelled=60)
    one = sp.csr_array((Y.sum(axis=1) > 0).astype(np.float32)[:, None])
    model = lt.LabelTreeClassifier(**TIGHT).fit(X, one)
    np.testing.assert_allclose(all_scores(model, X), tree_scores(model.tree_, X, one, X), atol=3e-3)
    labels, _ = model.predict_topk(X, 3)
    assert (labels == [0, -1, -1]).all()


def test_one_label_of_every_point_is_certain(problem):
    model = lt.LabelTreeClassifier().fit(problem[0], [["only"]] * 120)
    labels, scores = model.predict_topk(problem[0], 2)
    assert labels.tolist() == [["only", None]] * 120
    assert scores.tolist() == [[1.0, 0.0]] * 120


@pytest.mark.parametrize("tree", [None, "flat"])
def test_points_that_are_all_the_same_are_learned(problem, tree):
    X, Y = problem
    model = lt.LabelTreeClassifier(tree=tree).fit(X[[0] * 30], Y[[0] * 30])
    labels, scores = model.predict_topk(X[[0]], 5)
    own = Y[[0]].indices
    assert sorted(labels[0, : len(own)]) == sorted(own)
    np.testing.assert_array_equal(scores[0, : len(own)], 1)
    assert (labels[0, len(own) :] == -1).all()


def test_a_single_point_is_enough(problem):
    X, Y = problem
    labels, _ = lt.LabelTreeClassifier().fit(X[[5]], Y[[5]]).predict_topk(X, 2)
    assert set(labels[labels >= 0]) <= set(Y[[5]].indices)


def test_empty_rows_are_points_too(problem):
    X, Y = problem
    X = X.toarray()
    X[::3] = 0
    X = sp.csr_array(X)
    model = lt.LabelTreeClassifier(tree=any_tree(), **TIGHT).fit(X, Y)
    found, expected = all_scores(model, X), tree_scores(model.tree_, X, Y, X)
    has_features = np.diff(X.indptr) > 0
    np.testing.assert_allclose(found[has_features], expected[has_features], atol=3e-3)
    shares = (Y > 0).sum(axis=0) / Y.shape[0]
    np.testing.assert_allclose(found[~has_features], np.tile(shares, ((~has_features).sum(), 1)), rtol=1e-6)


def test_points_without_any_feature_are_learned_by_frequency(problem):
    X, Y = problem
    model = lt.LabelTreeClassifier(tree="flat", **TIGHT).fit(X * 0, Y)
    by_frequency = np.argsort(-np.asarray(Y.sum(axis=0)), kind="stable")
    assert model.predict_topk(X[[0]], 1)[0][0, 0] == by_frequency[0]
    np.testing.assert_allclose(all_scores(model, X[:1]), tree_scores(model.tree_, X * 0, Y, X[:1] * 0), atol=3e-3)


def test_pruning_drops_small_weights_only(problem):
    X, Y = problem
    solvers = [lt.Solver(prune_below=at) for at in (0.0, 0.1, 0.5, 1e9)]
    sizes = [lt.LabelTreeClassifier(loss=solver).fit(X, Y).stats_["n_weights"] for solver in solvers]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[1] > sizes[2] > sizes[3] == 0


@pytest.mark.parametrize("rows", [119, 121])
def test_x_and_y_of_other_lengths_are_refused(problem, rows):
    X, Y = problem
    Y = sp.csr_array(sp.vstack([Y, Y]))[:rows]
    with pytest.raises(lt.errors.InputError, match=f"the same number of rows, got 120 and {rows}"):
        lt.LabelTreeClassifier().fit(X, Y)


@pytest.mark.parametrize(
    "Y", [sp.csr_array((120, 4)), np.zeros((120, 4)), [[]] * 120], ids=["sparse", "dense", "lists"]
)
def test_no_labels_are_refused(problem, Y):
    with pytest.raises(lt.errors.InputError, match="Y has no labels"):
        lt.LabelTreeClassifier().fit(problem[0], Y)


def test_an_unfitted_model_is_refused(problem):
    from sklearn.exceptions import NotFittedError

    model = lt.LabelTreeClassifier()
    for name in ("predict_topk", "predict", "predict_scores"):
        with pytest.raises(NotFittedError, match="not fitted"):
            getattr(model, name)(problem[0])
    for name in ("calibrate", "score"):
        with pytest.raises(NotFittedError, match="not fitted"):
            getattr(model, name)(*problem)
    for call in (model.predictor, lambda: model.save("nowhere"), lambda: model.predict_proba):
        with pytest.raises(NotFittedError, match="not fitted"):
            call()
    for name in ("classes_", "label_names_", "tree_", "predict_proba"):
        assert not hasattr(model, name)
