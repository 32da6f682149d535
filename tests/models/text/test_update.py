"""Text models are trained further: new words and labels come in, and old ones stay if their texts are given."""

import warnings

import numpy as np
import pytest

import labeltrees as lt
from labeltrees.errors import InputError
from labeltrees.models.text.update import attach_labels
from labeltrees.tree.baselines import random_tree

OLD = ["apple", "pear", "car", "train", "dog", "cat"]
NEW = ["plum", "boat", "bird"]


def texts_of(labels, n=30):
    """Return texts with two words of their own per label, and words of all labels."""
    return [f"{label}1 {label}2 any{i % 3} word{i % 5}" for label in labels for i in range(n)], [
        [label] for label in labels for _ in range(n)
    ]


@pytest.fixture
def old():
    return texts_of(OLD)


@pytest.fixture
def new():
    return texts_of(NEW)


def fitted(old, **settings):
    return lt.TextLabelTreeClassifier(**{"dim": 16, "n_jobs": 1, **settings}).fit(*old)


def answers(model, labels):
    return [found[0] for found in model.predict_topk([f"{label}1 {label}2" for label in labels], k=1)[0]]


def labels_in(tree):
    return sorted((~tree.children[tree.children < 0]).tolist())


def store_bytes(model):
    store = model.searcher_.store
    return b"".join(getattr(store, name).tobytes() for name, _ in store.ARRAYS)


@pytest.mark.parametrize("settings", [{}, {"tree": "huffman"}, {"word_ngrams": 1}, {"min_n": 2, "max_n": 3}])
def test_old_and_new_labels_are_answered_after_an_update_with_replay(old, new, settings):
    model = fitted(old, **settings)
    report = model.update(*new, replay=old)
    assert answers(model, OLD + NEW) == OLD + NEW
    assert report.new_labels == sorted(NEW)
    assert (report.n_points, report.n_replayed) == (90, 180)
    assert (report.continued, report.trained) == (5, 3)
    assert labels_in(model.tree_) == list(range(9))
    assert len(model.tree_.children) == 2 * model.tree_.n_nodes
    assert model.classes_.tolist() == sorted(OLD) + sorted(NEW)
    assert model.label_counts_.tolist() == [30] * 9
    assert model.n_points_ == 270


def test_new_words_are_known(old, new):
    model = fitted(old)
    before = model.searcher_.store
    assert len(model.searcher_.features("plum1")[0]) < len(model.searcher_.features("apple1")[0])
    model.update(*new)
    after = model.searcher_.store
    assert after.n_words == before.n_words + 6
    assert after.words.tobytes().startswith(before.words.tobytes())
    assert len(model.searcher_.features("plum1")[0]) == len(model.searcher_.features("apple1")[0])
    assert answers(model, NEW) == NEW
    after.check_all()


def test_counts_are_those_of_all_texts(old, new):
    model = fitted(old)
    model.update(*new, replay=old)
    together = fitted((old[0] + new[0], old[1] + new[1]))

    def counts(own):
        ends, words = own.searcher_.store.word_ends.tolist(), own.searcher_.store.words.tobytes()
        return {words[a:b]: n for a, b, n in zip(ends, ends[1:], own.searcher_.store.word_counts, strict=False)}

    assert counts(model) == counts(together)
    assert np.array_equal(model.searcher_.store.buckets, together.searcher_.store.buckets)
    assert model.searcher_.store.n_tokens == together.searcher_.store.n_tokens


def test_without_epochs_old_labels_keep_their_scores(old, new):
    """The vectors of old words and nodes move to their new rows, unchanged; labels that share a place share a score."""
    model = fitted(old)
    texts = [f"{label}1 {label}2" for label in OLD]
    ids, scores = model.predict_topk(texts, k=6)
    report = model.set_params(epochs=0).update(*new)
    ids_after, scores_after = model.predict_topk(texts, k=9)
    for row in range(6):
        old_scores = dict(zip(ids[row], scores[row], strict=True))
        new_scores = dict(zip(ids_after[row], scores_after[row], strict=True))
        for label in set(OLD) - set(report.moved_labels):
            assert new_scores[label] == pytest.approx(old_scores[label], rel=1e-4)
        for label in report.moved_labels:
            assert new_scores[label] < 0.51 * old_scores[label] + 1e-4


def test_without_replay_labels_that_share_no_place_are_still_answered(old, new):
    model = fitted(old)
    report = model.update(*new)
    stay = [label for label in OLD if label not in report.moved_labels]
    assert len(stay) >= 3
    assert answers(model, stay + NEW) == stay + NEW
    assert "50%" in report.full_fit_advised


def test_same_input_gives_same_bytes(old, new):
    first, second = fitted(old), fitted(old)
    first.update(*new, replay=old)
    second.update(*new, replay=old)
    assert store_bytes(first) == store_bytes(second)


