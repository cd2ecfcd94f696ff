"""Watched instructions that read attributes, by C or by code that is interpreted."""

from __future__ import annotations

from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.bytecode.code_cache import once_per_code
from monograph.bytecode.evaluation.frame import MISSING
from monograph.bytecode.evaluation.special_methods import lookup
from monograph.bytecode.linking import link
from monograph.jit.attribute_reads import class_attribute, getter_of, note_absence, note_grad
from monograph.jit.callables import TENSOR_VALUES
from monograph.jit.graphs.arrays import ARRAY_VALUES
from monograph.jit.graphs.sizes import SYMBOLIC, holds_sizes
from monograph.jit.guard_code import ATOMS, CONTAINERS
from monograph.jit.recording import DONE, NotRecordable

if TYPE_CHECKING:
    from monograph.bytecode import InterpreterFrame

__all__ = ["LOADS"]


def _load_attribute(recorder: Any, frame: InterpreterFrame, name: str) -> Any:
    owner = frame.stack[-1]
    if type(owner) in SYMBOLIC or holds_sizes(owner):
        recorder.settle(frame, n=1)
        owner = frame.stack[-1]
    if isinstance(owner, torch.Tensor):
        return _load_of_tensor(recorder, frame, owner, name)
    kind = type(owner)
    if recorder.segment.is_array(owner):
        is_value = name in ARRAY_VALUES
        return _load_value(recorder, frame, owner, name) if is_value else None
    if isinstance(owner, ModuleType | type | super) or kind in CONTAINERS or kind in ATOMS:
        return None
    getter = getter_of(kind)
    if getter is not None:
        if not recorder.enters_any(getter) or not _only_reads(getter):
            raise NotRecordable(f"`{kind.__qualname__}` has a `__getattribute__`")
        return None
    found = lookup(kind, name)
    if found is MISSING:
        note_absence(recorder.segment, owner, name)
    elif type(lookup(type(found), "__get__")) is FunctionType:
        _know_descriptor(recorder, kind, name, found)
    is_function = isinstance(found, property) and found.fget is not None
    if is_function and not recorder.enters_any(found.fget):
        raise NotRecordable(f"property `{kind.__qualname__}.{name}`")
    return None


def _know_descriptor(recorder: Any, kind: type, name: str, found: Any) -> None:
    """A descriptor whose `__get__` is interpreted is one from outside: what it holds is guarded."""
    class_attribute(recorder.segment, kind, name, found)
    guards = recorder.segment.guards
    if not guards.is_known(found):
        guards.know(found, guards.constant(found), f"{kind.__qualname__}.{name}")


def _load_value(recorder: Any, frame: InterpreterFrame, owner: Any, name: str) -> Any:
    frame.stack[-1] = recorder.run_leaf("call_function", getattr, None, [owner, name], {})
    return DONE


def _load_of_tensor(recorder: Any, frame: InterpreterFrame, owner: torch.Tensor, name: str) -> Any:
    if name == "shape" and recorder.segment.has_sizes(owner):
        frame.stack[-1] = recorder.segment.shape(owner)
        return DONE
    if name in TENSOR_VALUES and frame.body.names[frame.ip - 1] != "LOAD_METHOD":
        return _load_value(recorder, frame, owner, name)
    if name == "grad":
        note_grad(recorder.segment, owner)
    elif name.startswith("_") or lookup(type(owner), name) is MISSING:
        raise NotRecordable(f"`Tensor.{name}`")
    return None


@once_per_code
def _writes(code: CodeType) -> bool:
    names = set(link(code).names).difference(_OWN)
    return any(name.startswith(("STORE_", "DELETE_")) for name in names)


def _only_reads(getter: FunctionType) -> bool:
    """Whether a `__getattribute__` sets nothing itself: we ask it more often than eager code does.

    `isinstance` reads `__class__`.
    """
    return not _writes(getter.__code__)


_OWN: Final = ("STORE_FAST", "DELETE_FAST")
LOADS: Final = dict.fromkeys(("LOAD_ATTR", "LOAD_METHOD"), _load_attribute)
"""What the recorder does before each of them runs."""
