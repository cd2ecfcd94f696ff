"""Trace functions and debuggers: interpreted frames and their events, as `sys.settrace` has them.

While interpreted code runs, the trace function of the thread is taken off, so that it does not see
the interpreter, and is told here of the calls, lines, exceptions and returns of the program. Lines
are told by steps of the linked body, which are exchanged only while somebody wants to know them:
who is not traced pays for one question per call.
"""

from __future__ import annotations

import bdb
import os
import sys
import threading
import warnings
from contextlib import contextmanager
from inspect import CO_GENERATOR
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from monograph.bytecode.evaluation.frame import InterpreterFrame
from monograph.bytecode.evaluation.line_events import Lines
from monograph.bytecode.evaluation.native_frames import frame_at
from monograph.diagnostics import frame_filter, is_stand_in

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import CodeType, FrameType

    from monograph.bytecode.evaluation.frame import Body

__all__ = [
    "TRACED",
    "FrameView",
    "call_debugger",
    "hidden",
    "plain_steps",
    "set_trace_function",
    "shown",
    "tell_call",
    "tell_exception",
    "trace_function",
]


class _Threads:
    """How many threads are traced while they interpret."""

    count = 0


TRACED: Final = _Threads()
"""Asked before anything else: nobody is traced while its count is 0."""


class _TracedThread(threading.local):
    """The trace function of one thread while it is taken off, and how often that was asked for."""

    function: Any = None
    depth: int = 0
    is_telling: bool = False


_THREAD: Final = _TracedThread()
_INSTRUMENTED: Final[dict[Body, list[Any]]] = {}
"""The steps of bodies as they were, whose steps tell of lines now."""
_NATIVE_FRAMES_ONLY: Final[set[type]] = set()
"""The kinds of trace functions in C that take CPython's own frames alone, as coverage.py's."""
_WARNED: Final[set[str]] = set()
_MONITORING: Final[Any] = getattr(sys, "monitoring", None)
"""How tools of Python 3.12 and later learn of lines: of native code alone."""
_PACKAGE: Final = str(Path(__file__).parents[2]) + os.sep


# --- what tools see ------------------------------------------------------------------------------


class FrameView:
    """An interpreted frame as trace functions and debuggers know frames.

    Of a frame and the copies of it that go both ways of a branch there is one.
    """

    __slots__ = (
        "__weakref__",
        "_function",
        "_is_read",
        "_line",
        "_variables",
        "f_trace_lines",
        "f_trace_opcodes",
        "frame",
        "last",
        "lines",
    )

    def __init__(self, frame: InterpreterFrame) -> None:
        """Stand where the frame stands."""
        self.frame = frame
        self.last = frame.ip - 1
        self.lines: Lines | None = None
        self.f_trace_lines = True
        self.f_trace_opcodes = False
        self._function: Any = None
        self._line: int | None = None
        self._variables: dict[str, Any] = {}
        self._is_read = False

    def __repr__(self) -> str:
        return repr(self.frame)

    @property
    def f_code(self) -> CodeType:
        """The code."""
        return self.frame.code

    @property
    def f_globals(self) -> dict[str, Any]:
        """The module's variables."""
        return self.frame.globals

    @property
    def f_builtins(self) -> Any:
        """The builtins."""
        return self.frame.builtins

    @property
    def f_lasti(self) -> int:
        """The byte offset of the current instruction."""
        return self.frame.lasti

    @property
    def f_lineno(self) -> int:
        """The line of the event, or of the current instruction."""
        return self.frame.f_lineno if self._line is None else self._line

    @f_lineno.setter
    def f_lineno(self, line: int) -> None:
        raise ValueError(f"cannot jump to line {line}: the code is interpreted to be exported")

    @property
    def f_back(self) -> Any:
        """The frame that called this one; none of ours is among them."""
        return _shown(self.frame.f_back)

    @property
    def f_locals(self) -> Any:
        """The variables by name; what the trace function writes there, the program finds."""
        frame = self.frame
        if frame.names is not None:
            return frame.names
        now, variables = frame.f_locals, self._variables
        for name in frame.body.slots:
            if name not in now:
                variables.pop(name, None)
        variables.update(now)
        self._is_read = True
        return variables

    @property
    def f_trace(self) -> Any:
        """The trace function of this frame."""
        return self._function

    @f_trace.setter
    def f_trace(self, function: Any) -> None:
        self._function = function
        if function is not None:
            _instrument(self.frame.body)

    @f_trace.deleter
    def f_trace(self) -> None:
        self._function = None

    def tell(self, function: Any, event: str, argument: Any, line: int | None = None) -> Any:
        """Tell a trace function of an event of this frame; return what it answers."""
        self._line = line
        try:
            with self.frame.interpreter.aside():
                return self._told(function, event, argument)
        except BaseException:
            self._function = None
            set_trace_function(None)
            raise
        finally:
            self._line = None
            self._write_back()

    def _told(self, function: Any, event: str, argument: Any) -> Any:
        """Tell a trace function, with a frame of CPython's if it takes no other."""
        kind = type(function)
        if kind not in _NATIVE_FRAMES_ONLY:
            try:
                return _tell(self, function, event, argument)
            except TypeError as error:
                was_called = error.__traceback__
                while was_called is not None and _is_ours(was_called.tb_frame.f_code):
                    was_called = was_called.tb_next
                if was_called is not None:
                    raise
            _NATIVE_FRAMES_ONLY.add(kind)
        native = frame_at(self.frame.code, self.f_lineno, self.frame.globals)
        return _tell(native, function, event, argument)

    def tell_own(self, event: str, argument: Any, line: int | None = None) -> None:
        """Tell the frame's own trace function of an event."""
        if self._function is not None and _THREAD.function is not None:
            answer = self.tell(self._function, event, argument, line)
            if answer is not None and self._function is not None:
                self.f_trace = answer

    def _write_back(self) -> None:
        """Give variables the values that the trace function gave them."""
        if not self._is_read:
            return
        self._is_read = False
        frame = self.frame
        now = frame.f_locals
        for slot, name in enumerate(frame.body.slots):
            if name in self._variables and self._variables[name] is not now.get(name, _THREAD):
                frame.set_variable(slot, self._variables[name])


