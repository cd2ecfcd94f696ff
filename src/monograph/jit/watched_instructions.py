"""Watched instructions: what the recorder does before each one runs.

A watch returns None where the instruction may run, DONE where it has run, and raises NotRecordable
where it is a graph break. An instruction without a line here is a graph break.
"""

from __future__ import annotations

import sys
from types import CellType, GeneratorType, ModuleType
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.bytecode.evaluation.frame import MISSING, NULL, cell_contents
from monograph.bytecode.evaluation.generators import InterpretedGenerator
from monograph.bytecode.evaluation.special_methods import find_special, lookup
from monograph.jit.attribute_reads import class_attribute, is_of_torch
from monograph.jit.calling.c_functions import OF_ITERTOOLS
from monograph.jit.calling.calls import check_call, takes_sizes
from monograph.jit.effects.attribute_loads import LOADS
from monograph.jit.effects.autocast import check_autocast
from monograph.jit.effects.data_checks import note_check
from monograph.jit.effects.finalizers import is_entered_by_with, runs_code_when_left
from monograph.jit.effects.guarded_queries import is_lock_of_cache
from monograph.jit.effects.instructions import CHANGES
from monograph.jit.effects.operators import OPERATORS
from monograph.jit.effects.plain_data import DICT_VIEWS, is_plain_data
from monograph.jit.effects.watch_tables import entering
from monograph.jit.graphs.branches import is_recorded_as_cond
from monograph.jit.graphs.expectations import assume_truth
from monograph.jit.graphs.sizes import (
    SYMBOLIC,
    plain,
)
from monograph.jit.guard_code import ATOMS, CONTAINERS, container_of, is_constant
from monograph.jit.recording import DONE, NotRecordable
from monograph.jit.state_recipes import ITERATORS

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.bytecode import InterpreterFrame
    from monograph.jit.call_recording import CallRecorder

    Watch = Callable[[CallRecorder, InterpreterFrame, Any], Any]

__all__ = ["FREE", "WATCHES"]

FREE: Final = frozenset(
    {
        *("POP_TOP", "PUSH_NULL", "COPY", "SWAP", "ROTATE", "LOAD_CONST", "BUILD_TUPLE"),
        *("BUILD_LIST", "LIST_TO_TUPLE", "JUMP", "POP_JUMP_IF_NONE"),
        *("POP_JUMP_IF_NOT_NONE", "LOAD_ASSERTION_ERROR", "COPY_FREE_VARS", "CHECK_EXC_MATCH"),
        *("PUSH_EXC_INFO", "POP_EXCEPT", "RERAISE", "END_SEND", "RAISE_VARARGS"),
        *("STOPITERATION_ERROR", "BUILD_SLICE"),
    }
)
"""Instructions that move values, and look into none."""
WATCHES: Final[dict[str, Watch]] = {**CHANGES, **LOADS, **OPERATORS}
_watch = entering(WATCHES)


# --- variables ------------------------------------------------------------------------------------


@_watch("LOAD_FAST", "LOAD_FAST_AND_CLEAR", "MAKE_CELL", "LOAD_CLOSURE")
def _load_fast(recorder: CallRecorder, frame: InterpreterFrame, slot: int) -> None:
    if recorder.segment.pending:
        recorder.load(frame, slot, moves=frame.body.names[frame.ip - 1] == "LOAD_FAST")


@_watch("STORE_FAST", "DELETE_FAST")
def _store_fast(recorder: CallRecorder, frame: InterpreterFrame, slot: int) -> None:
    recorder.segment.pending.pop((id(frame), slot), None)


