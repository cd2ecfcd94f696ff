"""The recorder of one call: hooks of the interpreter that record one segment after the other.

A segment ends at an instruction that is a graph break, or where the call returns. Where it cannot
end there (see `stop`), the rest of the call runs unrecorded.
"""

from __future__ import annotations

from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.bytecode import Hooks
from monograph.diagnostics import MonographError
from monograph.jit import callables
from monograph.jit.attribute_reads import note_read
from monograph.jit.calling.c_functions import is_of_sizes, is_size, of_sizes
from monograph.jit.calling.calls import (
    arguments_of,
    callee_of,
    check_call,
    find_leaf,
    takes_sizes,
)
from monograph.jit.effects.attributes import note_write
from monograph.jit.effects.autocast import SWITCHES, record_autocast
from monograph.jit.effects.containers import change, change_of
from monograph.jit.effects.context_variables import (
    check_variable,
    set_variable,
    variable_of,
)
from monograph.jit.effects.finalizers import is_finalized, is_left_by_with
from monograph.jit.effects.guarded_queries import (
    filter_warnings,
    filters_warnings,
    is_lock_of_cache,
    tells_no_error,
)
from monograph.jit.effects.module_calls import forward_of, plain_callee
from monograph.jit.effects.output import write_print
from monograph.jit.effects.shared_results import gives_shared, note_cached, share
from monograph.jit.graphs.branch_graphs import GivenUp
from monograph.jit.graphs.branches import check_call_in_side, check_step_in_side
from monograph.jit.graphs.data_numbers import draws, eager_leaf, takes_number
from monograph.jit.graphs.operator_observer import OperatorObserver
from monograph.jit.graphs.sizes import (
    AWARE,
    LOOKS_AT,
    ChosenTensor,
    is_tuple_display,
    plain,
    settle_frames,
    settle_holders,
    settled,
)
from monograph.jit.guard_code import LRU_CACHE, storage_of
from monograph.jit.interpreters import run_step
from monograph.jit.point_table import RAISED, place_of
from monograph.jit.program_points import (
    chain_of,
    is_called_plainly,
    is_mark,
    note_callee,
    plan_of,
    values_of,
)
from monograph.jit.recording import NotRecordable, SegmentRecorder
from monograph.jit.segment_code import compile_segment
from monograph.jit.state_recipes import NotMade
from monograph.jit.watched_code import WatchedInterpreter, watched

if TYPE_CHECKING:
    from types import CodeType

    from monograph.bytecode import InterpreterFrame
    from monograph.bytecode.evaluation.frame import Mark
    from monograph.jit.point_table import PointTable, ProgramPoint

__all__ = ["CallRecorder"]

_RISKY: Final = object()
_SPREADING: Final = (list, tuple, enumerate, zip)
_GENERATOR: Final = 0x20


def _plain(named: dict[str, Any]) -> dict[str, Any]:
    return {key: plain(value) for key, value in named.items()}


