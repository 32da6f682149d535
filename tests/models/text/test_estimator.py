"""TextLabelTreeClassifier: fitting, forms of labels and answers, odd input, files."""

import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.model_selection import cross_val_score

import labeltrees as lt
from labeltrees.errors import InputError
from labeltrees.models.text.settings import TextSettings, buckets_in_use, check_text_settings

pytestmark = pytest.mark.smoke

DATA = Path(__file__).parent / "data"
FRUITS = ["apple", "pear", "plum", "fig", "kiwi"]


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    texts, labels = [], []
    for _ in range(300):
        names = rng.choice(FRUITS, size=rng.integers(1, 3), replace=False, p=[0.4, 0.25, 0.2, 0.1, 0.05])
        words = [word for name in names for word in (f"{name}ish", f"{name}y")] + rng.choice(
            ["a", "the", "of"], 3
        ).tolist()
        texts.append(" ".join(rng.permutation(words)))
        labels.append(sorted(names.tolist()))
    return texts, labels


@pytest.fixture(scope="module")
def model(problem):
    return lt.TextLabelTreeClassifier(dim=20, buckets=500, epochs=40).fit(*problem)


def answers(model, texts):
    labels, scores = model.predict_topk(texts, 3, raw_scores=True)
    return labels.tolist(), scores.tobytes()


@pytest.mark.parametrize("tree", [None, "huffman", "fano", "semantic_huffman", "random"])
def test_every_tree_learns_labels_from_words(problem, tree):
    model = lt.TextLabelTreeClassifier(tree=tree, dim=20, buckets=500, epochs=40).fit(*problem)
    assert model.score(*problem) > 0.95
    assert np.diff(model.tree_.child_ptr).max() == 2
    labels, scores = model.predict_topk(["something appleish and appley"], 5)
    assert labels[0, 0] == "apple"
    assert scores.sum() == pytest.approx(1, abs=1e-3)  # one label is drawn: probabilities of all


def test_names_ids_and_indicators_give_the_same_model(problem, model):
    texts, labels = problem
    names = sorted(FRUITS)
    ids = [[names.index(name) for name in row] for row in labels]
    Y = np.array([[name in row for name in names] for row in labels]).astype(float)
    for form, given in ((ids, None), (Y, None), (ids, names)):
        other = clone(model).fit(*((texts, form) if given is None else (lt.Dataset(texts, Y, label_names=given),)))
        assert other.searcher_.store.input.tobytes() == model.searcher_.store.input.tobytes()
        assert (other.label_names_ is None) == (given is None)
    assert model.classes_.tolist() == names


def test_one_thread_repeats_to_the_byte_and_another_seed_does_not(problem, model):
    again, other = clone(model).fit(*problem), clone(model).set_params(random_state=1).fit(*problem)
    for name in ("input", "output", "children"):
        assert getattr(again.searcher_.store, name).tobytes() == getattr(model.searcher_.store, name).tobytes()
    assert other.searcher_.store.output.tobytes() != model.searcher_.store.output.tobytes()


def test_many_threads_train_an_equally_good_model(problem, model):
    assert clone(model).set_params(n_jobs=4).fit(*problem).score(*problem) > 0.95


def test_a_file_gives_the_model_of_the_same_texts_in_memory(problem, tmp_path):
    texts, labels = problem
    lines = [" ".join([f"__label__{name}" for name in row] + [text]) for text, row in zip(texts, labels, strict=True)]
    (tmp_path / "train.txt").write_text("\n".join(lines) + "\n")
    from_file = lt.TextLabelTreeClassifier(dim=8, buckets=50, epochs=5).fit_file(tmp_path / "train.txt")
    order = [sorted(FRUITS).index(name) for name in from_file.classes_]
    ids = [[from_file.classes_.tolist().index(name) for name in row] for row in labels]
    Y = np.zeros((len(texts), len(FRUITS)))
    for row, of_row in enumerate(ids):
        Y[row, of_row] = 1
    in_memory = lt.TextLabelTreeClassifier(dim=8, buckets=50, epochs=5).fit(texts, Y)
    assert in_memory.tree_.children.tolist() == from_file.tree_.children.tolist()
    assert in_memory.score(texts, Y) == pytest.approx(from_file.score(texts, labels), abs=0.05)
    assert from_file.label_counts_.tolist() == Y.sum(axis=0).tolist()
    assert sorted(order) == list(range(len(FRUITS)))


