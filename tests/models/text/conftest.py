import signal
import threading

import pytest


@pytest.fixture
def interrupted_soon():
    """Send Ctrl-C to the test half a second after it starts; end the tests if it does not stop."""
    timer = threading.Timer(0.5, lambda: signal.raise_signal(signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background may ignore it
    signal.alarm(60)
    timer.start()
    yield
    timer.join()
    signal.alarm(0)
    signal.signal(signal.SIGINT, before)
