"""Call events: Python tells a listener of the calls that are about to happen in this thread.

From 3.12 on by `sys.monitoring`. Code that says nothing to anybody is not told of again, calls of C
are told of in the code that they matter in alone, and debuggers, coverage tools and profilers keep
their places. Before, by a profiler, of which there is one a thread: one of other people's waits. If
it is written in Python, ours tells it everything; `cProfile`'s is put back afterwards, and counts
what ran meanwhile as its caller's; others cannot be put back.
"""

from __future__ import annotations

import sys
import threading
from _lsprof import Profiler
from contextlib import contextmanager, nullcontext
from types import BuiltinFunctionType, MethodDescriptorType
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from contextlib import AbstractContextManager
    from types import CodeType, FrameType


class Listener(Protocol):
    """Whoever is told."""

    plans: Any
    """By identity of code, what to do when it begins; None: nothing; itself: not known yet."""
    quiet: set[type]
    """Kinds of objects whose methods in C are not told of."""
    suspects: frozenset[int]
    """The identities of the C functions that are told of, whatever they belong to."""
    aside: FrameType | None
    """Until this function returns, calls of C are not told of."""

    def begins(self, frame: FrameType, plan: Any, /) -> None:
        """A Python function begins, or goes on."""
        ...

    def calls(self, frame: FrameType, function: Any, /) -> None:
        """A function in C is about to be called."""
        ...

    def returns(self) -> None:
        """The function that is aside returns, or raises."""
        ...

    def is_silent(self, code: CodeType, /) -> bool:
        """Whether neither this code nor what it calls in C says anything, now and later."""
        ...


_NOTHING: Final = nullcontext()


class _Profiling:
    """The way of Python 3.11. What is set is a profiler."""

    @property
    def can_listen(self) -> bool:
        """Whether there is room for a listener."""
        before: Any = sys.getprofile()
        return before is None or callable(before) or isinstance(before, Profiler)

    now = staticmethod(sys.getprofile)
    """Who is told now."""

    def tell(self, profile: Any) -> None:
        """Tell another from now on, or again, or nobody (None)."""
        if isinstance(profile, Profiler):
            profile.enable()
        else:
            sys.setprofile(profile)

    def look_away(self) -> Any:
        """Tell nobody, and return who is to be told again; what is written in C goes on."""
        before: Any = sys.getprofile()
        if not callable(before):
            return None
        sys.setprofile(None)
        return before

    def held(self) -> AbstractContextManager[None]:
        """Listeners come and go within."""
        return _NOTHING

    def told(self, listener: Listener, before: Any) -> Callable[[FrameType, str, Any], None]:
        """What to set, so that a listener is told, and whoever was told before."""
        before = before if callable(before) else None
        plans, quiet, suspects = listener.plans, listener.quiet, listener.suspects

        def profile(frame: FrameType, event: str, arg: Any) -> None:
            if event == "call":
                plan = plans.get(id(frame.f_code), plans)
                if plan is not None:
                    listener.begins(frame, plan)
            elif event == "c_call":
                is_told = type(arg.__self__) not in quiet or id(arg) in suspects
                if is_told and listener.aside is None:
                    listener.calls(frame, arg)
            elif frame is listener.aside and event == "return":
                listener.returns()
            if before is not None:
                before(frame, event, arg)

        return profile


class _Told(threading.local):
    """Who is told in this thread."""

    listener: Listener | None = None
    is_told = False
    holds = 0
    has_events = False


