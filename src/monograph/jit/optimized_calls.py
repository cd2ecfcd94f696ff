"""The call of an optimized function: segments are replayed, or recorded where none fits."""

from __future__ import annotations

import functools
import inspect
import logging
import sys
import warnings
from types import MethodType
from typing import TYPE_CHECKING, Any, Final

from monograph.bytecode.evaluation.binding import bind
from monograph.bytecode.evaluation.frame import MISSING
from monograph.bytecode.evaluation.profiling import runner
from monograph.bytecode.evaluation.tracebacks import show_users_frames
from monograph.bytecode.evaluation.tracing import begin as begin_tracing
from monograph.bytecode.evaluation.tracing import end as end_tracing
from monograph.bytecode.linking import link
from monograph.host.execution_modes import is_plain_execution
from monograph.jit.call_recording import CallRecorder
from monograph.jit.interpreters import UnrecordedInterpreter, run_step
from monograph.jit.point_table import LOGGER, RAISED, PointTable
from monograph.jit.program_points import FramePlan, key_of, make_frames, plan_of, values_of
from monograph.jit.segment_code import OTHER, OTHER_DATA
from monograph.jit.watched_code import watched

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FunctionType

    from monograph.bytecode import Interpreter, InterpreterFrame
    from monograph.jit.point_table import ProgramPoint
    from monograph.jit.segment_code import CompiledSegment

__all__ = ["OptimizedFunction"]

_SUSPENDED: Final = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


_NOBODY: Final = UnrecordedInterpreter()
"""Whose frames are that only run one step."""


