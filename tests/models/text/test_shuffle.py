"""Shuffling every epoch: a model that does not depend on the order of its lines."""

import numpy as np
import pytest

import labeltrees as lt

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
