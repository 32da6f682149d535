"""Hardware counters of this thread: instructions and cache misses, on Linux machines that expose them."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from types import TracebackType

_SYSCALL = {"x86_64": 298, "aarch64": 241}  # perf_event_open
_SIZE = 128  # of perf_event_attr
_DISABLED, _NO_KERNEL, _NO_HYPERVISOR = 1 << 0, 1 << 5, 1 << 6
_RESET, _ENABLE, _DISABLE = 0x2403, 0x2400, 0x2401

_MEANING = {
    errno.ENOENT: "this machine exposes no hardware counters",
    errno.EACCES: "not allowed, see kernel.perf_event_paranoid",
    errno.EPERM: "not allowed",
    errno.ENOSYS: "the kernel does not support hardware counters",
}

Events = dict[str, tuple[int, int]]  # name: type and number from linux/perf_event.h
HARDWARE: Events = {"instructions": (0, 1), "cache_misses": (0, 3)}


class HardwareCounters:
    """Counts events while its block runs. If that is not possible, `counts` is None and `reason` says why.

    Parameters
    ----------
    events : dict from str to (int, int)
        The events to count; by default instructions and last-level cache misses.

    Examples
    --------
    >>> with HardwareCounters() as counters:
    ...     total = sum(range(1000))
    >>> (counters.counts is None) == (counters.reason is not None)
    True
    """

    def __init__(self, events: Events | None = None) -> None:
        self.counts: dict[str, int] | None = None
        self.reason: str | None = None
        self._events = HARDWARE if events is None else events
        self._files: dict[str, int] = {}

    def __enter__(self) -> HardwareCounters:
        try:
            for name, (kind, number) in self._events.items():
                self._files[name] = _open_event(kind, number)
        except OSError as error:
            self.reason = error.strerror
            self._close()
            return self
        for file in self._files.values():
            _control(file, _RESET)
            _control(file, _ENABLE)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for file in self._files.values():
            _control(file, _DISABLE)
        if self._files:
            self.counts = {name: struct.unpack("=q", os.read(file, 8))[0] for name, file in self._files.items()}
        self._close()

    def _close(self) -> None:
        for file in self._files.values():
            os.close(file)
        self._files = {}


def _open_event(kind: int, number: int) -> int:
    """Open a disabled counter of this thread's events and return its file descriptor."""
    call = _SYSCALL.get(platform.machine())
    if not sys.platform.startswith("linux") or call is None:
        raise OSError(0, f"hardware counters are not supported on {sys.platform} with {platform.machine()}")
    flags = _DISABLED | _NO_KERNEL | _NO_HYPERVISOR
    attributes = struct.pack("=IIQQQQQ", kind, _SIZE, number, 0, 0, 0, flags).ljust(_SIZE, b"\0")
    library = ctypes.CDLL(None, use_errno=True)
    file = int(library.syscall(call, ctypes.create_string_buffer(attributes, _SIZE), 0, -1, -1, 0))
    if file < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{_MEANING.get(error, 'failed')}; perf_event_open: {os.strerror(error)}")
    return file


def _control(file: int, request: int) -> None:
    import fcntl  # only on Unix; this module must be importable elsewhere

    fcntl.ioctl(file, request, 0)