@_watch("LOAD_GLOBAL")
def _load_global(recorder: CallRecorder, frame: InterpreterFrame, name: str) -> None:
    segment = recorder.segment
    guards = segment.guards
    own = guards.constant(frame.globals)
    if (id(frame.globals), name) in segment.written:
        return
    fixed = is_of_torch(frame.globals) and guards.tags.table(frame.globals)
    if name in frame.globals:
        guards.meet(frame.globals[name], f"{own}[{name!r}]", name, fixed=fixed)
    elif name not in frame.builtins:
        raise NotRecordable(f"`{name}` is not defined")
    else:
        guards.check(f"{name!r} in {own}", name, "the builtin", fixed=fixed)
        read = f"{guards.constant(frame.builtins)}[{name!r}]"
        fixed = guards.tags.table(frame.builtins)
        guards.meet(frame.builtins[name], read, name, fixed=fixed)


@_watch("LOAD_DEREF")
def _load_deref(recorder: CallRecorder, frame: InterpreterFrame, slot: int) -> None:
    _load_fast(recorder, frame, slot)
    segment = recorder.segment
    cell: CellType = frame.slots[slot]
    held = cell_contents(cell)
    if not segment.guards.is_known(cell) or (id(cell), "cell") in segment.written:
        return
    if held is MISSING:
        raise NotRecordable("a variable of an enclosing function has no value")
    name = segment.guards.names[id(cell)]
    segment.guards.meet(held, f"{name}.cell_contents", frame.body.slots[slot])


@_watch("STORE_DEREF")
def _store_deref(recorder: CallRecorder, frame: InterpreterFrame, slot: int) -> None:
    _load_fast(recorder, frame, slot)
    segment = recorder.segment
    cell = frame.slots[slot]
    if segment.is_symbolic and segment.guards.is_known(cell):
        recorder.settle(frame)
    elif segment.is_symbolic and plain(frame.stack[-1]) is not frame.stack[-1]:
        segment.holders[id(cell)] = cell
    if segment.guards.is_known(cell):
        segment.written.add((id(cell), "cell"))
        segment.write(cell, "{0}.cell_contents = {1}", frame.stack[-1])


# --- containers, text, conditions, iteration ------------------------------------------------------


@_watch("LIST_APPEND")
def _append(recorder: CallRecorder, frame: InterpreterFrame, n: int) -> None:
    _displayed(recorder, frame, n + 1, "{0}.append({1})", frame.stack[-1])


def _displayed(
    recorder: CallRecorder, frame: InterpreterFrame, depth: int, code: str, *values: Any
) -> None:
    """A display or comprehension grows, which began before the segment if it is from outside."""
    owner = frame.stack[-depth]
    segment = recorder.segment
    if segment.guards.is_known(owner):
        segment.will_change(owner)
        segment.write(owner, code, *values)


@_watch("BUILD_MAP", "BUILD_CONST_KEY_MAP", "BUILD_SET", "SET_ADD", "MAP_ADD")
def _keys(recorder: CallRecorder, frame: InterpreterFrame, n: int) -> None:
    name = frame.body.names[frame.ip - 1]
    stack = frame.stack
    if name == "SET_ADD":
        _displayed(recorder, frame, n + 1, "{0}.add({1})", stack[-1])
    elif name == "MAP_ADD":
        _displayed(recorder, frame, n + 2, "{0}[{1}] = {2}", stack[-2], stack[-1])
    keys = {
        "BUILD_MAP": stack[len(stack) - 2 * n :: 2] if n else [],
        "BUILD_SET": stack[len(stack) - n :] if n else [],
        "SET_ADD": stack[-1:],
        "MAP_ADD": stack[-2:-1],
    }.get(name, [])
    for key in keys:
        is_pair = type(key) is tuple and all(type(each) in ATOMS for each in key)
        if type(key) not in ATOMS and not is_constant(key) and not is_pair:
            raise NotRecordable(f"a key of type `{type(key).__name__}`")