def test_a_saved_model_is_updated_like_the_model(old, new, tmp_path):
    model = fitted(old)
    model.save(tmp_path / "old.model")
    loaded = lt.load(tmp_path / "old.model")
    model.update(*new, replay=old)
    loaded.update(*new, replay=old)
    assert store_bytes(model) == store_bytes(loaded)
    loaded.save(tmp_path / "new.model")
    again = lt.load(tmp_path / "new.model", verify=True)
    assert answers(again, OLD + NEW) == OLD + NEW
    again.update(*texts_of(["fox"]), replay=(old[0] + new[0], old[1] + new[1]))
    assert answers(again, [*OLD, *NEW, "fox"]) == [*OLD, *NEW, "fox"]
    assert again.stats_["updates"]["n"] == 2


def test_fasttext_gets_and_gives_updated_models(old, new, tmp_path):
    model = fitted(old)
    model.update(*new, replay=old)
    model.export_fasttext(tmp_path / "model.bin")
    back = lt.TextLabelTreeClassifier.from_fasttext(tmp_path / "model.bin")
    texts = [f"{label}1 any1" for label in OLD + NEW]
    np.testing.assert_allclose(back.predict_topk(texts, k=3)[1], model.predict_topk(texts, k=3)[1], rtol=1e-5)
    back.set_params(n_jobs=1).update(*texts_of(["fox"]), replay=(old[0] + new[0], old[1] + new[1]))
    assert answers(back, [*OLD, *NEW, "fox"]) == [*OLD, *NEW, "fox"]


def test_labels_without_names_and_of_one_class(old, new):
    texts, ids = old[0], [[OLD.index(own[0])] for own in old[1]]
    model = fitted((texts, ids))
    model.update(new[0], [[6 + NEW.index(own[0])] for own in new[1]], replay=(texts, ids))
    assert answers(model, OLD + NEW) == list(range(9))
    single = fitted((texts, [own[0] for own in old[1]]))
    single.update(new[0], [own[0] for own in new[1]], replay=(texts, [own[0] for own in old[1]]))
    assert single.predict(["plum1 plum2"]).tolist() == ["plum"]


def test_one_label_grows_to_two(old):
    texts = texts_of(["apple"])
    model = fitted(texts)
    model.update(*texts_of(["pear"]), replay=texts)
    assert answers(model, ["apple", "pear"]) == ["apple", "pear"]


def test_retired_labels_stay_retired_and_weights_of_texts_count(old, new):
    model = fitted(old).retire(["apple"])
    model.update(lt.Dataset(*new, sample_weight=np.full(90, 2.0)), replay=lt.Dataset(*old))
    assert model.retired_.tolist() == ["apple"]
    assert answers(model, OLD[1:] + NEW) == OLD[1:] + NEW


def test_partial_fit(old, new):
    model = lt.TextLabelTreeClassifier(dim=16, n_jobs=1).partial_fit(*old, classes=OLD + NEW)
    model.partial_fit(*new)
    assert answers(model, NEW) == NEW
    with pytest.raises(InputError, match="classes"):
        model.partial_fit(*new, classes=OLD)


@pytest.mark.parametrize(
    ("texts", "Y", "message"),
    [
        (["a"], None, "pass Y"),
        (["a", "b"], [["x"]], "same number of rows, got 2 and 1"),
        (["a"], [[]], "no labels"),
        (["a"], np.zeros((1, 6)), "no labels"),
        (["a"], [[7]], "labels with names"),
        ("a", [["x"]], "a sequence of str"),
    ],
)
def test_wrong_input_is_refused_in_one_line_and_changes_nothing(old, texts, Y, message):
    model = fitted(old)
    before = store_bytes(model)
    with pytest.raises(InputError, match=message) as caught:
        model.update(texts, Y)
    assert "\n" not in str(caught.value)
    assert store_bytes(model) == before
    with pytest.raises(InputError, match="replay must be"):
        model.update(["a"], [["x"]], replay=["a"])


def test_a_model_with_probabilities_says_what_is_old(old, new):
    model = fitted(old).calibrate(*old)
    both = pytest.warns(UserWarning, match="agreement must be"), pytest.warns(UserWarning, match="probabilities are")
    with both[0], both[1]:
        model.update(*new, replay=old)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted(old).update(*new)


def test_attached_labels_keep_every_old_path_but_that_of_their_neighbours():
    random = np.random.default_rng(0)
    for _ in range(50):
        n_old, n_new = int(random.integers(2, 20)), int(random.integers(0, 30))
        tree = random_tree(n_old)
        near = random.integers(0, n_old, n_new)
        counts = random.integers(1, 100, n_old + n_new)
        grown = attach_labels(tree, n_old + n_new, np.arange(n_old, n_old + n_new), near, counts)
        assert labels_in(grown) == list(range(n_old + n_new))
        assert np.diff(grown.child_ptr).max() <= 2
        alone = np.setdiff1d(np.arange(n_old), near)
        assert np.array_equal(grown.label_parent[alone], tree.label_parent[alone])
        for label, old in enumerate(near.tolist(), start=n_old):
            node = grown.label_parent[label]
            while node >= tree.n_nodes:
                node = grown.parent[node]
            assert node == tree.label_parent[old]
