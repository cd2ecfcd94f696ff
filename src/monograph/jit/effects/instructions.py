"""Watched instructions that change what is there: globals, attributes and items.

What they do to objects from outside is written down, to be done again after the graph.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.jit.attribute_reads import note_read
from monograph.jit.calling.c_functions import check_special
from monograph.jit.effects.attributes import check_write, keep_variables, note_write
from monograph.jit.effects.containers import change, check_change
from monograph.jit.effects.plain_data import check_index
from monograph.jit.effects.watch_tables import entering
from monograph.jit.graphs.arrays import is_array
from monograph.jit.guard_code import ATOMS, MAPPINGS, is_constant, is_python_class
from monograph.jit.recording import DONE, NotRecordable

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.bytecode import InterpreterFrame
    from monograph.jit.call_recording import CallRecorder

    Watch = Callable[[CallRecorder, InterpreterFrame, Any], Any]

__all__ = ["CHANGES"]

CHANGES: Final[dict[str, Watch]] = {}
_change = entering(CHANGES)


@_change("STORE_GLOBAL")
def _store_global(recorder: CallRecorder, frame: InterpreterFrame, name: str) -> None:
    segment = recorder.segment
    segment.guards.know(frame.globals, segment.guards.constant(frame.globals), "globals")
    segment.written.add((id(frame.globals), name))
    segment.write(frame.globals, f"{{0}}[{name!r}] = {{1}}", frame.stack[-1])


@_change("STORE_ATTR")
def _store_attribute(recorder: CallRecorder, frame: InterpreterFrame, name: str) -> None:
    owner, value = frame.stack[-1], frame.stack[-2]
    check_write(recorder.segment, owner, name, value)
    note_write(recorder.segment, owner, name, value)


@_change("DELETE_ATTR")
def _delete_attribute(recorder: CallRecorder, frame: InterpreterFrame, name: str) -> None:
    owner = frame.stack[-1]
    kind = type(owner)
    segment = recorder.segment
    if not is_python_class(kind) or kind.__delattr__ is not object.__delattr__:
        raise NotRecordable(f"attribute `{name}` of a `{kind.__name__}` is deleted")
    if name not in getattr(owner, "__dict__", {}):
        raise NotRecordable(f"`{name}` of a `{kind.__name__}` is no attribute of its own")
    if segment.guards.is_known(owner):
        keep_variables(segment, owner)
        note_read(segment, owner, name, owner.__dict__[name])
        segment.written.add((id(owner), name))
        delete = segment.guards.constant(delattr)
        segment.write(owner, f"{delete}({{0}}, {name!r})")


@_change("STORE_SUBSCR")
def _store_subscript(recorder: CallRecorder, frame: InterpreterFrame, _: None) -> Any:
    value, owner, key = frame.stack[-3:]
    segment = recorder.segment
    if isinstance(owner, torch.Tensor) or segment.is_array(owner):
        args = [owner, key, value]
        segment.argument(args)
        recorder.run_leaf("call_function", operator.setitem, None, args, {})
        del frame.stack[-3:]
        return DONE
    if not segment.guards.is_known(owner):
        if type(owner) is not list and type(owner) not in MAPPINGS:
            check_special(recorder.interpreter, owner, "__setitem__")
        if type(key) not in ATOMS and not is_constant(key):
            raise NotRecordable(f"a key of type `{type(key).__name__}`")
        return None
    check_change(segment, owner, "__setitem__", [key, value], {})
    change(segment, owner, "__setitem__", [key, value], {})
    del frame.stack[-3:]
    return DONE


@_change("DELETE_SUBSCR")
def _delete(recorder: CallRecorder, frame: InterpreterFrame, _: None) -> Any:
    owner, key = frame.stack[-2:]
    if any(isinstance(each, torch.Tensor) or is_array(each) for each in (owner, key)):
        raise NotRecordable("an item of a tensor is changed")
    segment = recorder.segment
    if segment.guards.is_known(owner):
        check_change(segment, owner, "__delitem__", [key], {})
        change(segment, owner, "__delitem__", [key], {})
        del frame.stack[-2:]
        return DONE
    if type(owner) is not list and type(owner) not in MAPPINGS:
        raise NotRecordable(f"an item of a `{type(owner).__name__}` is changed")
    check_index(owner, key)
    return None