class _Monitoring:
    """The way of Python 3.12. What is set is a listener; events are on while any thread has one."""

    _IDENTITIES: Final = (5, 4, 3)
    """Of tools that are no debuggers or profilers: that of optimisers, and those of nobody."""

    def __init__(self, monitoring: Any) -> None:
        self._monitoring = monitoring
        self._events = monitoring.events
        self._thread = _Told()
        self._lock = threading.Lock()
        self._threads = 0
        self._tool: int | None = None
        self._codes: dict[int, CodeType] = {}
        """In which calls of C are told of."""

    @property
    def can_listen(self) -> bool:
        """Whether there is room for a listener."""
        free = (self._monitoring.get_tool(each) is None for each in self._IDENTITIES)
        return self._tool is not None or any(free)

    def now(self) -> Any:
        """Who is told now."""
        return self._thread.listener if self._thread.is_told else None

    def tell(self, listener: Any) -> None:
        """Tell another from now on, or again, or nobody (None)."""
        thread = self._thread
        if listener is not None:
            thread.listener = listener
            if not thread.has_events:
                thread.has_events = True
                self._count(1)
        thread.is_told = listener is not None

    def look_away(self) -> Any:
        """Tell nobody, and return who is to be told again."""
        before = self.now()
        self._thread.is_told = False
        return before

    def told(self, listener: Listener, before: Any) -> Listener:
        """What to set, so that a listener is told; nobody need wait for it."""
        del before
        return listener

    @contextmanager
    def held(self) -> Generator[None]:
        """Listeners come and go within: to turn events on and off changes all code that runs."""
        thread = self._thread
        thread.holds += 1
        try:
            yield
        finally:
            thread.holds -= 1
            if not thread.holds:
                thread.listener, thread.is_told = None, False
                if thread.has_events:
                    thread.has_events = False
                    self._count(-1)

    def _count(self, change: int) -> None:
        """One thread more, or less, wants events."""
        with self._lock:
            before, self._threads = self._threads, self._threads + change
            if not before:
                self._begin()
            elif not self._threads:
                self._end()

    def _begin(self) -> None:
        events = self._events
        free = (each for each in self._IDENTITIES if self._monitoring.get_tool(each) is None)
        tool = self._tool = next(free)
        self._monitoring.use_tool_id(tool, "monograph")
        for event, callback in (
            (events.PY_START, self._starts),
            (events.PY_RESUME, self._starts),
            (events.CALL, self._calls),
            (events.PY_RETURN, self._ends),
            (events.PY_UNWIND, self._ends),
        ):
            self._monitoring.register_callback(tool, event, callback)
        self._monitoring.set_events(tool, events.PY_START | events.PY_RESUME | events.PY_UNWIND)

    def _end(self) -> None:
        tool, self._tool = self._tool, None
        self._monitoring.set_events(tool, 0)
        while self._codes:
            self._monitoring.set_local_events(tool, self._codes.popitem()[1], 0)
        for event in ("PY_START", "PY_RESUME", "CALL", "PY_RETURN", "PY_UNWIND"):
            self._monitoring.register_callback(tool, getattr(self._events, event), None)
        self._monitoring.free_tool_id(tool)

    def _starts(self, code: CodeType, _: int) -> Any:
        listener = self._thread.listener
        if listener is None:
            return None
        if listener.is_silent(code):
            return self._monitoring.DISABLE
        if not self._thread.is_told:
            return None
        key = id(code)
        plan = listener.plans.get(key, listener.plans)
        if plan is not None:
            frame = sys._getframe(1)
            listener.begins(frame, plan)
            if listener.aside is not None:
                if listener.aside is frame:
                    self._tell_of(code, self._events.PY_RETURN)
                return None
        if key not in self._codes:
            self._tell_of(code, self._events.CALL)
        return self._monitoring.DISABLE if listener.plans.get(key, 0) is None else None

    def _tell_of(self, code: CodeType, events: int) -> None:
        if self._tool is not None:  # it may be an event of another thread, and all have ended
            self._codes[id(code)] = code
            self._monitoring.set_local_events(self._tool, code, events)

    def _calls(self, _: CodeType, __: int, function: Any, first: Any) -> None:
        listener = self._thread.listener
        if listener is None or not self._thread.is_told or listener.aside is not None:
            return
        kind = type(function)
        is_bound = issubclass(kind, BuiltinFunctionType)
        owner = function.__self__ if is_bound else first
        if type(owner) in listener.quiet and id(function) not in listener.suspects:
            return
        if kind is MethodDescriptorType and first is not self._monitoring.MISSING:
            function = function.__get__(first, type(first))
        elif not is_bound:
            return
        listener.calls(sys._getframe(1), function)

    def _ends(self, *_: Any) -> None:
        listener = self._thread.listener
        aside = None if listener is None else listener.aside
        if listener is not None and aside is not None and sys._getframe(1) is aside:
            listener.returns()


MONITORING: Final[Any] = getattr(sys, "monitoring", None)
CALL_EVENTS: Final[_Monitoring | _Profiling] = (
    _Profiling() if MONITORING is None else _Monitoring(MONITORING)
)
"""What this version of Python has."""

__all__ = ["CALL_EVENTS", "MONITORING", "Listener"]