def test_the_forms_of_the_answers_agree(problem, model):
    texts = problem[0][:50]
    labels, scores, stats = model.predict_topk(texts, 2, return_stats=True)
    matrix = model.predict_scores(texts, 2)
    names = model.classes_.tolist()
    assert matrix[0, names.index(labels[0, 0])] == scores[0, 0]
    assert (np.diff(matrix.indptr) == 2).all()
    assert (model.predict_proba(texts, 2) != matrix).nnz == 0
    assert clone(model).set_params(k=1).get_params()["k"] == 1
    model.set_params(threshold=0.3)
    reaching = model.predict(texts)
    model.set_params(threshold=None)
    assert reaching.nnz == (model.predict_scores(texts, 5).data >= 0.3).sum()
    assert (stats.chunks >= 1).all()
    assert (stats.classifiers == stats.chunks).all()
    ids, one = model.predictor(2)(texts[0])
    assert [names[label] for label in ids] == labels[0].tolist()
    assert one.tolist() == scores[0].tolist()


def test_candidates_and_exclusions_go_by_name(model):
    labels, _ = model.predict_topk(["appleish"], 5, candidates=["fig", "pear"], exclude=["pear"])
    assert labels[0].tolist() == ["fig", None, None, None, None]


def test_calibration_turns_scores_into_shares_of_right_labels(problem, model):
    calibrated = pickle.loads(pickle.dumps(model)).calibrate(*problem)
    probabilities = calibrated.predict_proba(problem[0], 1).data
    assert probabilities.mean() == pytest.approx(model.score(*problem), abs=0.05)


def test_weights_of_zero_leave_texts_out(problem):
    texts, labels = problem
    wrong = [*labels, *[["kiwi"]] * len(labels)]
    model = lt.TextLabelTreeClassifier(dim=20, buckets=500, epochs=40)
    model.fit([*texts, *texts], wrong, sample_weight=[1.0] * len(texts) + [0.0] * len(texts))
    assert model.score(*problem) > 0.95


def test_a_tree_given_by_names_is_arranged_by_them(problem):
    texts, labels = problem
    names = sorted(FRUITS, reverse=True)
    tree = lt.LabelTree([0, 2, 4, 6, 8], [~0, 1, ~1, 2, ~2, 3, ~3, ~4], 5, label_names=names)
    model = lt.TextLabelTreeClassifier(tree=tree, dim=8).fit(texts, labels)
    depths = dict(zip(model.classes_, model.tree_.label_depth.tolist(), strict=True))
    assert depths == dict(zip(names, [1, 2, 3, 4, 4], strict=True))


# scikit-learn.


def test_it_is_a_scikit_learn_classifier(problem, model):
    assert is_classifier(model)
    assert clone(model).get_params() == model.get_params()
    texts, labels = problem
    Y = np.array([[name in row for name in FRUITS] for row in labels]).astype(int)
    assert cross_val_score(lt.TextLabelTreeClassifier(dim=20, epochs=30), np.array(texts), Y, cv=3).min() > 0.8
    with pytest.raises(Exception, match="not fitted"):
        lt.TextLabelTreeClassifier().predict(["a"])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"tradeoff": 3}, r"tradeoff must be a number in \[0, 2\], got 3"),
        ({"tree": "flat"}, "tree must be None, a TreeBuilder, a LabelTree or one of 'huffman'"),
        ({"dim": 0}, "dim must be"),
        ({"lr": 0}, "lr must be"),
        ({"epochs": -1}, "epochs must be"),
        ({"word_ngrams": 0}, "word_ngrams must be"),
        ({"buckets": 0}, "buckets must be at least 1 if there are n-grams"),
        ({"buckets": 2**31}, "buckets must be"),
        ({"min_count": 1000}, "no word occurs 1000 times"),
        ({"tree": lt.flat_tree(5)}, "tree must be a binary LabelTree"),
        ({"tree": lt.huffman_tree([1, 1])}, "tree must be a LabelTree over the 5 labels"),
        ({"lr": 1e6, "epochs": 300}, "lr of 1000000.0 .* is too large"),
    ],
)
def test_bad_parameters_are_refused_by_name(problem, parameters, message):
    parameters = {"dim": 4, "word_ngrams": 1 if "min_count" in parameters else 2, **parameters}
    with pytest.raises(lt.errors.InputError, match=message):
        lt.TextLabelTreeClassifier(**parameters).fit(*problem)


# Odd texts.


