"""Progress goes where someone looks."""

import logging

import pytest

from labeltrees import InputError, _progress
from labeltrees._progress import watch


@pytest.mark.parametrize("progress", [None, False])
def test_by_default_nobody_watches(progress, capsys):
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
