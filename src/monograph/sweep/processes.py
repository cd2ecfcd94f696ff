"""Process isolation: a function runs in a fork with limits of time and memory, and is supervised.

Law: whatever it does (raises, crashes, hangs, prints without end, leaves processes behind), the
caller gets what it told last, how it ended, and the end of what it printed. The caller must have
one thread, as `fork` copies no other.
"""

from __future__ import annotations

import ctypes
import faulthandler
import json
import os
import re
import resource
import signal
import sys
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

Told: TypeAlias = dict[str, Any]
Ending: TypeAlias = Literal["returned", "crashed", "timed-out", "out-of-memory"]

EVERY: Final = 0.1
"""Seconds between two looks at the clock and at the memory."""
KILLED: Final = "ended by SIGKILL"
LATE_SECONDS: Final = 1.0
"""For so long what an ended run left in pipes is read; others may go on writing there."""
OUTPUT_BYTES: Final = 4000
_ADDRESS: Final = re.compile(r"\b0x[0-9a-f]{6,}\b")
MESSAGE_BYTES: Final = 1 << 24
_DIE_WITH_PARENT: Final = 1  # PR_SET_PDEATHSIG of <linux/prctl.h>


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may take: wall time, processor time, resident memory; None is no limit."""

    seconds: float | None = None
    processor_seconds: int | None = None
    memory_bytes: int | None = None


@dataclass(slots=True)
class SupervisedRun:
    """How a run ended; `told` is what it told last, `output` the end of what it printed."""

    told: Told = field(default_factory=dict[str, Any])
    ending: Ending = "returned"
    detail: str = ""
    output: str = ""
    peak_bytes: int = 0


class AbandonedError(Exception):
    """Whoever asked for a run is gone."""


def supervised(
    run: Callable[[Callable[[Told], None]], object],
    limits: Limits,
    *,
    watch: Callable[[Told], None] = lambda _: None,
    asked_by: Connection | None = None,
) -> SupervisedRun:
    """Call `run(tell)` in a fork; each `tell(told)` is seen by `watch`, and the last one is kept.

    Where `asked_by` can be read, or is closed, the run is ended.

    Raises: AbandonedError (`asked_by`).
    """
    ends: Any = Pipe(duplex=False)
    messages, sender = ends
    printed, output = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    parent, child = os.getpid(), os.fork()
    if child == 0:
        if asked_by is not None:
            asked_by.close()
        _run(run, sender, output, limits, parent)
    sender.close()
    os.close(output)
    found, text = SupervisedRun(), bytearray()
    sources: dict[Any, Callable[[], bool]] = {
        messages: lambda: _heard(messages, found, watch),
        printed: lambda: _printed(printed, text),
    }
    if asked_by is not None:
        sources[asked_by] = _abandon
    try:
        status, used = _watched(child, limits, sources, found)
        late = time.monotonic() + LATE_SECONDS
        while time.monotonic() < late and _read(sources, 0):
            pass
    finally:
        _end(child)
        messages.close()
        os.close(printed)
    found.output = without_addresses(_worth_keeping(text).decode(errors="replace"))
    found.peak_bytes = used.ru_maxrss * 1024
    if found.ending == "returned":
        _judge(os.waitstatus_to_exitcode(status), found)
    return found


def without_addresses(text: str) -> str:
    """Text in which nothing differs from run to run only because memory was elsewhere."""
    return _ADDRESS.sub("0x…", text)


def _watched(
    child: int, limits: Limits, sources: dict[Any, Callable[[], bool]], found: SupervisedRun
) -> tuple[int, resource.struct_rusage]:
    """Read what a run says, hold it to its limits, until it has ended; give status and usage."""
    start = time.monotonic()
    while True:
        ended, status, used = os.wait4(child, os.WNOHANG)
        if ended:
            _end(child)  # what it left behind
            return status, used
        _hold(child, limits, time.monotonic() - start, found)
        _read(sources, EVERY)


def _read(sources: dict[Any, Callable[[], bool]], seconds: float) -> bool:
    """Read where there is something; whether there was. Sources leave at their end."""
    ready = wait([*sources], seconds)
    for each in ready:
        if not sources[each]():
            del sources[each]
    return bool(ready)


def _abandon() -> bool:
    raise AbandonedError


def _printed(fd: int, text: bytearray) -> bool:
    """Keep the end of what was printed; False at the end of it."""
    read = os.read(fd, 1 << 16)
    text += read
    del text[: -16 * OUTPUT_BYTES]
    return bool(read)


def _worth_keeping(text: bytearray) -> bytearray:
    """The end; of a crash the beginning of its stack, where the innermost frames stand."""
    crash = text.rfind(b"Fatal Python error")
    return text[-OUTPUT_BYTES:] if crash < 0 else text[crash:][:OUTPUT_BYTES]


def _heard(messages: Connection, found: SupervisedRun, watch: Callable[[Told], None]) -> bool:
    """Take a message; False where none will follow."""
    try:
        found.told = json.loads(messages.recv_bytes(MESSAGE_BYTES))
    except (EOFError, OSError, ValueError):
        return False
    watch(found.told)
    return True


def _hold(child: int, limits: Limits, seconds: float, found: SupervisedRun) -> None:
    """End a run that is over its limits."""
    most = limits.memory_bytes
    if limits.seconds is not None and seconds > limits.seconds:
        found.ending, found.detail = "timed-out", f"more than {limits.seconds:g} seconds"
    elif most is not None and _resident_bytes(child) > most:
        found.ending, found.detail = "out-of-memory", f"more than {most / 1e9:g} GB of memory"
    else:
        return
    _end(child)
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)  # it may not lead its group yet


def _end(child: int) -> None:
    """End a run with the processes that it started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)


def _resident_bytes(pid: int) -> int:
    with suppress(OSError, ValueError, IndexError):
        pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * resource.getpagesize()
    return 0


def _judge(exit_code: int, found: SupervisedRun) -> None:
    """Say how a run ended that nobody ended."""
    if exit_code == -signal.SIGXCPU:
        found.ending, found.detail = "timed-out", "more processor time than it may take"
    elif exit_code:
        number = -exit_code
        known = number in set(signal.Signals)
        found.ending = "crashed"
        found.detail = (
            f"ended by {signal.Signals(number).name if known else f'signal {number}'}"
            if exit_code < 0
            else f"left with exit status {exit_code}"
        )


def _run(
    run: Callable[[Callable[[Told], None]], object],
    sender: Connection,
    output: int,
    limits: Limits,
    parent: int,
) -> NoReturn:
    """The fork: nothing of it outlives its parent, and it never returns."""
    status = 1
    try:
        os.setsid()
        _die_with(parent)
        for descriptor in (1, 2):
            os.dup2(output, descriptor)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.stdout = sys.stderr = os.fdopen(1, "w", errors="replace", closefd=False)
        faulthandler.enable(output)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if limits.processor_seconds is not None:
            most = limits.processor_seconds
            resource.setrlimit(resource.RLIMIT_CPU, (most, most + 5))
        run(lambda told: sender.send_bytes(json.dumps(told).encode()))
        status = 0
    except BaseException:  # noqa: BLE001  (a fork must not go on as its parent)
        traceback.print_exc()
    finally:
        with suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def _die_with(parent: int) -> None:
    """Have the kernel end this process when its parent ends (Linux: prctl(2))."""
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


__all__ = [
    "KILLED",
    "AbandonedError",
    "Limits",
    "SupervisedRun",
    "Told",
    "supervised",
    "without_addresses",
]
