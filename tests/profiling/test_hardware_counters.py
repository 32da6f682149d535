"""Counters count where there are some, and say why where there are none."""

import platform

import pytest

from labeltrees.profiling import hardware_counters
from labeltrees.profiling.hardware_counters import HardwareCounters

TASK_CLOCK = {"nanoseconds": (1, 1)}  # counted by Linux itself: no hardware needed


def work():
    return sum(number * number for number in range(100_000))


def test_what_is_counted_grows_with_the_work():
    counted = []
    for rounds in (1, 20):
        with HardwareCounters(TASK_CLOCK) as counters:
            for _ in range(rounds):
                work()
        if counters.counts is None:
            pytest.skip(f"no counters here: {counters.reason}")
        counted.append(counters.counts["nanoseconds"])
    assert 0 < counted[0] < counted[1]


def test_an_event_that_is_not_there_is_a_reason_and_no_error():
    with HardwareCounters({"nothing": (99, 0)}) as counters:
        work()
    assert counters.counts is None
    assert "; perf_event_open: " in counters.reason or "not supported" in counters.reason


def test_one_event_missing_leaves_no_file_open(monkeypatch):
    opened, closed = [], []

    def open_event(kind, number):
        if number:
            raise OSError(13, "Permission denied")
        opened.append(77)
        return 77

    monkeypatch.setattr(hardware_counters, "_open_event", open_event)
    monkeypatch.setattr(hardware_counters.os, "close", closed.append)
    with HardwareCounters({"there": (0, 0), "not": (0, 1)}) as counters:
        pass
    assert counters.counts is None
    assert counters.reason == "Permission denied"
    assert opened == closed == [77]


def test_other_machines_are_not_asked(monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "abacus")
    with HardwareCounters() as counters:
        work()
    assert counters.reason == "hardware counters are not supported on linux with abacus"