def view_of(frame: InterpreterFrame) -> FrameView:
    """Return what tools see of a frame."""
    if frame.view is None:
        frame.view = FrameView(frame)
    return frame.view


def _shown(frame: InterpreterFrame | FrameType | None) -> Any:
    """The first frame from here out that is not of this package: a view, or a native one."""
    loop = frame_filter()
    while frame is not None:
        if isinstance(frame, InterpreterFrame):
            if not _is_ours(frame.code):
                return view_of(frame)
        elif loop.is_loop(frame.f_code):
            frame = frame.f_locals["frame"]
            continue
        elif not _is_ours(frame.f_code):
            return frame
        frame = frame.f_back
    return None


def _is_ours(code: CodeType) -> bool:
    """Whether code is of this package, which is not shown while it exports."""
    return code.co_filename.startswith(_PACKAGE) or is_stand_in(code)


# --- the trace function of the thread ------------------------------------------------------------


@contextmanager
def hidden() -> Generator[None]:
    """Take the trace function of the thread off until the end; what is interpreted is told it."""
    begin()
    try:
        yield
    finally:
        end()


def begin(*, warns: bool = True) -> None:
    """Take the trace function of the thread off; `warns`, of tools that will miss lines."""
    _THREAD.depth += 1
    if _MONITORING is not None and warns and _THREAD.depth == 1:
        _redirect_tools(_MONITORING)
    function: Any = sys.gettrace()
    if function is None or function is _silent or _THREAD.depth > 1:
        return
    if callable(function):
        sys.settrace(None)
        set_trace_function(function)
    else:
        _warn(f"{type(function).__module__}.{type(function).__qualname__}")


def end() -> None:
    """Put the trace function of the thread back, if nobody else wants it off."""
    _THREAD.depth -= 1
    if not _THREAD.depth and _THREAD.function is not None:
        function = _THREAD.function
        set_trace_function(None)
        sys.settrace(function)


@contextmanager
def shown() -> Generator[None]:
    """Give code that runs natively its trace function back."""
    if sys.gettrace() is not None:
        yield
        return
    function = _THREAD.function
    set_trace_function(None)
    sys.settrace(function)
    try:
        yield
    finally:
        function = sys.gettrace()
        if _THREAD.depth and callable(function):
            sys.settrace(None)
            set_trace_function(function)


def trace_function() -> Any:
    """Return the trace function of the thread: what `sys.gettrace` would."""
    return _THREAD.function


def set_trace_function(function: Any) -> None:
    """Tell this function of what is interpreted from now on."""
    TRACED.count += (function is not None) - (_THREAD.function is not None)
    _THREAD.function = function
    if not TRACED.count:
        for body, steps in _INSTRUMENTED.items():
            body.steps[:] = steps
        _INSTRUMENTED.clear()


def call_debugger(
    frame: InterpreterFrame, function: Callable[..., Any], args: Any, kwargs: Any
) -> Any:
    """Call what may start a debugger, which is to begin in this frame and not in one of ours."""
    kind: Any = bdb.Bdb
    start = kind.set_trace

    def set_trace(debugger: Any, caller: Any = None, *rest: Any) -> Any:
        if caller is None or _is_ours(caller.f_code):
            caller = _shown(frame)
            _use_trace_function(debugger)
        return start(debugger, caller, *rest)

    kind.set_trace = set_trace
    try:
        return _while_quiet(set_trace if function is start else function, *args, **kwargs)
    finally:
        kind.set_trace = start


def _silent(*_: Any) -> None:
    """Hear of nothing: stands for the trace function while that runs itself."""


