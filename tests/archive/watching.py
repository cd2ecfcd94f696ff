"""What a reader of files does beside reading: files it opens for writing, programs it starts.

Python tells of these itself (`sys.addaudithook`); what is told while nobody watches is dropped.
A hook cannot be taken away, and being told costs a twentieth of the time of whatever runs later:
`conftest.py` lets the tests that watch come last.
"""

import gc
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SECONDS = 10
MEGABYTES = 200
"""What one file may cost, beside its size."""

FORBIDDEN = (
    "ctypes.",
    "ftplib.",
    "marshal.",
    "os.",
    "pickle.",
    "pty.",
    "shutil.",
    "socket.",
    "subprocess.",
    "tempfile.",
    "urllib.",
    "webbrowser.",
)
HARMLESS = frozenset({"os.listdir", "os.scandir", "os.walk", "os.fwalk"})
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC

_watches: list[list[str]] = []
_collections: list[str] = []
"""The collection of garbage under way: what dies in it was left by others, as z3's formulas are."""
_is_installed = False


def _note(event: str, arguments: tuple) -> None:
    if not _watches or _collections:
        return
    if event == "open":
        path, mode, flags = arguments
        if (isinstance(mode, str) and set(mode) & set("wax+")) or (flags or 0) & WRITES:
            _watches[-1].append(f"open {path!r} {mode}")
    elif event.startswith(FORBIDDEN) and event not in HARMLESS:
        _watches[-1].append(f"{event} {arguments!r}"[:200])


def _note_collection(phase: str, _: dict[str, int]) -> None:
    _collections[:] = [phase] if phase == "start" else []


@contextmanager
def watched(*, limit: int) -> Iterator[list[str]]:
    """Gather what is done; hold that it took seconds, and `limit` bytes beside what is allowed."""
    global _is_installed  # noqa: PLW0603  a hook cannot be taken away
    if not _is_installed:
        sys.addaudithook(_note)
        gc.callbacks.append(_note_collection)
        _is_installed = True
    seen: list[str] = []
    before, start = forgotten_peak(), time.process_time()
    _watches.append(seen)
    try:
        yield seen
    finally:
        _watches.remove(seen)
    took, grown = time.process_time() - start, in_status("VmHWM") - before
    assert took < SECONDS, f"it took {took:.1f} s"
    assert grown < limit + (MEGABYTES << 20), f"memory grew by {grown >> 20} MB"


def forgotten_peak() -> int:
    """Let the most memory that the process had be what it has now; give it."""
    with suppress(OSError):  # where it may not be forgotten, the bound is weaker
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return in_status("VmHWM")


def in_status(field: str) -> int:
    """Give a figure of the process, in bytes."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) << 10
    return 0