@pytest.mark.parametrize("texts", ["one text", 7, None, [1, 2], ["a", None], np.zeros((2, 2)), ["ok", "\ud800"]])
def test_input_other_than_lists_of_texts_is_refused(model, texts):
    with pytest.raises(lt.errors.InputError, match="text"):
        model.predict_topk(texts)
    with pytest.raises(lt.errors.InputError):
        lt.TextLabelTreeClassifier().fit(texts, [["a"], ["b"]])


def test_unusual_texts_are_answered(model):
    texts = ["", " \t\r\n", "never seen", "\0\0", b"\xff\xfe \xc3", "a" * 10**6, "appleish " * 10**6, "new\nline"]
    labels, scores = model.predict_topk(texts, 3)
    assert labels.shape == (len(texts), 3)
    assert (labels[:, 0] != None).all()  # noqa: E711  the end of the text is a word known to all
    assert ((scores > 0) & (scores <= 1)).all()
    assert labels[6, 0] == "apple"
    assert model.predict_topk([], 3)[0].shape == (0, 3)


def test_a_text_without_known_words_gets_the_most_frequent_label(tmp_path):
    (tmp_path / "train.txt").write_text("__label__x aa bb aa")  # no line end: </s> is not counted as a word
    model = lt.TextLabelTreeClassifier(dim=4, word_ngrams=1, min_count=1).fit_file(tmp_path / "train.txt")
    labels, scores, stats = model.predict_topk(["zz", "aa"], 1, return_stats=True)
    assert labels.tolist() == [["x"], ["x"]]
    assert scores.tolist() == [[1.0], [1.0]]
    assert stats.no_features.tolist() == [True, False]


def test_labels_seen_once_or_never_and_a_single_label():
    texts = ["red car", "red car", "blue car", "green tree"]
    model = lt.TextLabelTreeClassifier(dim=8, min_count=1, epochs=200).fit(texts, [[0], [0], [3], [5]])
    assert model.tree_.unplaced_labels.tolist() == [1, 2, 4]
    labels, _ = model.predict_topk(texts, 6)
    assert labels[:, 0].tolist() == [0, 0, 3, 5]
    assert (labels[:, 3:] == -1).all()
    single = lt.TextLabelTreeClassifier(dim=8, min_count=1).fit(texts, [["it"]] * 4)
    assert single.predict_topk(["red"], 2)[0].tolist() == [["it", None]]
    unlabelled = lt.TextLabelTreeClassifier(dim=8, min_count=1).fit(texts, [["a"], [], ["b"], []])
    assert unlabelled.tree_.n_labels == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no word occurs|no line has a label"),
        (b"only words\nand more words\n", "no line has a label"),
        (b"__label__\xff\xfe word word\n", "not UTF-8"),
    ],
)
def test_files_that_cannot_be_learned_from_are_refused(tmp_path, content, message):
    (tmp_path / "train.txt").write_bytes(content)
    with pytest.raises(lt.errors.LabelTreesError, match=message):
        lt.TextLabelTreeClassifier(dim=4).fit_file(tmp_path / "train.txt")


def test_unusual_files_can_be_trained_on(tmp_path):
    lines = [
        b"__label__a \xff\xfe\xff x",
        b"__label__b \0 x \0y",
        b"__label__b " + b"word " * 10**6,
        b"",
        b"\r",
        b"__label__a",
    ]
    (tmp_path / "train.txt").write_bytes(b"\n".join(lines * 2))
    model = lt.TextLabelTreeClassifier(dim=4, epochs=2).fit_file(tmp_path / "train.txt")
    assert sorted(model.classes_) == ["a", "b"]
    assert model.stats_["n_words"] == 5  # </s>, x, y, word and the broken one


def test_only_regular_files_are_read(tmp_path):
    (tmp_path / "x.gz").write_bytes(b"")
    model = lt.TextLabelTreeClassifier()
    for path, message in ((tmp_path / "none", "no such file"), (tmp_path, "folder"), (tmp_path / "x.gz", "compressed")):
        with pytest.raises(lt.errors.FileFormatError, match=message):
            model.fit_file(path)
    with pytest.raises(lt.errors.InputError, match="path"):
        model.fit_file(3)


@pytest.mark.usefixtures("interrupted_soon")
def test_training_stops_at_once_when_interrupted(problem):
    model = lt.TextLabelTreeClassifier(epochs=2**31 - 1, n_jobs=2, dim=16)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*problem)
    assert not hasattr(model, "searcher_")