def _while_quiet(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call what may change the trace function of the thread, which is not told of this."""
    read, write = sys.gettrace, sys.settrace
    before = None if _THREAD.function is None else _silent
    write(before)
    try:
        # On one line: a trace function that is back already would be told of the next one.
        answer, now, _ = function(*args, **kwargs), read(), write(None)
    except BaseException:
        now, _ = read(), write(None)
        if now is not before:
            set_trace_function(now)
        raise
    if now is not before:
        set_trace_function(now)
    return answer


def _tell(view: Any, function: Any, event: str, argument: Any) -> Any:
    if _THREAD.is_telling:
        return None
    _THREAD.is_telling = True
    try:
        return _while_quiet(function, view, event, argument)
    finally:
        _THREAD.is_telling = False


def _redirect_tools(monitoring: Any) -> None:
    """Have a debugger of the standard library hear by a trace function; warn of other tools."""
    debugger = _listening_debugger(monitoring)
    if debugger is not None:
        _use_trace_function(debugger)
        debugger.start_trace()
    for tool in (monitoring.DEBUGGER_ID, monitoring.COVERAGE_ID):
        if name := monitoring.get_tool(tool):
            _warn(name)


def _listening_debugger(monitoring: Any) -> Any:
    """The debugger that hears of events by `bdb`'s listener, which Python 3.14 brought."""
    listener: Any = getattr(bdb, "_MonitoringTracer", None)
    tool = monitoring.get_tool(monitoring.DEBUGGER_ID)
    if listener is None or tool is None or sys.gettrace() is not None:
        return None
    place = (monitoring.DEBUGGER_ID, monitoring.events.PY_START)
    callback = monitoring.register_callback(*place, None)
    monitoring.register_callback(*place, callback)
    heard = getattr(getattr(callback, "__wrapped__", None), "__self__", None)
    if not isinstance(heard, listener):
        return None
    return getattr(getattr(heard, "_tracefunc", None), "__self__", None)


def _use_trace_function(debugger: Any) -> None:
    """Have a debugger hear by a trace function: interpreted code makes no events of Python's."""
    if getattr(debugger, "monitoring_tracer", None) is not None:
        debugger.stop_trace()
        debugger.monitoring_tracer, debugger.backend = None, "settrace"


def _warn(name: str) -> None:
    if name in _WARNED:
        return
    _WARNED.add(name)
    warnings.warn(
        f"{name} sees no lines of the module's code while it is exported, as it only hears of code"
        " that runs natively; export(..., strict=False) runs it natively",
        RuntimeWarning,
        stacklevel=2,
    )


# --- events --------------------------------------------------------------------------------------


def tell_call(frame: InterpreterFrame) -> None:
    """A frame begins, or a generator goes on. Raises: what the trace function raises."""
    function = _THREAD.function
    if function is None or _THREAD.is_telling:
        return
    if _is_ours(frame.code):
        return
    if frame.view is not None and frame.ip and not frame.code.co_flags & CO_GENERATOR:
        if frame.view.f_trace is not None:
            _instrument(frame.body)  # a copy of a frame goes on
        return
    view = view_of(frame)
    answer = view.tell(function, "call", None)
    if answer is not None:
        view.f_trace = answer


def tell_exception(frame: InterpreterFrame, error: BaseException) -> None:
    """An exception is raised in a frame, or came to it. Raises: what the trace function raises."""
    view = frame.view
    if view is None or view.f_trace is None:
        return
    view.frame = frame
    view.tell_own("exception", (type(error), error, error.__traceback__))
    if frame.body.handlers[frame.ip - 1] is None:
        view.tell_own("return", None)


def plain_steps(body: Body) -> list[Any]:
    """Return the steps of a body as they are while nobody is told of lines."""
    return _INSTRUMENTED.get(body, body.steps)


def _instrument(body: Body) -> None:
    """Let the steps of a body tell of lines and returns, also to frames that run already."""
    if body in _INSTRUMENTED:
        return
    plain = _INSTRUMENTED[body] = list(body.steps)

    def step(frame: InterpreterFrame, argument: Any) -> Any:
        index = frame.ip - 1
        view = frame.view
        if view is not None and view.f_trace is not None:
            _tell_step(view, frame, index)
        return plain[index][0](frame, argument)

    body.steps[:] = [
        each if index in body.stops else (step, each[1]) for index, each in enumerate(plain)
    ]


def _tell_step(view: FrameView, frame: InterpreterFrame, index: int) -> None:
    """Tell of the lines that begin with an instruction, and of a return."""
    view.frame = frame
    if view.lines is None:
        view.lines = Lines(frame.code, frame.body)
    last, view.last = view.last, index
    if view.f_trace_lines:
        for line in view.lines.between(last, index):
            view.tell_own("line", None, line)
    if view.f_trace_opcodes:
        view.tell_own("opcode", None)
    name = frame.body.names[index]
    if name in _RETURNS:
        view.tell_own("return", frame.stack[-1])
    elif name == "RERAISE" and frame.body.handlers[index] is None:
        view.tell_own("return", None)


_RETURNS: Final = frozenset({"RETURN_VALUE", "YIELD_VALUE"})