@_watch("LIST_EXTEND", "SET_UPDATE", "DICT_UPDATE", "DICT_MERGE", "UNPACK_SEQUENCE", "UNPACK_EX")
def _spread(recorder: CallRecorder, frame: InterpreterFrame, n: Any) -> None:
    value = frame.stack[-1]
    if type(value) is list and recorder.segment.is_symbolic:
        recorder.settle(frame, n=1)
    is_growing = frame.body.names[frame.ip - 1] in _GROWING
    if is_growing and recorder.segment.guards.is_known(frame.stack[-n - 1]):
        raise NotRecordable("a display that began before a graph break")
    if isinstance(value, torch.Tensor):
        _iterate_tensor(recorder, frame)
        return
    recorder.segment.touch(value)
    if frame.body.names[frame.ip - 1] == "SET_UPDATE" and recorder.segment.has_tensors(value):
        raise NotRecordable("a set of tensors")
    _check_iterable(recorder, value)


_GROWING: Final = frozenset({"LIST_EXTEND", "SET_UPDATE", "DICT_UPDATE", "DICT_MERGE"})


def _iterate_tensor(recorder: CallRecorder, frame: InterpreterFrame) -> None:
    tensor = frame.stack[-1]
    recorder.segment.metadata(tensor, "shape")
    if not tensor.dim():
        raise NotRecordable("a number is iterated")
    frame.stack[-1] = recorder.run_leaf("call_method", "unbind", torch.Tensor.unbind, [tensor], {})


def _check_iterable(recorder: CallRecorder, value: Any) -> None:
    kind = type(value)
    if kind in CONTAINERS or kind in ATOMS or kind in ITERATORS or kind in DICT_VIEWS:
        return
    is_own = not recorder.segment.guards.is_known(value)
    if isinstance(value, tuple) or (is_own and kind in _OWN_ITERATORS):
        return
    if find_special(recorder.interpreter, kind, "__iter__") is not None or container_of(kind):
        return
    if find_special(recorder.interpreter, kind, "__next__") is not None:
        return
    raise NotRecordable(f"the items of an object of type `{kind.__name__}`")


_OWN_ITERATORS: Final = (GeneratorType, InterpretedGenerator, map, filter, *OF_ITERTOOLS)


@_watch("GET_ITER", "GET_YIELD_FROM_ITER", "SEND")
def _iterate(recorder: CallRecorder, frame: InterpreterFrame, _: Any) -> None:
    name = frame.body.names[frame.ip - 1]
    if name != "SEND" and type(frame.stack[-1]) not in ITERATORS:
        _spread(recorder, frame, None)


@_watch("YIELD_VALUE")
def _yield(recorder: CallRecorder, frame: InterpreterFrame, _: Any) -> None:
    del recorder
    if runs_code_when_left(frame, frame.ip - 1) and not is_entered_by_with(frame):
        raise NotRecordable("a generator stops where leaving it runs code")


@_watch("FOR_ITER")
def _for(recorder: CallRecorder, frame: InterpreterFrame, _: Any) -> None:
    iterator = frame.stack[-1]
    segment = recorder.segment
    if not segment.guards.is_known(iterator):
        segment.touch(iterator)
        _check_iterable(recorder, iterator)
    elif type(iterator) in ITERATORS:
        segment.advance(iterator)
    else:
        raise NotRecordable(f"the next item of an object of type `{type(iterator).__name__}`")


@_watch("POP_JUMP_IF_FALSE", "POP_JUMP_IF_TRUE", "JUMP_IF_FALSE_OR_POP", "JUMP_IF_TRUE_OR_POP")
@_watch("TO_BOOL", "UNARY_NOT")
def _truth(recorder: CallRecorder, frame: InterpreterFrame, target: Any) -> Any:
    value = frame.stack[-1]
    kind = type(value)
    if kind is bool:
        return None
    if kind in SYMBOLIC:
        return _goes_on(frame, target, truth=recorder.segment.decide("!=", value, 0))
    if recorder.segment.is_symbolic:
        recorder.settle(frame, n=1)
    if isinstance(value, torch.Tensor):
        if note_check(recorder, frame, value, target):
            return None
        return _assume_truth(recorder, frame, value, target)
    recorder.segment.touch(value)
    is_of_python = kind.__flags__ & (1 << 9)
    if kind in ATOMS or kind in CONTAINERS or (is_constant(value) and not is_of_python):
        return None
    for name in ("__bool__", "__len__"):
        found = lookup(kind, name)
        class_attribute(recorder.segment, kind, name, found)
        if found is not MISSING:
            is_of_c = found is tuple.__len__ or container_of(kind) is not None
            if find_special(recorder.interpreter, kind, name) is None and not is_of_c:
                raise NotRecordable(f"the truth of an object of type `{kind.__name__}`")
            return None
    return None