def test_progress_reports_speed_and_loss(problem, caplog, monkeypatch):
    monkeypatch.setattr("labeltrees._progress._SECONDS_BETWEEN_LINES", 0.0)
    with caplog.at_level("INFO", logger="labeltrees"):
        lt.TextLabelTreeClassifier(dim=64, epochs=400, verbose=1).fit(*problem)
    assert any("words/s, loss" in line for line in caplog.messages)


# Keeping.


def test_saved_pickled_and_mapped_models_answer_the_same(problem, model, tmp_path):
    texts = problem[0][:40]
    calibrated = pickle.loads(pickle.dumps(model)).calibrate(*problem)
    calibrated.save(tmp_path / "model")
    for other in (
        pickle.loads(pickle.dumps(model)),
        lt.load(tmp_path / "model"),
        lt.load(tmp_path / "model", in_memory=True, verify=True),
        pickle.loads(pickle.dumps(lt.load(tmp_path / "model"))),
    ):
        assert answers(other, texts) == answers(model, texts)
        assert other.get_params() == model.get_params()
        assert other.label_counts_.tolist() == model.label_counts_.tolist()
        assert other.tree_.label_weights.tolist() == model.tree_.label_weights.tolist()
    again = lt.load(tmp_path / "model")
    assert (again.predict_proba(texts) != calibrated.predict_proba(texts)).nnz == 0
    again.save(tmp_path / "model")
    assert answers(lt.load(tmp_path / "model"), texts) == answers(model, texts)


def test_a_given_tree_comes_back(problem, tmp_path):
    tree = lt.random_tree(5)
    model = lt.TextLabelTreeClassifier(tree=tree, dim=4).fit(*problem)
    model.save(tmp_path / "model")
    assert lt.load(tmp_path / "model").tree.children.tolist() == tree.children.tolist()


def test_damaged_folders_are_refused_or_answer(problem, model, tmp_path):
    model.save(tmp_path / "model")
    copied = shutil.copytree(tmp_path / "model", tmp_path / "damaged")
    rng = np.random.default_rng(0)
    outcomes = {"refused": 0, "answered": 0}
    for file in sorted((tmp_path / "model").iterdir()):
        original = file.read_bytes()
        for _ in range(25):
            altered = bytearray(original)
            place = int(rng.integers(len(altered)))
            altered[place] = int(rng.choice([altered[place] ^ (1 << rng.integers(8)), 0, 128, 255]))
            (copied / file.name).write_bytes(altered)
            try:
                opened = lt.load(copied)
                opened.predict_topk(problem[0][:5], 3)
                opened.predict_topk(problem[0][:5], 3, candidates=[0, 2])
                outcomes["answered"] += 1
            except lt.errors.FileFormatError as error:
                outcomes["refused"] += "damaged" in str(error)
            if bytes(altered) != original:
                with pytest.raises(lt.errors.FileFormatError):
                    lt.load(copied, verify=True)
        (copied / file.name).write_bytes(original)
    assert sum(outcomes.values()) == 25 * len(list(copied.iterdir()))
    assert min(outcomes.values()) > 20


# Shuffling every epoch: a model that does not depend on the order of its lines.


N_LABELS = 60


