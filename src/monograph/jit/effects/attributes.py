"""Writes of attributes: of objects, of user modules, and numbers and texts of user classes."""

from __future__ import annotations

from types import FunctionType, ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.bytecode.evaluation.frame import MISSING
from monograph.bytecode.evaluation.special_methods import lookup
from monograph.capture.code_policy import TORCH, is_users
from monograph.jit.attribute_reads import class_attribute
from monograph.jit.callables import enters
from monograph.jit.guard_code import ATOMS, is_python_class
from monograph.jit.recording import NotRecordable

if TYPE_CHECKING:
    from monograph.jit.recording import SegmentRecorder

__all__ = ["check_write", "keep_variables", "note_write"]


def keep_variables(segment: SegmentRecorder, owner: Any) -> None:
    """An attribute is about to change: keep what the `__dict__` held, for who reads it as a dict.

    Raises: NotRecordable, of a module whose `__dict__` was read: it holds tables that change, too.
    """
    table = getattr(owner, "__dict__", None)
    if type(table) is not dict or not segment.guards.is_known(owner):
        return
    if isinstance(owner, torch.nn.Module):
        if id(table) in segment.variables:
            raise NotRecordable("an attribute of a module changes after its `__dict__` was read")
    elif not isinstance(owner, ModuleType):
        segment.keep_original(table)


def _only_writes(segment: SegmentRecorder, owner: Any, name: str, value: Any) -> bool:
    """Whether an attribute is of a module, a user's class, or a gradient."""
    kind, guards = type(owner), segment.guards
    if kind is ModuleType and is_users(getattr(owner, "__file__", None) or TORCH):
        guards.know(owner, guards.constant(owner), owner.__name__)
        return True
    if kind is type and is_python_class(owner) and not name.startswith("__"):
        found = lookup(owner, name)
        if type(value) in ATOMS and type(found) in (*ATOMS, type(MISSING)):
            guards.know(owner, guards.constant(owner), owner.__qualname__)
            return True
    is_gradient = isinstance(owner, torch.Tensor) and name == "grad" and value is None
    return is_gradient and guards.is_known(owner) and owner.is_leaf


_ONLY_SETTING: Final = (torch.nn.Module.__setattr__, SimpleNamespace.__setattr__)


def check_write(segment: SegmentRecorder, owner: Any, name: str, value: Any) -> None:
    """Guard that setting an attribute only writes. Raises: NotRecordable."""
    kind = type(owner)
    keep_variables(segment, owner)
    if _only_writes(segment, owner, name, value):
        return
    if isinstance(owner, torch.Tensor | type | ModuleType):
        raise NotRecordable(f"attribute `{name}` of a `{kind.__name__}` is set")
    is_error = isinstance(owner, BaseException) and not segment.guards.is_known(owner)
    plain = BaseException if is_error else object
    setter = lookup(kind, "__setattr__")
    if type(setter) is FunctionType and enters(setter) and not segment.guards.is_known(owner):
        class_attribute(segment, kind, "__setattr__", setter)
        return  # what it does is seen
    if kind.__setattr__ not in (plain.__setattr__, *_ONLY_SETTING):
        raise NotRecordable(f"`{kind.__qualname__}` has a `__setattr__`")
    found = lookup(kind, name)
    if isinstance(found, property):
        return
    set_ = MISSING if found is MISSING else lookup(type(found), "__set__")
    if type(set_) is FunctionType:
        class_attribute(segment, kind, name, found)
    elif set_ is not MISSING and type(found).__name__ != "member_descriptor":
        raise NotRecordable(f"`{kind.__qualname__}.{name}` is a descriptor")


def note_write(segment: SegmentRecorder, owner: Any, name: str, value: Any) -> None:
    """An attribute is about to be set: write that down, if the object is from outside."""
    found = lookup(type(owner), name)
    is_code = isinstance(found, property) or (
        found is not MISSING and type(lookup(type(found), "__set__")) is FunctionType
    )
    if is_code or not segment.guards.is_known(owner):
        return  # what the code does is seen
    if isinstance(owner, ModuleType):
        segment.written.add((id(owner.__dict__), name))
    segment.written.add((id(owner), name))
    if isinstance(owner, torch.nn.Module):
        tables = ("_parameters", "_buffers", "_modules")
        segment.sealed.update(id(owner.__dict__[table]) for table in tables)
    set_attribute = segment.guards.constant(setattr)
    segment.write(owner, f"{set_attribute}({{0}}, {name!r}, {{1}})", value)
