"""Progress goes where someone looks."""

import logging
from contextlib import contextmanager

import pytest

import labeltrees as lt
from labeltrees import _progress
from labeltrees._progress import showing, watch, watch_part
from labeltrees.data import files, tfidf_learning
from labeltrees.data.files import read_lines
from labeltrees.errors import InputError


@pytest.mark.parametrize("progress", [None, False])
def test_no_progress_is_shown_by_default(progress, capsys):
    with watch("Work", 10, progress) as advance:
        assert advance is None
    assert capsys.readouterr() == ("", "")


def test_a_function_gets_done_and_total():
    seen = []
    with watch("Work", 10, lambda done, total: seen.append((done, total))) as advance:
        advance(3)
        advance(10)
    assert seen == [(3, 10), (10, 10)]


def test_without_a_terminal_the_log_gets_lines(caplog, monkeypatch, capsys):
    monkeypatch.setattr(_progress, "_SECONDS_BETWEEN_LINES", 0.0)
    with caplog.at_level(logging.INFO, logger="labeltrees"), watch("Work", 10, True) as advance:
        advance(5)
    assert [record.getMessage().split(" after ")[0] for record in caplog.records[:1]] == ["Work: 50 %"]
    assert caplog.records[-1].getMessage().startswith("Work: done in")
    assert capsys.readouterr().out == ""


def test_lines_are_not_written_for_every_step(caplog):
    with caplog.at_level(logging.INFO, logger="labeltrees"), watch("Work", 1000, True) as advance:
        for done in range(1000):
            advance(done)
    assert len(caplog.records) == 1


def test_on_a_terminal_a_bar_is_drawn_on_standard_error(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with watch("Work", 10, True) as advance:
        advance(10)
    captured = capsys.readouterr()
    assert "Work" in captured.err
    assert "100%" in captured.err
    assert captured.out == ""


def test_anything_else_is_refused():
    with pytest.raises(InputError, match="progress must be"), watch("Work", 10, "yes"):
        pass


def test_rate_and_time_left_are_logged(caplog, monkeypatch):
    monkeypatch.setattr(_progress, "_SECONDS_BETWEEN_LINES", 0.0)
    clock = iter([0.0, 4.0, 5.0])
    monkeypatch.setattr(_progress.time, "monotonic", lambda: next(clock))
    with caplog.at_level(logging.INFO, logger="labeltrees"), watch("Work", 100, True, unit="texts") as advance:
        advance(80)
    assert caplog.records[0].getMessage() == "Work: 80 % after 4 s, 20 texts/s, about 1 s left"


def test_parts_are_shown_only_where_progress_is_shown(caplog, monkeypatch):
    monkeypatch.setattr(_progress, "_SECONDS_BETWEEN_LINES", 0.0)
    with watch_part("Part", 10, "texts") as advance:
        assert advance is None
    with caplog.at_level(logging.INFO, logger="labeltrees"), showing(True):
        with watch_part("Short part", 10, "texts"):
            pass
        with watch_part("Part", 10, "texts") as advance:
            advance(5)
            with watch_part("Inner part", 10, "texts") as inner:
                assert inner is None  # one bar at a time
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 2
    assert messages[0].startswith("Part: 50 %")
    with watch_part("Part", 10, "texts") as advance:
        assert advance is None


def test_reading_a_file_and_vectorizing_report_progress(monkeypatch, tmp_path):
    seen = {}

    @contextmanager
    def recorded(what, total, unit):
        done = seen.setdefault((what, total, unit), [])
        yield done.append

    texts = [f"word{i % 7} other{i % 5}" for i in range(200_000)]
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(texts))
    monkeypatch.setattr(files, "watch_part", recorded)
    monkeypatch.setattr(tfidf_learning, "watch_part", recorded)
    assert read_lines(path) == texts
    assert lt.TfidfVectorizer().fit_transform(texts).shape == (200_000, 12)
    (reading, positions), *others = seen.items()
    assert reading == ("Reading texts.txt", path.stat().st_size, "bytes")
    assert positions == sorted(positions)
    assert positions[-1] == path.stat().st_size
    assert [key for key, _ in others] == [
        ("Learning the vocabulary", 200_000, "texts"),
        ("Vectorizing texts", 200_000, "texts"),
    ]
