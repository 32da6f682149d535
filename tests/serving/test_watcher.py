"""Loading models in a thread, and ending it."""

import threading

from labeltrees.serving import watcher
from labeltrees.serving.watcher import Watcher


class SlowRegistry:
    """A registry whose models take as long to load as a test wants."""

    is_ready = False

    def __init__(self):
        self.begun, self.may_end = threading.Event(), threading.Event()
        self.n_refreshes = 0

    def refresh(self):
        self.n_refreshes += 1
        self.begun.set()
        self.may_end.wait(20)
        self.is_ready = True


def test_a_stop_does_not_wait_for_a_model_that_is_being_loaded(monkeypatch):
    monkeypatch.setattr(watcher, "_STOP_SECONDS", 0.01)
    registry = SlowRegistry()
    one = Watcher(registry, 0.01)
    one.start()
    assert registry.begun.wait(20)
    thread = one._thread
    one.stop()
    assert thread.is_alive()  # the stop returned before the model was loaded
    registry.may_end.set()
    thread.join(20)
    assert not thread.is_alive()
    assert registry.n_refreshes == 1


def test_without_reloads_it_ends_when_every_model_is_loaded():
    registry = SlowRegistry()
    registry.may_end.set()
    one = Watcher(registry, 0)
    one.start()
    one._thread.join(20)
    assert registry.n_refreshes == 1
    one.stop()


def test_it_can_be_started_again():
    registry = SlowRegistry()
    registry.may_end.set()
    one = Watcher(registry, 60)
    for n in (1, 2):
        registry.begun.clear()
        one.start()
        assert registry.begun.wait(20)
        one.stop()
        assert registry.n_refreshes == n
