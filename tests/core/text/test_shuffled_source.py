"""The random order in which training reads texts: every text once per epoch, from memory and from files."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import labeltrees as lt
from labeltrees import _core

MIB = 2**20


def corpus_of(texts=None, path=""):
    return _core.TextCorpus(texts, str(path), 1, 0, 0, 0)


def read_in_memory(n, epochs=1, seed=0, n_threads=1):
    """Return the numbers of n texts in the order of training."""
    lines = corpus_of(tuple(str(i) for i in range(n))).shuffled_lines(epochs, seed, n_threads)
    return np.array([int(line) for line in lines], dtype=np.int64)


@given(st.integers(0, 700), st.integers(1, 3), st.integers(0, 2**64 - 1), st.integers(1, 4))
def test_every_text_in_memory_is_read_once_per_epoch(n, epochs, seed, n_threads):
    order = read_in_memory(n, epochs, seed, n_threads)
    assert np.bincount(order, minlength=n).tolist() == [epochs] * n
    if n_threads == 1:
        assert all(sorted(part.tolist()) == list(range(n)) for part in order.reshape(epochs, n))


@pytest.mark.parametrize("buffer_bytes", [None, 100, 9000])
@given(
    # Lines from empty to longer than the buffer, whose blocks have 100 bytes or 4 KiB.
    st.lists(st.one_of(st.integers(0, 80), st.integers(0, 10_000)), max_size=40),
    st.booleans(),
    st.integers(1, 3),
    st.integers(0, 2**64 - 1),
    st.integers(1, 4),
)
def test_every_line_of_a_file_is_read_once_per_epoch(
    tmp_path_factory, buffer_bytes, lengths, ended, epochs, seed, n_threads
):
    content = b"\n".join(b"%d " % i + b"x" * length for i, length in enumerate(lengths)) + b"\n" * ended
    path = tmp_path_factory.getbasetemp() / "shuffled.txt"
    path.write_bytes(content)
    lines = corpus_of(path=path).shuffled_lines(epochs, seed, n_threads, buffer_bytes)
    assert Counter(lines) == Counter(dict.fromkeys(content.splitlines(keepends=True), epochs))


@pytest.fixture(scope="module")
def large_file(tmp_path_factory):
    """A file of 20 MB, which is more than one thread holds, whose lines are numbered."""
    path = tmp_path_factory.mktemp("shuffled") / "lines.txt"
    path.write_text("".join(f"{i:099d}\n" for i in range(200_000)))
    return path


def test_a_file_larger_than_the_buffer_is_read_once_per_epoch_in_another_order(large_file):
    order = np.array([int(line) for line in corpus_of(path=large_file).shuffled_lines(2, 3, 1)])
    first, second = order.reshape(2, -1)
    assert (np.sort(first) == np.arange(200_000)).all()
    assert (np.sort(second) == np.arange(200_000)).all()
    assert (first == second).mean() < 0.001
    for epoch in (first, second):
        # Neither the trend of the file nor its neighbours remain; with 306 blocks in 2 groups, chance alone gives 0.05.
        assert abs(np.corrcoef(epoch, np.arange(len(epoch)))[0, 1]) < 0.2
        assert (np.abs(np.diff(epoch)) <= 5).mean() < 0.001


def test_the_order_depends_only_on_the_seed(large_file):
    def some(seed):
        return corpus_of(path=large_file).shuffled_lines(1, seed, 1)[:1000]

    assert some(1) == some(1)
    assert some(1) != some(2)
    assert read_in_memory(100, seed=1).tolist() == read_in_memory(100, seed=1).tolist()
    assert read_in_memory(100, seed=1).tolist() != read_in_memory(100, seed=2).tolist()


@pytest.mark.parametrize("n", [2, 3, 7, 16, 33])
def test_every_text_is_equally_likely_at_every_place(n):
    runs = 4000
    orders = np.array([read_in_memory(n, runs, seed) for seed in range(3)]).reshape(-1, n)
    expected = len(orders) / n
    counts = np.array([np.bincount(column, minlength=n) for column in orders.T])
    assert np.abs(counts - expected).max() < 6 * np.sqrt(expected)  # 6 standard deviations
    followed = (np.diff(orders, axis=1) == 1).mean()  # of a uniform permutation 1 / n
    assert followed == pytest.approx(1 / n, rel=0.15)


@given(st.integers(16 * MIB + 1, 2**46), st.integers(1, 256))
def test_a_thread_holds_at_most_16_mib_of_a_file_of_any_size(file_size, n_threads):
    block_size, n_blocks, n_groups = _core.shuffle_blocks(file_size, n_threads)
    assert n_blocks * block_size >= file_size
    assert -(-n_blocks // n_groups) * block_size <= 16 * MIB
    assert n_groups % n_threads == 0  # every thread gets a part of each epoch


def test_a_file_that_becomes_shorter_during_training_is_refused(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("a line\n" * 1000)
    corpus = corpus_of(path=path)
    path.write_text("a line\n")
    with pytest.raises(lt.errors.FileFormatError, match="became shorter during training"):
        corpus.shuffled_lines(1, 0, 1)