class OptimizedFunction:
    """A function that is run just in time; calling it is calling the function."""

    __wrapped__: FunctionType

    def __init__(self, function: FunctionType, table: PointTable) -> None:
        """The table remembers what was compiled."""
        functools.update_wrapper(self, function)
        self.function = function
        self.table = table
        self._roots: dict[Any, ProgramPoint] = {}
        self._plain: dict[int, tuple[CodeType, ProgramPoint]] = {}
        """Where calls begin that have so many arguments, each for one parameter."""

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        """As a function, it is a method of what it is found on."""
        return self if owner is None else MethodType(self, owner)

    @property
    def entries(self) -> list[CompiledSegment]:
        """The segments that were compiled."""
        return [each for point in self.table.points.values() for each in point.segments]

    def reset(self) -> None:
        """Forget what was compiled."""
        self._roots.clear()
        self._plain.clear()
        self.table.clear()

    def monograph_plain(self) -> FunctionType:
        """The function itself."""
        return self.function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        function = self.function
        if self.table.is_native or not is_plain_execution():
            return function(*args, **kwargs)
        code = function.__code__
        found = None if kwargs else self._plain.get(len(args))
        if found is not None and found[0] is code:
            return self._run(found[1], [function, *args], (args, kwargs))
        if code.co_flags & _SUSPENDED:
            return function(*args, **kwargs)
        body = link(code)
        if not kwargs and len(args) == body.n_plain:
            slots = [*args, *body.empty[len(args) :]]
        else:
            slots = bind(function, body, list(args), kwargs)
        plan = FramePlan(code, 0, tuple([value is not MISSING for value in slots]), ())
        key = key_of(plan)
        point = self._roots.get(key)
        if point is None:
            point = self._roots[key] = self.table.point((plan,))
        if not kwargs and len(args) == body.n_plain:
            self._plain[len(args)] = code, point
        return self._run(
            point, [function, *[value for value in slots if value is not MISSING]], (args, kwargs)
        )

    def _run(self, point: ProgramPoint, state: list[Any], given: Any) -> Any:
        at: ProgramPoint | None = point
        while at is not None:
            found = self._find(at, state)
            if found is None:
                return self._interpret(at, state, given)
            segment, values = found
            segment.hits += 1
            given = None
            if not segment.plans:
                return values[0]
            at, state = self._step(segment, values)
            del found, values  # what the frames let go of ends
        return state

    def _find(
        self, point: ProgramPoint, state: list[Any]
    ) -> tuple[CompiledSegment, list[Any]] | None:
        for segment in tuple(point.segments):
            values = segment.replay(state)
            if type(values) is list:
                return segment, values
            if values == OTHER_DATA:
                point.segments.remove(segment)
                point.n_given_up += segment.n_operators > 0
            if values == OTHER:
                if segment.varies:
                    point.is_left = True
                else:
                    segment.guard_metadata()
                    point.is_exact = self.table.dynamic is False
        return None

    def _step(self, segment: CompiledSegment, values: list[Any]) -> Any:
        """Run the instruction of a break: the next point and state, or None and the result."""
        plan = segment.plans[-1]
        n = segment.n_outer
        (frame,) = make_frames((plan,), values[n:], _NOBODY, link)
        handler, argument = frame.body.steps[frame.ip]
        frame.ip += 1
        raised = None
        try:
            run_step(frame, handler, argument)
        except BaseException as error:  # noqa: BLE001 - it is raised in the frames
            raised = error
        if raised is not None:
            frames = make_frames(segment.plans[:-1], values, _NOBODY, link)
            try:
                return None, _go_on([*frames, frame], raised)
            finally:
                raised = None  # it holds this frame
        after = plan_of(frame)
        key = (*segment.outer_key, key_of(after))
        point = self.table.points.get(key)
        if point is None:
            point = self.table.point((*segment.plans[:-1], after))
        return point, [*values[:n], *values_of(frame)]

    def _interpret(self, point: ProgramPoint, state: list[Any], given: Any) -> Any:
        """Go on from a point, recording what no segment is there for."""
        table = self.table
        if point.segments and not table.is_native:
            point.varies = self.table.dynamic is not False
            self._compile_again(point, state)
            if table.is_native and given is not None:
                return self.function(*given[0], **given[1])
        if table.is_native:
            return _go_on(make_frames(point.plans, state, _NOBODY, link), None)
        recorder = CallRecorder(table)
        frames = make_frames(point.plans, state, recorder.interpreter, watched)
        state.clear()  # what the frames let go of ends
        try:
            return _chain(frames, recorder.interpreter, None, lambda: recorder.begin(point, frames))
        finally:
            recorder.stop(RAISED)
            recorder.forget()

    def _compile_again(self, point: ProgramPoint, state: list[Any]) -> None:
        table = self.table
        is_full = len(point.segments) >= table.limit
        is_heard = table.observe is not None or LOGGER.isEnabledFor(logging.INFO)
        failure = table.note_recompilation(point, state) if is_full or is_heard else None
        if is_full and table.observe is not None:
            point.segments.clear()
        elif is_full:
            table.is_native = True
            code = point.plans[0].code
            warnings.warn(
                f"`{table.name}` ({code.co_filename}:{code.co_firstlineno}) was compiled"
                f" {table.limit} times, which is cache_size_limit, and runs in eager code from"
                f" here on; the last guard that failed: {failure}",
                RuntimeWarning,
                stacklevel=4,
            )


def _go_on(frames: list[InterpreterFrame], error: BaseException | None) -> Any:
    """Interpret frames to their end, recording nothing."""
    interpreter = UnrecordedInterpreter()
    for frame in frames:
        frame.interpreter = interpreter
    return _chain(frames, interpreter, error, None)


def _chain(
    frames: list[InterpreterFrame],
    interpreter: Interpreter,
    error: BaseException | None,
    begin: Callable[[], None] | None,
) -> Any:
    """Run frames from the innermost out, each given what the one inside of it returns."""
    begin_tracing()
    interpreter.run = runner()
    interpreter.caller = sys._getframe(1)
    try:
        for depth, frame in enumerate(frames):
            frame.back = frames[depth - 1] if depth else None
            frame.depth = depth + 1
        if begin is not None:
            begin()
        value: Any = None
        for frame in reversed(frames):
            is_innermost = frame is frames[-1]
            interpreter.current = frame.back
            if error is None and not is_innermost:
                frame.stack.append(value)
            thrown, error = error, None
            try:
                interpreter.run(frame, thrown) if thrown is not None else interpreter.run(frame)
                value = frame.value
            except BaseException as raised:  # noqa: BLE001 - goes to the frame around
                error = raised
        if error is not None:
            show_users_frames(error)
            raise error
        return value
    finally:
        interpreter.passing = interpreter.clean = interpreter.caller = None
        interpreter.current = None
        end_tracing()
