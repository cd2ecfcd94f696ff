"""Threads that user code starts: what they write to outlives the call as what the call writes does.

Nothing that they compute is part of the program, so each is watched as plain Python, until the run
that started it ends. Of what is refused there the run itself is told, in its own thread.
"""

from __future__ import annotations

import functools
import threading
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from monograph.capture.call_events import CALL_EVENTS
from monograph.capture.installation import OVERRIDES, THREAD, listening
from monograph.capture.plain.profiling import Plain
from monograph.host.dispatch import modes

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from monograph.capture.plain.reachable_objects import Plan
    from monograph.capture.recording.recorder import Recorder

_LONGEST: Final = 1.0
"""So many seconds a run waits for its threads to end, before it looks what they wrote."""


class StartedThreads:
    """The threads that one run started, and what each of them came to."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._started: list[threading.Thread] = []

    def start(self, start: Callable[[threading.Thread], None], thread: threading.Thread) -> None:
        """Start a thread that is watched while it runs."""
        recorder = self._recorder
        listener = InThread(recorder.watcher(), recorder)
        run: Any = thread.run
        was_own = "run" in vars(thread)

        def watched() -> None:
            if was_own:
                thread.run = run
            else:
                del thread.run
            before, THREAD.started_by = CALL_EVENTS.now(), recorder
            with CALL_EVENTS.held():
                CALL_EVENTS.tell(CALL_EVENTS.told(listener, before))
                try:
                    run()
                finally:
                    CALL_EVENTS.tell(before)

        thread.run = watched
        start(thread)
        self._started.append(thread)

    def wait(self) -> None:
        """Wait for those that end soon: eager code that looks again finds what they wrote."""
        until = monotonic() + _LONGEST
        for each in self._started:
            each.join(max(0, until - monotonic()))


class InThread(Plain):
    """What one of them does, as far as `plain` knows of it then."""

    aside: FrameType | None

    def __init__(self, plain: Plain, recorder: Recorder) -> None:
        self.__dict__.update(plain.__dict__)
        self.aside = None
        self.plans, self.quiet, self._codes = dict(plain.plans), set(plain.quiet), []
        self.refuse = recorder.refused_elsewhere.append
        self._run = recorder

    def begins(self, frame: FrameType, plan: Any) -> None:
        """A Python function begins, while the run goes on or after it."""
        if not self._run.closed:
            super().begins(frame, plan)

    def calls(self, frame: FrameType, function: Any) -> None:
        """A function in C is about to be called, while the run goes on or after it."""
        if not self._run.closed:
            super().calls(frame, function)

    def _begins(self, frame: FrameType, plan: Plan) -> None:
        """What is asked of tensors there, and by what names, decides nothing in the program."""


@OVERRIDES.override(threading.Thread, "start")
def _start(original: Callable[[threading.Thread], None]) -> Any:
    @functools.wraps(original)
    def start(thread: threading.Thread) -> None:
        recorder = listening() if listening() in modes() else THREAD.started_by
        if recorder is None or recorder.closed:
            original(thread)  # of what runs within an operator, its fake kernel, nobody is told
            return
        recorder.threads = recorder.threads or StartedThreads(recorder)
        recorder.threads.start(original, thread)

    return start


__all__ = ["InThread", "StartedThreads"]