def topics(seed, texts_per_label):
    """Return texts sorted by label. Labels share words, so that forgetting earlier labels costs precision."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for label in np.repeat(np.arange(N_LABELS), texts_per_label):
        own = [f"w{(7 * label + word) % (3 * N_LABELS)}" for word in rng.integers(8, size=2)]
        texts.append(" ".join([*own, *(f"s{word}" for word in rng.integers(30, size=5))]))
        labels.append([f"l{label:02d}"])
    return texts, labels


SORTED, TEST = topics(0, 40), topics(1, 20)
_ORDER = np.random.default_rng(2).permutation(len(SORTED[0]))
MIXED = tuple([part[row] for row in _ORDER] for part in SORTED)


def write(path, texts, labels):
    lines = [f"__label__{row[0]} {text}\n" for text, row in zip(texts, labels, strict=True)]
    path.write_text("".join(lines))
    return path


def classifier(**settings):
    return lt.TextLabelTreeClassifier(tree="huffman", dim=16, epochs=10, word_ngrams=1, **settings)


def fit(kind, lines, folder, **settings):
    model = classifier(**settings)
    return model.fit(*lines) if kind == "memory" else model.fit_file(write(folder / "train.txt", *lines))


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("kind", ["memory", "file"])
def test_lines_sorted_by_label_give_as_good_a_model_as_mixed_lines(kind, n_jobs, tmp_path):
    in_order = fit(kind, SORTED, tmp_path, n_jobs=n_jobs).score(*TEST)
    mixed = fit(kind, MIXED, tmp_path, n_jobs=n_jobs).score(*TEST)
    noise = 2 * np.sqrt(0.5 / len(TEST[0]))  # two standard deviations of a difference of shares near one half
    assert mixed > 0.45
    assert in_order == pytest.approx(mixed, abs=noise)


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_without_shuffling_sorted_lines_give_a_much_worse_model(kind, tmp_path):
    assert fit(kind, SORTED, tmp_path, shuffle=False).score(*TEST) < 0.25
    assert fit(kind, MIXED, tmp_path, shuffle=False).score(*TEST) > 0.45


@pytest.mark.parametrize("kind", ["memory", "file"])
@pytest.mark.parametrize("shuffle", [True, False])
def test_the_same_seed_gives_the_same_bytes(kind, shuffle, tmp_path):
    first, again, other = (
        fit(kind, SORTED, tmp_path, shuffle=shuffle, random_state=seed).searcher_.store for seed in (3, 3, 4)
    )
    assert first.input.tobytes() == again.input.tobytes()
    assert first.output.tobytes() == again.output.tobytes()
    assert first.output.tobytes() != other.output.tobytes()


def test_a_line_is_read_to_its_end_after_a_literal_line_end(tmp_path):
    (tmp_path / "train.txt").write_text("__label__a aa aa </s> __label__b bb bb\n__label__c cc cc </s>\n" * 20)
    model = lt.TextLabelTreeClassifier(dim=8, word_ngrams=1, epochs=40, lr=1.0).fit_file(tmp_path / "train.txt")
    assert model.predict_topk(["aa", "bb", "cc"], 1)[0][:, 0].tolist() == ["a", "b", "c"]


@pytest.mark.usefixtures("interrupted_soon")
def test_training_on_a_file_stops_at_once_when_interrupted(tmp_path):
    path = write(tmp_path / "train.txt", *SORTED)
    model = classifier(n_jobs=2).set_params(epochs=2**31 - 1)
    with pytest.raises(KeyboardInterrupt):
        model.fit_file(path)


def test_values_other_than_flags_are_refused():
    with pytest.raises(lt.errors.InputError, match="shuffle must be True or False, got 'yes'"):
        classifier(shuffle="yes").fit(*TEST)


# Settings of n-grams.


def test_buckets_are_needed_only_for_ngrams():
    assert buckets_in_use(TextSettings(word_ngrams=1)) == 0
    assert buckets_in_use(TextSettings(word_ngrams=2, buckets=7)) == 7
    assert buckets_in_use(TextSettings(word_ngrams=1, max_n=3, buckets=7)) == 7
    check_text_settings(TextSettings(word_ngrams=1, buckets=0))
    with pytest.raises(InputError, match="buckets must be at least 1 if there are n-grams, got 0"):
        check_text_settings(TextSettings(buckets=0))


def test_the_papers_setting_can_be_changed():
    wanted = {"epochs": 200, "dim": 128, "min_count": 2, "word_ngrams": 2, "lr": 0.5}
    assert wanted.items() <= lt.TextLabelTreeClassifier.paper().get_params().items()
    model = lt.TextLabelTreeClassifier.paper(epochs=3, tradeoff=0.5)
    assert (model.epochs, model.tradeoff, model.lr) == (3, 0.5, 0.5)


def test_a_builder_makes_the_tree_and_old_parameters_name_the_new_way():
    texts, labels = topics(0, 4)
    builder = lt.TreeBuilder(cover="greedy", smoothing=0.0, tolerance=0.01)
    model = lt.TextLabelTreeClassifier(tradeoff=1.7, tree=builder, dim=4, epochs=1).fit(texts, labels)
    embeddings = model.label_embeddings(texts, labels)
    Y = np.array([[name in own for name in model.classes_] for own in labels])
    covers = lt.cover_frequencies(Y, method="greedy")
    how = {"tradeoff": 1.7, "fanout": 2, "smoothing": 0.0, "tolerance": 0.01}
    assert model.tree_ == lt.build_tree_from(embeddings, lt.label_frequencies(Y), covers, **how)
    for call in (lt.TextLabelTreeClassifier, model.set_params):
        with pytest.raises(lt.errors.InputError, match=r"give tree=lt.TreeBuilder\(cover=...\)"):
            call(cover="greedy")
    with pytest.raises(TypeError, match="fit has no argument label_names any more"):
        model.fit(texts, labels, label_names=["a"])