def _assume_truth(
    recorder: CallRecorder, frame: InterpreterFrame, tensor: torch.Tensor, target: Any
) -> Any:
    """A branch on data goes one way, which is assumed. Raises: NotRecordable, if it has varied."""
    if tensor.numel() != 1:
        raise NotRecordable("a branch on data")
    node, value = recorder.segment.node_of(tensor), recorder.truth_of(tensor)
    if is_recorded_as_cond(recorder, frame, node, value):
        return DONE
    recorder.segment.assume(node, assume_truth, value, "a branch on data")
    return _goes_on(frame, target, truth=value)


def _goes_on(frame: InterpreterFrame, target: Any, *, truth: bool) -> Any:
    """Go on behind a condition whose truth is known; `and` and `or` leave the value itself."""
    name = frame.body.names[frame.ip - 1]
    if not name.startswith("JUMP_IF"):
        frame.stack[-1] = truth
        return None
    if truth is (name == "JUMP_IF_TRUE_OR_POP"):
        frame.ip = target
    else:
        frame.stack.pop()
    return DONE


@_watch("FORMAT_VALUE", "CONVERT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC", "BUILD_STRING")
def _text(recorder: CallRecorder, frame: InterpreterFrame, argument: Any) -> None:
    n = argument if type(argument) is int else 2
    for value in frame.stack[-n:]:
        segment = recorder.segment
        if value is frame.stack[-1] or n != 2:
            segment.touch(value)
            if not is_plain_data(value):
                raise NotRecordable(f"the text of an object of type `{type(value).__name__}`")


@_watch("GET_LEN", "MATCH_MAPPING", "MATCH_SEQUENCE", "MATCH_KEYS")
def _match(recorder: CallRecorder, frame: InterpreterFrame, _: Any) -> None:
    value = frame.stack[-2 if frame.body.names[frame.ip - 1] == "MATCH_KEYS" else -1]
    if isinstance(value, torch.Tensor):
        raise NotRecordable("a tensor is matched")
    recorder.segment.touch(value)


# --- calls, with, imports -------------------------------------------------------------------------


@_watch("CALL")
def _call(recorder: CallRecorder, frame: InterpreterFrame, argument: Any) -> None:
    n, names = argument
    stack = frame.stack
    base = len(stack) - n
    first, second = stack[base - 2], stack[base - 1]
    args = stack[base:]
    at = base - 1 if first is NULL else base - 2
    stack[at] = callee = recorder.callee(stack[at])
    if first is not NULL and second is not NULL:
        args.insert(0, second)
    segment = recorder.segment
    split = len(args) - len(names)
    named = dict(zip(names, args[split:], strict=True))
    if segment.is_symbolic and not takes_sizes(segment, callee, args, named):
        recorder.settle(frame)
        args = [plain(each) for each in args]
    kwargs = dict(zip(names, args[split:], strict=True))
    if callee is super and not args:
        _super(recorder, frame)
    recorder.before_call(frame, callee, args[:split], kwargs)


def _super(recorder: CallRecorder, frame: InterpreterFrame) -> None:
    """`super()` reads the first parameter, and the class from the cell of its name."""
    slot = frame.body.slots.index("__class__") if "__class__" in frame.body.slots else 0
    _load_fast(recorder, frame, 0)
    for each in (0, slot):
        if type(frame.slots[each]) is CellType:
            _load_deref(recorder, frame, each)