class CallRecorder(Hooks):
    """Records the segments of one call, from a program point to where the call returns."""

    uncatchable = (MonographError, GivenUp)

    def __init__(self, points: PointTable) -> None:
        """`points` are where segments begin, and what is known of the function."""
        self.points = points
        self.interpreter = WatchedInterpreter(self)
        self.interpreter.recorder = self
        self.interpreter.body = watched
        self._segment: SegmentRecorder | None = None
        self._observer = OperatorObserver(self._unrecorded, self._check_operator)
        self._point: ProgramPoint | None = None
        self._births: dict[int, tuple[CodeType, int]] = {}
        self._is_known = False
        self._is_observing = False

    @property
    def segment(self) -> Any:
        """What is being recorded, or None."""
        return self._segment

    # --- beginning and ending ---------------------------------------------------------------

    def begin(self, point: ProgramPoint, frames: list[InterpreterFrame]) -> None:
        """Record a segment from here on, if nothing that the frames hold is told of its end."""
        is_root = len(frames) == 1 and not frames[0].ip
        if not is_root and any(is_finalized(v) for frame in frames for v in values_of(frame)):
            return
        segment = SegmentRecorder(self.points.place_of(self.interpreter))
        state = [v for frame in frames for v in values_of(frame)]
        is_declared = self.points.is_dynamic(state)
        segment.reads_metadata = self.points.reads_metadata and not (
            is_declared and self.points.observe is not None
        )
        segment.takes_numbers = not segment.reads_metadata
        segment.varies = (point.varies or is_declared) and segment.takes_numbers
        segment.is_symbolic = segment.varies
        segment.ask = self._ask
        segment.keep(frames)  # `pending` knows them by their identity
        guards = segment.guards
        index = 0
        for depth, frame in enumerate(frames):
            label = frame.code.co_qualname
            function = frame.function
            assert function is not None, "bodies of classes run natively"
            name = f"s[{index}]"
            guards.know(function, name, label)
            guards.check(f"{name}.__code__ is not {guards.constant(frame.code)}", label, label)
            globals_ = guards.constant(frame.globals)
            guards.check(f"{name}.__globals__ is not {globals_}", label, label)
            index += 1
            for n, cell in enumerate(function.__closure__ or ()):
                guards.know(cell, f"{name}.__closure__[{n}]", frame.code.co_freevars[n])
            for slot in range(len(frame.slots)):
                if plan_of(frame).slots[slot]:
                    if point.has_varied((depth, slot), frame.slots[slot]) and segment.varies:
                        segment.numbers.add((id(frame), slot))
                    segment.pending[id(frame), slot] = (f"s[{index}]", frame.body.slots[slot])
                    index += 1
            for value in frame.stack:
                if not is_mark(value):
                    guards.meet(value, f"s[{index}]", "a value on the stack")
                    index += 1
        self._segment, self._point = segment, point
        self._is_known = not point.is_left and point.is_held(state)
        point.is_left = False
        self._observer.__enter__()

    def _drop(self) -> None:
        segment = self._segment
        assert segment is not None, "a segment is being recorded"
        self._segment = None
        if segment.is_symbolic:
            settle_frames(self.interpreter.current)
            settle_holders(segment.holders)
        self._is_observing = not self._observer.is_asked
        self.leave_observer()
        self._is_observing = self._observer.is_asked
        segment.release()

    def leave_observer(self) -> None:
        """Leave the mode that sees operators, where it could not be left within one."""
        if self._is_observing and not self._observer.is_asked:
            self._is_observing = False
            self._observer.__exit__(None, None, None)

    def before_sizes(self, frame: InterpreterFrame, name: str, argument: Any) -> None:
        """An instruction is about to run on a frame that may hold sizes."""
        if frame.code.co_flags & _GENERATOR:
            self.segment.holders[id(frame)] = frame
        is_list = name in ("LIST_EXTEND", "LIST_APPEND") and not is_tuple_display(frame)
        is_left = name == "RETURN_VALUE" and not is_called_plainly(frame)
        if name not in AWARE or is_list or is_left:
            slot = argument if name == "MAKE_CELL" else None
            self.settle(frame, slot, n=LOOKS_AT.get(name, 0))

    def settle(self, frame: InterpreterFrame, slot: int | None = None, *, n: int = 0) -> None:
        """Leave no sizes in the last entries of a frame's stack (0 for all), and in a variable."""
        settle = self.segment.settle
        frame.stack[-n:] = [settled(value, settle) for value in frame.stack[-n:]]
        if slot is not None:
            frame.slots[slot] = plain(frame.slots[slot], settle)

    def end(self, value: Any) -> None:
        """The call returns a value."""
        try:
            self._finish(None, value)
        except NotMade as error:
            self.stop(str(error), self._birth_of(error.value))
        else:
            self._drop()

    def _finish(self, frames: list[InterpreterFrame] | None, value: Any, reason: str = "") -> Any:
        """Compile the segment and enter it at its point. Raises: NotMade."""
        segment, point = self._segment, self._point
        assert segment is not None, "a segment is being recorded"
        assert point is not None, "it began at a point"
        if segment.checks and segment.has_irrevocable:
            segment.risky_at = segment.risky_at or segment.checks[-1][2]
        for generator in segment.resumed:
            if generator.frame is not None:
                raise NotMade(generator)
        if segment.risky_at is not None:
            raise NotMade(_RISKY, "an effect that must not be made twice, before what may raise")
        self._observer.__exit__(None, None, None)
        try:
            compiled = compile_segment(
                segment,
                frames,
                value,
                self.points,
                reason,
                is_compiled=not self._is_known,
                is_exact=point.is_exact,
            )
        finally:
            self._observer.__enter__()
        if not self._is_known:
            point.add(compiled)
        return compiled

    def break_at(
        self, frame: InterpreterFrame, error: NotRecordable, handler: Any, argument: Any
    ) -> Mark | None:
        """End the segment before an instruction, run that by itself, and begin the next one."""
        reason = str(error)
        if self.segment.side is not None:
            raise GivenUp(reason)
        frames = chain_of(frame)
        interpreter = self.interpreter
        handling = interpreter.handling
        self.points.note_break(reason, frame, error.place)
        if frames is None or handling.error is not None or handling.previous is not None:
            self.stop(reason, place=error.place or place_of(frame))
            return handler(frame, argument)
        frame.ip -= 1
        try:
            self._finish(frames, None, reason)
        except NotMade as lacking:
            frame.ip += 1
            self.stop(str(lacking), self._birth_of(lacking.value))
        if self._segment is None:
            return handler(frame, argument)
        frame.ip += 1
        self._drop()
        signal = run_step(frame, handler, argument)
        if signal is not None:
            return signal
        self.begin(self.points.at(frames), frames)
        return None

    def stop(self, reason: str, at: tuple[CodeType, int] | None = None, *, place: str = "") -> None:
        """Record no more of this call; what led here runs natively from the next call on."""
        if self._segment is None:
            self.leave_observer()
            return
        if self._segment.side is not None:
            raise GivenUp(reason)
        self._drop()
        current = self.interpreter.current
        if at is None and current is not None and reason != RAISED:
            at = self._outermost(current)
        self.points.give_way(reason, at, place)

    def forget(self) -> None:
        """Hold nothing that the call has made: what nobody holds is closed, as in eager code."""
        self._births.clear()
        self._point = None

    def _outermost(self, frame: InterpreterFrame) -> tuple[CodeType, int]:
        """The instruction of the outermost frame that leads here by other than plain calls."""
        frames = [frame]
        while frames[-1].back is not None:
            frames.append(frames[-1].back)
        for index in range(len(frames) - 1, 0, -1):
            if chain_of(frames[index - 1]) is None:
                return frames[index].code, frames[index].ip - 1
        return frame.code, frame.ip - 1

    def _birth_of(self, value: Any) -> tuple[CodeType, int] | None:
        if value is _RISKY:
            return self.segment.risky_at
        return self._births.get(id(value))

    def load(self, frame: InterpreterFrame, slot: int, *, moves: bool = True) -> None:
        """A variable is read that nobody has read yet.

        A number that varies becomes one of the graph, if it only `moves`.
        """
        segment = self.segment
        found = segment.pending.pop((id(frame), slot), None)
        if found is not None and moves and (id(frame), slot) in segment.numbers:
            frame.slots[slot] = segment.number(frame.slots[slot], *found)
        elif found is not None:
            segment.guards.meet(frame.slots[slot], *found)

    def born(self, frame: InterpreterFrame, *, is_function: bool) -> None:
        """An instruction has made what is on top of the stack."""
        segment = self._segment
        if segment is None:
            return
        made = frame.stack[-1]
        if is_function:
            segment.made_functions.add(id(made))
        segment.keep(made)
        self._births[id(made)] = (frame.code, frame.ip - 1)

    def check_step(self, frame: InterpreterFrame, name: str, argument: Any) -> None:
        """Raises: NotRecordable, of an instruction that an earlier call could not record.

        In sides of branches, of any that could have an effect, too.
        """
        if self.segment.side is not None:
            check_step_in_side(self.segment.side, frame, name, argument)
        natives = self.points.natives
        if natives:
            found = natives.get((id(frame.code), frame.ip - 1))
            if found is not None:
                raise NotRecordable(*found)

    # --- calls ------------------------------------------------------------------------------

    def callee(self, callee: Any) -> Any:
        """What a call of this calls: of a module without hooks, its `forward`."""
        callee = plain_callee(self.segment, callee)
        if isinstance(callee, torch.nn.Module):
            return forward_of(self.segment, callee) or callee
        return callee

    def before_call(
        self, frame: InterpreterFrame, callee: Any, args: list[Any], kwargs: dict[str, Any]
    ) -> None:
        """An instruction is about to call. Raises: NotRecordable, where that is a break."""
        note_callee(frame, callee)
        if self.segment.side is not None:
            takes = takes_sizes(self.segment, callee, args, kwargs)
            check_call_in_side(callee_of(callee, [], {})[0], takes, args)
        if self._is_silent(frame, callee, args):
            return
        found = variable_of(callee, args)
        if found is not None and not kwargs:
            check_variable(self.segment, frame, *found)
        else:
            check_call(self.segment, callee, args, kwargs)

    def _is_silent(self, frame: InterpreterFrame | None, callee: Any, args: list[Any]) -> bool:
        """Whether a call needs no more than has been guarded, by where it is made."""
        if is_lock_of_cache(frame, callee, args) or is_left_by_with(
            self.segment, frame, callee, args
        ):
            return True
        return tells_no_error(self.segment, frame, callee)

    def enters(self, function: FunctionType) -> bool:
        """Interpret user code, and what of PyTorch calls it."""
        return callables.enters(function)

    def enters_any(self, function: Any) -> bool:
        """Whether a function is one of Python that is interpreted."""
        return type(function) is FunctionType and callables.enters(function)

    def replacement(
        self, callee: Any, args: list[Any], kwargs: dict[str, Any], frame: InterpreterFrame | None
    ) -> Any:
        """Record operators, and what is written to objects from outside."""
        segment = self._segment
        if segment is None or self._imports(callee) or self._is_silent(frame, callee, args):
            return None
        variable = variable_of(callee, args)
        try:
            if variable is not None and not kwargs:
                check_variable(segment, frame, *variable)
                method, owner, given = variable
                is_read = method == "get"
                return None if is_read else partial(self._set_variable, method, owner, given)
            check_call(segment, callee, args, kwargs)
        except NotRecordable as reason:
            self.stop(str(reason))
            return None
        leaf = find_leaf(callee, args, kwargs) or eager_leaf(segment, callee, args, kwargs)
        if leaf is not None:
            return partial(self._call_leaf, leaf, callee)
        written = self._written(segment, callee, args, kwargs)
        if written is not None and segment.side is not None:
            raise GivenUp
        return written or self._folded(segment, callee, args)

    def _folded(self, segment: Any, callee: Any, args: list[Any]) -> Any:
        """What is called in the place of a function of numbers, or of what is iterated in C."""
        if takes_number(callee, args):
            return partial(self._apply, callee)
        owner: Any = getattr(callee, "__self__", None)
        if is_size(segment, getattr(callee, "__name__", ""), owner, args):
            return partial(self._size if callee.__name__ == "size" else segment.numel, owner)
        if is_of_sizes(segment, callee, args):
            return partial(of_sizes, segment, callee)
        if callee in _SPREADING and any(isinstance(each, torch.Tensor) for each in args):
            return partial(self._spread, callee)
        return None

    def _written(self, segment: Any, callee: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """What is called in the place of a function that changes something outside."""
        if callee in SWITCHES:
            return partial(record_autocast, segment, callee)
        changed = change_of(callee, args)
        if changed is not None and segment.guards.is_known(changed[0]):
            return partial(self._change, changed)
        if callee is setattr and len(args) == 3:
            note_write(segment, *args)
        if gives_shared(segment, callee, args, kwargs):
            return partial(share, segment, callee)
        if type(callee) is LRU_CACHE:
            return partial(self._ask_cache, callee)
        if filters_warnings(callee, args, kwargs):
            return partial(filter_warnings, segment, callee)
        if callee is print:
            return partial(write_print, segment, self.here(), callee)
        return None

    def _set_variable(self, method: str, variable: Any, given: list[Any], /, *_: Any) -> Any:
        return set_variable(self.segment, method, variable, *given)

    def _ask_cache(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        with self._observer.one_call():
            try:
                result = function(*args, **kwargs)
            except BaseException:
                self.stop("what fills a cache raises")
                raise
        note_cached(self.segment, function, args, kwargs, result)
        return result

    def _apply(self, function: Any, /, *args: Any) -> Any:
        return self.segment.apply(function, list(args))

    def _size(self, tensor: torch.Tensor, /, *dim: int) -> Any:
        return self.segment.size(tensor, *dim) if dim else self.segment.shape(tensor)

    def _change(self, changed: Any, /, *_: Any, **kwargs: Any) -> Any:
        owner, name, args = changed
        return change(self.segment, owner, name, args, kwargs)

    def truth_of(self, tensor: torch.Tensor) -> bool:
        """Ask a tensor for its truth."""
        with self._observer.one_call():
            return bool(tensor)

    def _ask(self, answer: Any) -> Any:
        frame = self.interpreter.current
        assert frame is not None, "code asks"
        return self.points.assume(frame, answer)

    def here(self) -> tuple[CodeType, int]:
        """The instruction that runs now."""
        frame = self.interpreter.current
        assert frame is not None, "code calls"
        return frame.code, frame.ip - 1

    def _spread(self, callee: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call what goes through tensors with their rows."""
        rows = torch.Tensor.unbind
        return callee(
            *[
                self.run_leaf("call_method", "unbind", rows, [each], {})
                if isinstance(each, torch.Tensor)
                else each
                for each in args
            ],
            **kwargs,
        )

    def _imports(self, callee: Any) -> bool:
        """Whether an instruction imports, which has been seen already."""
        frame = self.interpreter.current
        if frame is None or frame.body.names[frame.ip - 1] != "IMPORT_NAME":
            return False
        return callee is frame.builtins.get("__import__")

    def _call_leaf(self, leaf: Any, callee: Any, /, *args: Any, **kwargs: Any) -> Any:
        values = arguments_of(leaf, callee, list(args))
        if leaf[2:] and leaf[2]:
            return self.run_leaf(leaf[0], leaf[1], None, values[leaf[2] :], kwargs)
        if len(values) == len(args):
            return self.run_leaf(leaf[0], leaf[1], callee, values, kwargs)

        def bound(_: Any, *rest: Any, **named: Any) -> Any:
            return callee(*rest, **named)

        return self.run_leaf(leaf[0], leaf[1], bound, values, kwargs)

    def run_leaf(
        self, kind: str, target: Any, function: Any, args: list[Any], kwargs: dict[str, Any]
    ) -> Any:
        """Call an operator, and write it down."""
        segment = self._segment
        assert segment is not None, "a segment is being recorded"
        nodes = (tuple(segment.argument(args)), segment.argument(kwargs))
        is_odd = draws(target) or target is torch.autograd.grad or segment.has_arrays(args)
        if segment.side is not None and is_odd:
            raise GivenUp
        with self._observer.one_call() as seen:
            try:
                seen.is_empty = any(isinstance(v, torch.Tensor) and not v.numel() for v in args)
                result = (function or target)(*plain(tuple(args)), **_plain(kwargs))
                seen.draws |= draws(target)
                seen.is_of_arrays = segment.has_arrays(args, result)
                seen.may_raise |= seen.is_of_arrays or target is torch.autograd.grad
                seen.arguments = args
                for each in args:
                    result = each if type(each) is ChosenTensor and each.plain is result else result
            except BaseException as error:
                self.stop(f"an operator raises {type(error).__name__}")
                raise
        if seen.may_raise and (segment.mutates or segment.draws):
            self._check_risk(segment)
        try:
            return segment.record(kind, target, nodes, result, seen)
        except NotRecordable as reason:
            self.stop(str(reason))
        return result

    def _check_risk(self, segment: SegmentRecorder) -> None:
        """An operator that may raise follows one that cannot be taken back.

        A replay that is left by an exception then leaves what eager code leaves, unless there are
        writes of Python before it, or handlers around it.
        """
        frame = self.interpreter.current
        assert frame is not None, "an operator is called by code"
        at = self.here()
        is_tried = False
        while frame is not None:
            is_tried |= frame.body.handlers[frame.ip - 1] is not None
            frame = frame.back
        if segment.writes or is_tried:
            segment.risky_at = segment.risky_at or at

    def _check_operator(self, operator: Any, written: list[torch.Tensor]) -> None:
        """Before an operator runs: in a side of a branch, none draws or writes to older memory."""
        side = self._segment and self._segment.side
        if side and (
            torch.Tag.nondeterministic_seeded in operator.tags
            or any(storage_of(each) in side.storages for each in written)
        ):
            raise GivenUp

    def _unrecorded(self, operator: Any) -> None:
        self.stop(f"`{operator}` runs within C")

    # --- reads ------------------------------------------------------------------------------

    def read_attribute(self, frame: InterpreterFrame, owner: Any, name: str, value: Any) -> Any:
        """Guard an attribute."""
        del frame
        segment = self._segment
        if segment is not None:
            try:
                note_read(segment, owner, name, value)
            except NotRecordable as reason:
                self.stop(str(reason))
        return value