@_watch("CALL_FUNCTION_EX")
def _call_ex(recorder: CallRecorder, frame: InterpreterFrame, has_kwargs: Any) -> None:
    stack = frame.stack
    kwargs = stack[-1] if has_kwargs else {}
    args, _, first = stack[-2:-5:-1] if has_kwargs else stack[-1:-4:-1]
    if isinstance(args, torch.Tensor) or not isinstance(kwargs, dict):
        raise NotRecordable("a call with a tensor for its arguments")
    n = (3 if has_kwargs else 2) + (first is not NULL)
    callee = frame.stack[-n]
    if recorder.segment.is_symbolic and not (
        isinstance(args, tuple) and takes_sizes(recorder.segment, callee, list(args), kwargs)
    ):
        recorder.settle(frame)
        kwargs = stack[-1] if has_kwargs else {}
        args, _, first = stack[-2:-5:-1] if has_kwargs else stack[-1:-4:-1]
    recorder.segment.touch(args)
    recorder.segment.touch(kwargs)
    if not isinstance(args, tuple | list):
        raise NotRecordable("a call with an iterator for its arguments")
    at = len(stack) - (3 if has_kwargs else 2) - (first is not NULL)
    stack[at] = callee = recorder.callee(stack[at])
    recorder.before_call(frame, callee, list(args), dict(kwargs))


@_watch("CALL_KW")
def _call_kw(recorder: CallRecorder, frame: InterpreterFrame, n: int) -> None:
    names = frame.stack.pop()
    try:
        _call(recorder, frame, (n, names))
    finally:
        frame.stack.append(names)


@_watch("BEFORE_WITH")
def _with(recorder: CallRecorder, frame: InterpreterFrame, _: Any) -> None:
    kind = type(frame.stack[-1])
    if is_lock_of_cache(frame, None, frame.stack[-1:]):
        return
    if check_autocast(recorder.segment, getattr(kind, "__enter__", None), frame.stack[-1:], {}):
        return
    for name in ("__enter__", "__exit__"):
        if find_special(recorder.interpreter, kind, name) is None:
            raise NotRecordable(f"`with` of an object of type `{kind.__name__}`")


@_watch("WITH_EXCEPT_START")
def _exit(recorder: CallRecorder, frame: InterpreterFrame, depth: int) -> None:
    check_call(recorder.segment, frame.stack[-depth], [None, None, None], {})


@_watch("LOAD_SUPER_ATTR", "MAKE_FUNCTION")
def _pass(recorder: CallRecorder, frame: InterpreterFrame, _: Any) -> None:
    del recorder, frame


@_watch("IMPORT_NAME")
def _import(recorder: CallRecorder, frame: InterpreterFrame, name: str) -> None:
    level, package = frame.stack[-2], frame.globals.get("__package__")
    guards = recorder.segment.guards
    if type(level) is int and level and type(package) is str:
        read = f"{guards.constant(frame.globals)}['__package__']"
        guards.meet(package, read, "__package__")
        name = f"{package.rsplit('.', level - 1)[0]}.{name}".rstrip(".")
        level = 0
    if level != 0 or name not in sys.modules:
        raise NotRecordable(f"`import {name}`")
    modules = guards.constant(sys.modules)
    parts = name.split(".")
    for n in range(1, len(parts) + 1):
        part = ".".join(parts[:n])
        guards.meet(sys.modules[part], f"{modules}[{part!r}]", part)


@_watch("IMPORT_FROM")
def _import_from(recorder: CallRecorder, frame: InterpreterFrame, name: str) -> None:
    owner = frame.stack[-1]
    if not isinstance(owner, ModuleType) or name not in owner.__dict__:
        raise NotRecordable(f"`from ... import {name}`")
    table = recorder.segment.guards.constant(owner.__dict__)
    recorder.segment.guards.meet(owner.__dict__[name], f"{table}[{name!r}]", name)


@_watch("RETURN_VALUE")
def _return(recorder: CallRecorder, frame: InterpreterFrame, _: Any) -> None:
    if frame.back is None:
        recorder.end(frame.stack[-1])
